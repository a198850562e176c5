"""The result page of the benchmark and its figures, generated from the outcomes without manual numbers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from mvlvm.benchmarks.comparison import DEVICES, Comparison, Results, all_claims, comparisons
from mvlvm.benchmarks.peers import METHODS
from mvlvm.benchmarks.plan import GPU_TARGET, MNIST_TARGET, R_MNIST_TARGET
from mvlvm.benchmarks.tasks import DONE, STOPPED, Outcome
from mvlvm.records import duration, filled, markdown, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {"N": "rows, N", "M": "columns of a view, M", "V": "views, V", "Q": "mixtures, Q", "P": "points, P"}


def draw_figures(results: Results, folder: Path) -> dict[str, str]:
    """Write all figures for which outcomes exist.

    Args:
        results: the outcomes.
        folder: the folder of the figures.

    Returns:
        Device and kind, such as "cpu-growth" -> file name.
    """
    from mvlvm.plots import write

    written = {}
    for device in DEVICES:
        for kind, draw in _FIGURES.items():
            figure = draw(results, device)
            if figure is not None:
                name = f"speed-{device}-{kind}.png"
                write(figure, folder / name)
                written[f"{device}-{kind}"] = name
    return written


def _wall_time_figure(results: Results, device: str) -> "Figure | None":
    from mvlvm.plots.speed import plot_wall_times

    times, stopped = {}, {}
    for outcome in results.of("walltime", device):
        rows, method = outcome.task.data.n_samples or 0, outcome.task.method
        if outcome.status == DONE:
            times.setdefault(method, {})[rows] = outcome.numbers["seconds"]
        elif outcome.status == STOPPED:
            times.setdefault(method, {})
            stopped.setdefault(method, {})[rows] = outcome.numbers.get("seconds", outcome.task.limit_s)
    return plot_wall_times(times, stopped, title=f"Whole fits\n{results.machine(device)}") if times else None


def _growth_figure(results: Results, device: str) -> "Figure | None":
    from mvlvm.plots.speed import plot_growth

    found = {words: results.growth(axis, device) for axis, words in AXES.items()}
    growths = {words: (g.sizes, g.seconds, g.slope) for words, g in found.items() if g is not None}
    return plot_growth(growths, title=f"Time of a step\n{results.machine(device)}") if growths else None


def _quality_figure(results: Results, device: str) -> "Figure | None":
    from mvlvm.plots.speed import plot_quality

    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for outcome in results.of("quality", device):
        points = sorted(outcome.numbers.get("curve", []), key=lambda point: point["seconds"])
        by_method = curves.setdefault(outcome.task.data.name, {})
        by_method[outcome.task.who] = ([p["seconds"] for p in points], [p["quality"] for p in points])
    for outcome in results.of("peers", device):
        by_method = curves.get(outcome.task.data.name)
        if by_method is not None and "accuracy" in outcome.numbers:
            single = ([outcome.numbers["seconds"]], [outcome.numbers["accuracy"]])
            by_method.setdefault(outcome.task.method, single)
    targets = {"r-mnist": R_MNIST_TARGET, "mnist+label": GPU_TARGET if device == "cuda" else MNIST_TARGET}
    title = f"Accuracy against time\n{results.machine(device)}"
    return plot_quality(curves, targets, title=title) if curves else None


def _profile_figure(results: Results, device: str) -> "Figure | None":
    from mvlvm.plots.speed import plot_parts

    parts: dict[str, Mapping[str, float]] = {
        f"N = {outcome.task.data.n_samples:,}": outcome.numbers["parts"]
        for outcome in results.of("profile", device)
        if outcome.status == DONE
    }
    return plot_parts(parts, title=f"Where the time of a step goes\n{results.machine(device)}") if parts else None


_FIGURES: dict[str, Callable[[Results, str], "Figure | None"]] = {
    "walltime": _wall_time_figure, "growth": _growth_figure, "quality": _quality_figure, "parts": _profile_figure,
}  # fmt: skip


_NOTHING = "-"
_HOW = """
All methods get the same centred and scaled views; those that know one view only get them side by side, each of the same
total variance. D = 2. Errors are root mean squares in these units; prediction is that of the second view of a fifth of
the rows from the first. "Ours to the same" is our quickest fit of at least the method's 1-NN accuracy: seconds until
its latents stand, which is all that most of the others give, and in brackets until it can predict with error bars.
"""


def peers_section(results: Results, device: str) -> str:
    """Return the comparison tables of all data sets, with a summary of where other methods are ahead."""
    outcomes = results.of("peers", device)
    if not outcomes:
        return ""
    beside = {id(comparison.theirs): comparison for comparison in comparisons(results, device)}
    parts = ["### Beside other methods", filled(_HOW)]
    for data in dict.fromkeys(outcome.task.data.name for outcome in outcomes):
        rows = [["method", "kind", "time", "1-NN", "reconstruction", "prediction", "memory", "ours to the same"]]
        here = [outcome for outcome in outcomes if outcome.task.data.name == data]
        rows += [_row(outcome, beside.get(id(outcome))) for outcome in here]
        parts += [f"**{data}**", markdown(rows)]
    parts += [verdict(list(beside.values())), _settings(outcomes)]
    return "\n\n".join(part for part in parts if part)


def walltime_section(results: Results, device: str) -> str:
    """Return the table of wall times, methods by numbers of rows."""
    outcomes = results.of("walltime", device)
    if not outcomes:
        return ""
    sizes = sorted({outcome.task.data.n_samples or 0 for outcome in outcomes})
    rows = [["method", *(f"{n:,} rows" for n in sizes)]]
    for method in dict.fromkeys(outcome.task.method for outcome in outcomes):
        found = {o.task.data.n_samples: _wall_time(o) for o in outcomes if o.task.method == method}
        rows.append([method, *(found.get(n, _NOTHING) for n in sizes)])
    text = filled(f"""Whole fits to {outcomes[0].task.data.name} at the settings above, as in the paper's figure of wall
        time. A method that was stopped is not tried on more rows.""")
    return f"### Wall time\n\n{text}\n\n{markdown(rows)}"


def verdict(found: Sequence[Comparison]) -> str:
    """Return a summary of the comparisons in which NG-MVLVM is ahead, and of those in which it is not."""
    if not found:
        return ""
    promised = [comparison for comparison in found if comparison.must_be_behind]
    ahead = sum(comparison.we_are_ahead for comparison in promised)
    lines = [
        filled(f"""Against Gaussian process and factor analysis methods we are ahead in time to equal or better
        1-NN accuracy in {ahead} of {len(promised)} comparisons."""),
        "**Where others are ahead:**",
    ]
    items = [
        f"- {comparison.theirs.task.method} on {comparison.theirs.task.data.name}: {', '.join(comparison.ahead_in())}."
        for comparison in found
        if comparison.ahead_in()
    ]
    return "\n\n".join([*lines, "\n".join(items) or "nowhere in what was measured."])


def _to_the_same(comparison: Comparison) -> str:
    if comparison.seconds is None or comparison.whole_seconds is None:
        return "not reached"
    return f"{duration(comparison.seconds)} ({duration(comparison.whole_seconds)})"


def _row(outcome: Outcome, comparison: Comparison | None) -> list[str]:
    numbers, family = outcome.numbers, METHODS[outcome.task.method].family
    if outcome.status not in (DONE, STOPPED) or not numbers:
        note = outcome.note if len(outcome.note) < 80 else f"{outcome.note[:77]}..."
        return [outcome.task.method, family, f"{outcome.status}: {note}", *[_NOTHING] * 5]
    late = " (stopped)" if outcome.status == STOPPED else ""
    same = _NOTHING
    if comparison is not None:
        same = _to_the_same(comparison)
    return [
        outcome.task.method, family, duration(numbers["seconds"]) + late,
        f"{100 * numbers['accuracy']:.1f} %" if "accuracy" in numbers else _NOTHING,
        *(f"{numbers[name]:.3f}" if name in numbers else _NOTHING for name in ("rmse", "predict_rmse")),
        size(numbers["peak_bytes"]), same,
    ]  # fmt: skip


def _wall_time(outcome: Outcome) -> str:
    if outcome.status == DONE:
        return duration(outcome.numbers["seconds"])
    return outcome.note if outcome.status == STOPPED else outcome.status


def _settings(outcomes: Sequence[Outcome]) -> str:
    names = dict.fromkeys(outcome.task.method for outcome in outcomes)
    return "Settings:\n\n" + "\n".join(f"- {name}: {METHODS[name].setting}." for name in names)


_TITLES = {"cpu": "On a processor", "cuda": "On a GPU"}
_INTRODUCTION = """
Written by `mvlvm bench`; no number is typed by hand. Every cell was measured in a process of its own, after a fit of a
few rows that pays for imports, compilers and thread pools. The time of a step is the median over blocks of steps, the
first third left out, and where there were several rounds, ours and others in turn, the median over them. Memory is the
peak of the process above what it held once the data were loaded, or of torch's tensors on a GPU (allocated, not
reserved). *naive* is `benchmarks/naive.py`: the paper's equations as printed, float64, autograd, all columns,
Adam at 0.01, the library's start. Ratios are taken within one run on one machine. Accuracy is that of 1-NN in the
latents, five-fold.
"""
_TRIAL = "**A trial of the program with hardly any training. The numbers mean nothing.**"


def page_text(results: Results, figures: Mapping[str, str], *, trial: bool = False) -> str:
    """Return the complete page in Markdown.

    Args:
        results: the outcomes.
        figures: device and kind -> file name, as returned by `draw_figures`.
        trial: whether the outcomes are those of a trial run, which the page then states.
    """
    parts = ["# Speed", *([_TRIAL] if trial else []), filled(_INTRODUCTION), _in_short(results)]
    for device in DEVICES:
        machine = results.machine(device)
        if machine is not None:
            parts += [f"## {_TITLES[device]}", f"Machine: {machine}."]
            parts += [section for section in _sections(results, device, figures) if section]
    return "\n\n".join(parts) + "\n"


def claim_rows(results: Results) -> list[list[str]]:
    """Return one row per claim: the machine, the claim, the measured number, and whether it holds."""
    rows = []
    for claim in all_claims():
        found = claim.measure(results)
        machine = results.machine(claim.device) or ("a processor" if claim.device == "cpu" else "a GPU")
        if found is None:
            rows.append([machine, claim.asked, "-", "not measured"])
        else:
            rows.append([machine, claim.asked, found.text, "yes" if found.holds else "**no**"])
    return rows


def _in_short(results: Results) -> str:
    return f"## In short\n\n{markdown([['machine', 'asked for', 'measured', 'holds'], *claim_rows(results)])}"


def _sections(results: Results, device: str, figures: Mapping[str, str]) -> list[str]:
    def shown(kind: str, words: str) -> str:
        name = figures.get(f"{device}-{kind}")
        return f"\n\n![{words}]({name})" if name else ""

    return [
        _steps_section(results, device),
        _with(_quality_section(results, device), shown("quality", "Accuracy against seconds")),
        _with(_growth_section(results, device), shown("growth", "Growth of the time of a step")),
        peers_section(results, device),
        _with(walltime_section(results, device), shown("walltime", "Wall time against rows")),
        _with(_profile_section(results, device), shown("parts", "Shares of a step")),
    ]


def _with(section: str, figure: str) -> str:
    return section + figure if section else ""


def _steps_section(results: Results, device: str) -> str:
    outcomes = [o for o in results.of("steps", device) if o.status == DONE]
    if not outcomes:
        return ""
    rows = [["data", "rows", "method", "time of a step", "times as fast", "peak memory", "share"]]
    first_rounds = [outcome for outcome in outcomes if outcome.task.seed == 0]
    for outcome in sorted(first_rounds, key=lambda outcome: outcome.task.data.n_samples or 0):
        plain = next((o for o in outcomes if o.task.method == "naive" and o.task.case == outcome.task.case), None)
        step, ratios = _step_seconds(results, outcome, device), ["", ""]
        if plain is not None and outcome is not plain:
            same_run = "" if plain.run == outcome.run else " (two runs)"
            peaks = outcome.numbers["peak_bytes"] / max(plain.numbers["peak_bytes"], 1)
            ratios = [f"{_step_seconds(results, plain, device) / step:.1f}{same_run}", f"{peaks:.2f}{same_run}"]
        rows.append([
            outcome.task.data.name, _rows(outcome), outcome.task.method, duration(step),
            ratios[0], size(outcome.numbers["peak_bytes"]), ratios[1],
        ])  # fmt: skip
    text = "D = 2, Q = 2, P = 50. The memory is that of the whole fit, with all that comes after training."
    return f"### One step\n\n{text}\n\n{markdown(rows)}"


def _step_seconds(results: Results, outcome: Outcome, device: str) -> float:
    """Return the median over rounds of the step time."""
    return median(o.numbers["seconds_per_step"] for o in results.rounds(outcome.task, device))


def _quality_section(results: Results, device: str) -> str:
    rows = [["data", "rows", "method", "target", "latents after", "fit after", "steps", "of it training", "best seen"]]
    for outcome in results.of("quality", device):
        curve, reached = outcome.numbers.get("curve"), outcome.numbers.get("reached")
        if curve:
            target, best = outcome.task.target, max(point["quality"] for point in curve)
            after = ["-", "-", "-", "-"] if reached is None else [
                duration(reached.get("latent_seconds", reached["seconds"])), duration(reached["seconds"]),
                f"{reached['n_steps']:,}", duration(reached["training_seconds"]),
            ]  # fmt: skip
            if target is not None and reached is None:
                after[0] = f"not within {duration(curve[-1]['seconds'])}"
            rows.append([
                outcome.task.data.name, _rows(outcome), outcome.task.who, f"{100 * target:.2f} %" if target else "-",
                *after, f"{100 * best:.1f} %",
            ])  # fmt: skip
    text = filled("""Ours: every point is a whole fit with so many steps, from views to predictions. naive: one
        training, scaling and starting included, judged on the way; judging does not count. It ends with latents, so
        that "latents after" is what compares with it.""")
    return f"### Seconds to a quality\n\n{text}\n\n{markdown(rows)}" if len(rows) > 1 else ""


def _growth_section(results: Results, device: str) -> str:
    rows = [["what grows", "from", "to", "time of a step", "slope", "peak memory"]]
    for axis, words in AXES.items():
        growth = results.growth(axis, device)
        if growth is not None:
            rows.append([
                words, f"{growth.sizes[0]:,}", f"{growth.sizes[-1]:,}",
                f"{duration(growth.seconds[0])} to {duration(growth.seconds[-1])}", f"{growth.slope:.2f}",
                f"{size(growth.n_bytes[0])} to {size(growth.n_bytes[-1])}",
            ])  # fmt: skip
    text = "One size at a time; the slope is that of the logarithms: 1 is proportional, 2 quadratic."
    return f"### Growth\n\n{text}\n\n{markdown(rows)}" if len(rows) > 1 else ""


def _profile_section(results: Results, device: str) -> str:
    outcomes = [o for o in results.of("profile", device) if o.status == DONE]
    if not outcomes:
        return ""
    names = list(outcomes[0].numbers["parts"])
    rows = [["rows", "a step", *names, "operations", "product rate", "least time", "times the least"]]
    for outcome in outcomes:
        numbers = outcome.numbers
        total = sum(numbers["parts"].values())
        operations = numbers["operations"]
        least = operations / numbers["product_rate"]
        rows.append([
            _rows(outcome), duration(numbers["seconds_per_step"]),
            *(f"{100 * numbers['parts'][name] / total:.0f} %" for name in names),
            f"{operations / 1e9:.3g} G", f"{numbers['product_rate'] / 1e9:,.0f} G/s",
            duration(least), f"{numbers['seconds_per_step'] / least:.1f}",
        ])  # fmt: skip
    text = filled("""Shares by kind of operator, as torch's profiler sees them. The least time is that of the products'
        operations, N F (3 F + 4 r) for a view of r columns, at the rate of a float32 product of the features' shape,
        measured in the same process.""")
    return f"### Where the time of a step goes\n\n{text}\n\n{markdown(rows)}"


def _rows(outcome: Outcome) -> str:
    return f"{outcome.task.data.n_samples:,}" if outcome.task.data.n_samples else "all"
