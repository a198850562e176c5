"""Pictures of what fits cost: wall time, growth, quality against seconds, the parts of a step."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from mvlvm.plots.palette import OURS_COLOUR, method_looks
from mvlvm.plots.style import QUALITATIVE, new_figure, plain_log_ticks

_STAGGER = 0.025
_LONG_LABEL = 999


def plot_wall_times(
    times: Mapping[str, Mapping[int, float]], stopped: Mapping[str, Mapping[int, float]], *, title: str
) -> Figure:
    """Show the wall time of whole fits against the number of rows, a line for every method.

    Args:
        times: method -> rows -> seconds.
        stopped: method -> rows -> seconds after which it was stopped, drawn as open arrows.
        title: of the figure.
    """
    figure, ((panel,),) = new_figure(1, 1, panel=(6.4, 4.4))
    looks = method_looks(times)
    for place, (method, look) in enumerate(looks.items()):
        done = sorted(times[method].items())
        panel.plot(
            *_columns(done), color=look.colour, marker=look.marker, markersize=5, label=method,
            linestyle=look.line, linewidth=look.width,
        )  # fmt: skip
        for rows, seconds in stopped.get(method, {}).items():
            beside = rows * (1 + _STAGGER * (place - len(times) / 2))  # many are stopped at the same rows and limit
            panel.plot([beside], [seconds], color=look.colour, marker="^", markersize=9, markerfacecolor="none")
    _logarithmic(panel, "rows, N", "wall time (s)")
    panel.set_title(title, fontsize="medium")
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def plot_growth(growths: Mapping[str, tuple[Sequence[int], Sequence[float], float]], *, title: str) -> Figure:
    """Show how the time of a step grows, one panel per size that was changed, with the fitted line.

    Args:
        growths: what was changed -> sizes, seconds per step, and the slope of the fitted line.
        title: of the figure.
    """
    figure, (axes,) = new_figure(1, len(growths), panel=(3.0, 2.9))
    times = [1000 * value for _, seconds, _ in growths.values() for value in seconds]
    for panel, (what, (sizes, seconds, slope)) in zip(axes, growths.items(), strict=True):
        x, y = np.asarray(sizes, dtype=float), np.asarray(seconds) * 1000
        level = np.exp(np.mean(np.log(y) - slope * np.log(x)))
        panel.plot(x, level * x**slope, color="0.6", linewidth=1, linestyle="--", label=f"slope {slope:.2f}")
        panel.plot(x, y, color=OURS_COLOUR, marker="o", markersize=5, linestyle="none")
        _logarithmic(panel, what, "ms per step" if panel is axes[0] else "")
        panel.set_ylim(min(times) / 1.5, max(times) * 2.5)  # one scale for all, and room for the legend
        panel.xaxis.set_major_locator(FixedLocator(sizes))
        panel.tick_params(axis="x", labelsize="small", labelrotation=45 if max(sizes) > _LONG_LABEL else 0)
        panel.legend(frameon=False, fontsize="small", loc="upper left")
    figure.suptitle(title, fontsize="medium")
    return figure


def plot_quality(
    curves: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    targets: Mapping[str, float],
    *,
    title: str,
) -> Figure:
    """Show the best accuracy within so many seconds, one panel per data set, a line for every method.

    Args:
        curves: data set -> method -> seconds and accuracies from 0 to 1.
        targets: data set -> the accuracy that was asked for, drawn as a line.
        title: of the figure.
    """
    figure, (axes,) = new_figure(1, len(curves), panel=(4.0, 3.4))
    order = list(dict.fromkeys(method for by_method in curves.values() for method in by_method))
    looks = method_looks(order)
    for panel, (data, by_method) in zip(axes, curves.items(), strict=True):
        for method, (seconds, quality) in by_method.items():
            look = looks[method]
            best = _best_so_far(seconds, quality)
            panel.plot(
                [at for at, _ in best], [100 * value for _, value in best], color=look.colour, marker=look.marker,
                markersize=5, label=method, linestyle=look.line, linewidth=look.width,
            )  # fmt: skip
        if data in targets:
            panel.axhline(100 * targets[data], color="0.5", linewidth=1, linestyle=":")
        panel.set(xscale="log", xlabel="seconds", ylabel="1-NN accuracy (%)" if panel is axes[0] else "", title=data)
        plain_log_ticks(panel.xaxis)
        panel.grid(alpha=0.3)
    lines = {str(line.get_label()): line for panel in axes for line in panel.get_lines() if line.get_label() in order}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure


def plot_parts(parts: Mapping[str, Mapping[str, float]], *, title: str) -> Figure:
    """Show the share of each part of a step, one bar per size.

    Args:
        parts: size -> part -> seconds.
        title: of the figure.
    """
    figure, ((panel,),) = new_figure(1, 1, panel=(7.2, 1.4 + 0.5 * len(parts)))
    names = list(dict.fromkeys(name for by_part in parts.values() for name in by_part))
    colours = colormaps[QUALITATIVE]
    left = np.zeros(len(parts))
    for place, name in enumerate(names):
        totals = [sum(by_part.values()) for by_part in parts.values()]
        shares = np.array([100 * by_part.get(name, 0.0) for by_part in parts.values()]) / totals
        panel.barh(list(parts), shares, left=left, color=colours(place), label=name, height=0.7)
        left += shares
    panel.set(xlim=(0, 100), xlabel="share of a step (%)")
    panel.set_title(title, fontsize="medium")
    panel.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure


def _best_so_far(seconds: Sequence[float], quality: Sequence[float]) -> list[tuple[float, float]]:
    """Give the points that are better than every quicker one."""
    best: list[tuple[float, float]] = []
    for at, value in sorted(zip(seconds, quality, strict=True)):
        if not best or value > best[-1][1]:
            best.append((at, value))
    return best


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _logarithmic(panel: Axes, x: str, y: str) -> None:
    panel.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    plain_log_ticks(panel.xaxis)
    plain_log_ticks(panel.yaxis)
    panel.grid(alpha=0.3, linewidth=0.5)
