"""The speed study and its page: training steps, accuracy against time, scaling, other methods, profile of a step."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.cells import STOPPED, Record
from benchmarks.results import Results
from benchmarks.speed.benchmark_data import MNIST, R_MNIST
from benchmarks.speed.device_results import (
    DEVICE_TITLES,
    DeviceResults,
    Growth,
    PeerComparison,
    device_results,
    machine_line,
    peer_comparisons,
)
from benchmarks.speed.methods import METHODS, NAIVE
from benchmarks.speed.speed_claims import speed_claims
from benchmarks.speed.speed_measurement import measure_speed
from benchmarks.speed.speed_plan import (
    DEVICES,
    GPU_TARGET,
    GROWTH,
    MNIST_TARGET,
    N_ROUNDS,
    NAME,
    PEERS,
    PROFILE,
    QUALITY,
    R_MNIST_TARGET,
    STEPS,
    speed_cell,
    speed_cells,
)
from benchmarks.study import PageFigure, PagePart, Study
from benchmarks.tables import NOTHING, duration, markdown, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {
    "N": "rows, N", "M": "columns of a view, M", "V": "views, V", "Q": "mixture components, Q",
    "P": "spectral points, P",
}  # fmt: skip
_WHAT = """Time and memory of NG-MVLVM: a training step, accuracy against time, scaling with the size of the problem,
comparison with other methods, and the profile of a step. Every cell is measured in a fresh process, after a fit to a
few rows that takes imports, compilation and the creation of thread pools out of the measurement. The time of a step is
the median over blocks of steps, without the first third of all steps, and the median over rounds if there are several;
in each round the methods alternate. Memory is the peak of the process above its level after loading the data, or that
of PyTorch's allocated tensors on a GPU. *naive* is an implementation of the paper's equations as printed: float64,
automatic differentiation, all columns, Adam at the paper's learning rate, and the initialisation of the library.
Ratios compare cells of the same run on the same machine. Accuracy is the five-fold cross-validated 1-NN accuracy of
the latents. D = 2, Q = 2 and P = 50 unless stated otherwise.

