"""The figures of the page, out of what was measured."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mvlvm.benchmarks.plan import GPU_TARGET, MNIST_TARGET, R_MNIST_TARGET
from mvlvm.benchmarks.results import DEVICES, Results
from mvlvm.benchmarks.task import DONE, STOPPED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {"N": "rows, N", "M": "columns of a view, M", "V": "views, V", "Q": "mixtures, Q", "P": "points, P"}


def draw_figures(results: Results, folder: Path) -> dict[str, str]:
    """Write every figure that there are numbers for, and give their file names by device and kind, such as cpu-growth.

    Args:
        results: what was measured.
        folder: where the figures go.
    """
    from mvlvm.plots import write

    written = {}
    for device in DEVICES:
        for kind, draw in _KINDS.items():
            figure = draw(results, device)
            if figure is not None:
                name = f"speed-{device}-{kind}.png"
                write(figure, folder / name)
                written[f"{device}-{kind}"] = name
    return written


def _wall_times(results: Results, device: str) -> "Figure | None":
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


def _growth(results: Results, device: str) -> "Figure | None":
    from mvlvm.plots.speed import plot_growth

    found = {words: results.growth(axis, device) for axis, words in AXES.items()}
    growths = {words: (g.sizes, g.seconds, g.slope) for words, g in found.items() if g is not None}
    return plot_growth(growths, title=f"Time of a step\n{results.machine(device)}") if growths else None


def _quality(results: Results, device: str) -> "Figure | None":
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


def _parts(results: Results, device: str) -> "Figure | None":
    from mvlvm.plots.speed import plot_parts

    parts: dict[str, Mapping[str, float]] = {
        f"N = {outcome.task.data.n_samples:,}": outcome.numbers["parts"]
        for outcome in results.of("profile", device)
        if outcome.status == DONE
    }
    return plot_parts(parts, title=f"Where the time of a step goes\n{results.machine(device)}") if parts else None


_KINDS: dict[str, Callable[[Results, str], "Figure | None"]] = {
    "walltime": _wall_times, "growth": _growth, "quality": _quality, "parts": _parts,
}  # fmt: skip