The initialisation of NG-MVLVM is the default, PCA, unless stated otherwise. The 1-NN accuracies to be reached are those
of the paper on MNIST with labels as a view and, rounded, on R-MNIST; on a GPU a higher one is required on MNIST."""
_QUALITY = """Every point of NG-MVLVM is a complete fit with a given number of steps, from views to predictions. The
naive implementation is trained once and evaluated at intervals; its time includes scaling and initialisation, but not
the evaluation. It ends with the latents, so "time to latents" is the comparable quantity. Data sets without target are
measured for the comparison with other methods. The figure shows the best accuracy up to each time."""
_GROWTH = """One size is varied at a time. The exponent is that of the best power law: 1 is proportional growth, 2 is
quadratic."""
_PEERS = """All methods centre and scale the views in the same way; single-view methods use the concatenated views, each
scaled to equal total variance. Errors are root mean squared errors in scaled units. Prediction is that of the second
view of a fifth of the rows from the first, by a fit to the other rows. The last column is the fastest fit of NG-MVLVM
with at least the 1-NN accuracy of the method: the time to its latents, which is all that most of the other methods
compute, and in parentheses the time until the fit can predict with error bars. A fit marked as stopped reached its time
limit, and its values are those of the unfinished fit. Every method was run once."""
_PROFILE = """Shares by kind of operator, from PyTorch's profiler. The minimum is the time of the operations of the
matrix products, N F (3 F + 4 r) for a view of r columns after compression, at the rate of a float32 product with the
shape of the features, measured in the same process."""


def speed_page(results: Results) -> list[PagePart]:
    """Return the parts of the page: the sections of every device with records."""
    parts: list[PagePart] = []
    order = [cell for seed in range(N_ROUNDS) for cell in speed_cells(seed, results.quick)]
    for device in DEVICES:
        found = device_results(results, device, order)
        if found is not None and found.records:
            parts += [f"## {DEVICE_TITLES[device]}", *machine_line(found, results)]
            for section in (_steps_section, _quality_section, partial(_growth_section, quick=results.quick),
                            _peers_section, _profile_section):  # fmt: skip
                parts += section(found)
    return parts


def _steps_section(found: DeviceResults) -> list[PagePart]:
    records = [record for record in found.of(STEPS) if record.cell.seed == 0]
    rows = [["rows", "method", "time of a step", "speed-up", "peak memory of a fit", "memory ratio"]]
    for record in sorted(records, key=lambda record: record.cell.settings["N"]):
        cell, seconds, ratios = record.cell, _step_seconds(found, record), ["", ""]
        naive = speed_cell(STEPS, NAIVE, cell.data, cell.device, {"N": cell.settings["N"]}, quick=cell.is_quick)
        pair = None if cell.method == NAIVE else found.pair(cell, naive)
        if pair is not None:
            peaks = record.metrics["peak_bytes"] / max(pair[1].metrics["peak_bytes"], 1)
            ratios = [f"{_step_seconds(found, pair[1]) / seconds:.1f}", f"{peaks:.2f}"]
        rows.append([
            f"{cell.settings['N']:,}", cell.method, duration(seconds), ratios[0], size(record.metrics["peak_bytes"]),
            ratios[1],
        ])  # fmt: skip
    return _section("Training step", f"Data: {records[0].cell.data}." if records else "", rows)


def _step_seconds(found: DeviceResults, record: Record) -> float:
    """Return the median over rounds of the step time."""
    return median(float(r.metrics["seconds_per_step"]) for r in found.rounds(record.cell).values())


def _quality_section(found: DeviceResults) -> list[PagePart]:
    head = ["data", "method", "target", "time to latents", "time of the fit", "steps", "training time", "best accuracy"]
    rows = [head, *map(_quality_row, found.of(QUALITY))]
    draw = partial(_draw_quality, found)
    return _section("Accuracy against time", _QUALITY, rows, _figure(found, "quality", "Accuracy against time", draw))


def _quality_row(record: Record) -> list[str]:
    settings, curve, reached = record.cell.settings, record.metrics["curve"], record.metrics["reached"]
    times = [NOTHING] * 4
    if reached is not None:
        times = [
            duration(reached.get("latent_seconds", reached["seconds"])), duration(reached["seconds"]),
            f"{reached['n_steps']:,}", duration(reached["training_seconds"]),
        ]  # fmt: skip
    elif "target" in settings:
        times[0] = "not reached"
    target = f"{100 * settings['target']:.2f} %" if "target" in settings else NOTHING
    best = max(point["quality"] for point in curve)
    return [record.cell.data, _variant(record), target, *times, f"{100 * best:.1f} %"]


def _variant(record: Record) -> str:
    """Return the name of the method, with its initialisation if that is not the default."""
    init = record.cell.settings.get("init")
    return record.cell.method if init is None else f'{record.cell.method}, init="{init}"'


def _growth_section(found: DeviceResults, *, quick: bool) -> list[PagePart]:
    growths = {axis: found.growth(axis, quick=quick) for axis in AXES}
    rows = [["varied size", "from", "to", "time of a step", "exponent", "peak memory of a fit"]]
    rows += [_growth_row(growth) for growth in growths.values() if growth is not None]
    draw = partial(_draw_growth, [growth for growth in growths.values() if growth is not None], found.machine)
    return _section("Scaling", _GROWTH, rows, _figure(found, GROWTH, "Time of a step by size", draw))


def _growth_row(growth: Growth) -> list[str]:
    return [
        AXES[growth.axis], f"{growth.sizes[0]:,}", f"{growth.sizes[-1]:,}",
        f"{duration(growth.seconds[0])} to {duration(growth.seconds[-1])}", f"{growth.exponent:.2f}",
        f"{size(growth.n_bytes[0])} to {size(growth.n_bytes[-1])}",
    ]  # fmt: skip


def _peers_section(found: DeviceResults) -> list[PagePart]:
    records, comparisons = found.of(PEERS), {c.theirs.cell: c for c in peer_comparisons(found)}
    if not records:
        return []
    parts: list[PagePart] = ["### Other methods", _PEERS]
    head = ["method", "family", "time", "1-NN accuracy", "reconstruction", "prediction", "memory",
            "NG-MVLVM to the same accuracy"]  # fmt: skip
    for data in dict.fromkeys(record.cell.data for record in records):
        here = [record for record in records if record.cell.data == data]
        rows = [_peer_row(record, comparisons.get(record.cell)) for record in here]
        rows += [
            [cell.method, METHODS[cell.method].family, record.status, *[NOTHING] * 5]
            for cell, record in found.failures.items()
            if cell.settings.get("part") == PEERS and cell.data == data
        ]
        parts += [f"#### {data}", markdown([head, *rows])]
    return [*parts, *_peer_summary(list(comparisons.values())), _settings(records)]


def _peer_row(record: Record, comparison: PeerComparison | None) -> list[str]:
    metrics, same = record.metrics, NOTHING
    if comparison is not None:
        seconds, fit = comparison.seconds, comparison.fit_seconds
        same = "not reached" if seconds is None or fit is None else f"{duration(seconds)} ({duration(fit)})"
    # if prediction has begun, it was stopped, and not the fit
    stopped = " (stopped)" if record.status == STOPPED and "predict_seconds" not in metrics else ""
    prediction = NOTHING if "predict_seconds" not in metrics else STOPPED
    return [
        record.cell.method, METHODS[record.cell.method].family, duration(metrics["seconds"]) + stopped,
        f"{100 * metrics['accuracy']:.1f} %" if "accuracy" in metrics else NOTHING,
        f"{metrics['rmse']:.3f}" if "rmse" in metrics else NOTHING,
        f"{metrics['predict_rmse']:.3f}" if "predict_rmse" in metrics else prediction,
        size(metrics["peak_bytes"]), same,
    ]  # fmt: skip


def _peer_summary(comparisons: Sequence[PeerComparison]) -> list[str]:
    """Return a summary of the comparisons in which NG-MVLVM is ahead, and of those in which it is not."""
    if not comparisons:
        return []
    claimed = [comparison for comparison in comparisons if comparison.is_claimed]
    n_ahead = sum(comparison.we_are_ahead for comparison in claimed)
    behind = [
        f"- {comparison.theirs.cell.method} on {comparison.theirs.cell.data}: {', '.join(comparison.ahead_in())}."
        for comparison in comparisons
        if comparison.ahead_in()
    ]
    return [
        f"""NG-MVLVM is ahead of Gaussian processes and factor analysis in time to equal or better 1-NN accuracy in
        {n_ahead} of {len(claimed)} comparisons. Other methods are ahead of it in:""",
        "\n".join(behind) or "- nothing that was measured.",
    ]


def _settings(records: Sequence[Record]) -> str:
    by_settings: dict[str, list[str]] = {}
    for name in dict.fromkeys(record.cell.method for record in records):
        by_settings.setdefault(METHODS[name].settings, []).append(name)
    texts = [f"{text} ({', '.join(names)})" for text, names in by_settings.items()]
    return f"Parameters: {'; '.join(texts)}."


def _profile_section(found: DeviceResults) -> list[PagePart]:
    records = found.of(PROFILE)
    names = list(dict.fromkeys(name for record in records for name in record.metrics["parts"]))
    rows = [["rows", "a step", *names, "operations", "product rate", "minimum", "step / minimum"]]
    rows += [_profile_row(record, names) for record in records]
    figure = _figure(found, "parts", "Shares of a step", partial(_draw_parts, found))
    return _section("Profile of a step", _PROFILE, rows, figure)


def _profile_row(record: Record, names: Sequence[str]) -> list[str]:
    metrics = record.metrics
    step, operations, rate = metrics["seconds_per_step"], metrics["operations"], metrics["product_rate"]
    total = sum(metrics["parts"].values())
    return [
        f"{record.cell.settings['N']:,}", duration(step),
        *(f"{100 * metrics['parts'].get(name, 0.0) / total:.0f} %" for name in names),
        f"{operations / 1e9:.3g} G", f"{rate / 1e9:,.0f} G/s", duration(operations / rate),
        f"{step * rate / operations:.1f}",
    ]  # fmt: skip


def _section(title: str, text: str, rows: Sequence[Sequence[str]], figure: PageFigure | None = None) -> list[PagePart]:
    """Return heading, text, table and figure, or nothing if the table has a header only."""
    if len(rows) < 2:
        return []
    return [f"### {title}", text, markdown(rows), *([figure] if figure else [])]


def _figure(found: DeviceResults, name: str, caption: str, draw: "Callable[[], Figure]") -> PageFigure:
    return PageFigure(f"{found.device}-{name}", f"{caption}, {found.machine}", draw)


def _draw_growth(growths: Sequence[Growth], machine: str) -> "Figure":
    from mvlvm.plots.speed import plot_growth

    panels = {AXES[growth.axis]: (growth.sizes, growth.seconds, growth.exponent) for growth in growths}
    return plot_growth(panels, title=f"Time of a step\n{machine}")


def _draw_quality(found: DeviceResults) -> "Figure":
    from mvlvm.plots.speed import plot_quality

    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for record in found.of(QUALITY):
        points = sorted(record.metrics["curve"], key=lambda point: point["seconds"])
        by_method = curves.setdefault(record.cell.data, {})
        by_method[_variant(record)] = ([p["seconds"] for p in points], [p["quality"] for p in points])
    for record in found.of(PEERS):
        by_method = curves.get(record.cell.data)
        if by_method is not None and "accuracy" in record.metrics:
            single = ([record.metrics["seconds"]], [record.metrics["accuracy"]])
            by_method.setdefault(record.cell.method, single)
    targets = {R_MNIST: R_MNIST_TARGET, MNIST: GPU_TARGET if found.device == "cuda" else MNIST_TARGET}
    return plot_quality(curves, targets, title=f"Accuracy against time\n{found.machine}")


def _draw_parts(found: DeviceResults) -> "Figure":
    from mvlvm.plots.speed import plot_parts

    parts: dict[str, Mapping[str, float]] = {
        f"N = {record.cell.settings['N']:,}": record.metrics["parts"] for record in found.of(PROFILE)
    }
    return plot_parts(parts, title=f"Profile of a step\n{found.machine}")


SPEED = Study(
    name=NAME, title="Speed", what=_WHAT, group="speed", cells=speed_cells, measure=measure_speed, page=speed_page,
    claims=speed_claims(), n_seeds=N_ROUNDS, timed=True, limit=600.0, marks=False,
)  # fmt: skip
