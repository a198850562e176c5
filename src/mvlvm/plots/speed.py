"""Plots of computational cost: wall time, scaling, accuracy against time, the profile of a training step."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from mvlvm.plots.palette import OURS_COLOUR, method_looks
from mvlvm.plots.style import QUALITATIVE, new_figure, plain_log_ticks

_STAGGER = 0.06  # relative horizontal offset of markers that would coincide
_STOPPED = "stopped at the time limit"
_TARGET = "accuracy to reach"
_MAX_HORIZONTAL_LABEL = 999  # tick labels of larger numbers are rotated


def plot_wall_times(
    times: Mapping[str, Mapping[int, float]], stopped: Mapping[str, Mapping[int, float]], *, title: str
) -> Figure:
    """Plot the wall time of complete fits against the number of rows, one line per method.

    Args:
        times: method -> number of rows -> seconds.
        stopped: method -> number of rows -> seconds after which the fit was stopped, drawn as an open triangle.
        title: title of the figure.

    Returns:
        The figure, with one panel on logarithmic axes.
    """
    figure, ((panel,),) = new_figure(1, 1, panel=(6.4, 4.4))
    triangle = {"marker": "^", "markersize": 9, "markerfacecolor": "none", "linestyle": "none"}
    for method, style in method_looks(times).items():
        done = sorted(times[method].items())
        panel.plot(
            *_columns(done), color=style.colour, marker=style.marker, markersize=5, label=method,
            linestyle=style.line, linewidth=style.width,
        )  # fmt: skip
        for rows, seconds in stopped.get(method, {}).items():
            # many fits are stopped at the same size and time limit
            here = [other for other in times if rows in stopped.get(other, {})]
            x = rows * (1 + _STAGGER * (here.index(method) - (len(here) - 1) / 2))
            panel.plot([x], [seconds], color=style.colour, **triangle)
    if stopped:
        panel.plot([], [], color="0.4", label=_STOPPED, **triangle)
    _set_log_axes(panel, "rows, N", "wall time (s)")
    panel.set_title(title, fontsize="medium")
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def plot_growth(growths: Mapping[str, tuple[Sequence[int], Sequence[float], float]], *, title: str) -> Figure:
    """Plot the time of a training step against the problem size, one panel per varied size, with the fitted power law.

    Args:
        growths: name of the varied size -> sizes, seconds per step, and exponent of the power law fitted to them.
        title: title of the figure.

    Returns:
        The figure, with one panel per varied size on logarithmic axes.
    """
    figure, (axes,) = new_figure(1, len(growths), panel=(3.0, 2.9))
    times = [1000 * value for _, seconds, _ in growths.values() for value in seconds]
    for panel, (name, (sizes, seconds, exponent)) in zip(axes, growths.items(), strict=True):
        x, y = np.asarray(sizes, dtype=float), np.asarray(seconds) * 1000
        level = np.exp(np.mean(np.log(y) - exponent * np.log(x)))
        panel.plot(x, level * x**exponent, color="0.6", linewidth=1, linestyle="--", label=f"exponent {exponent:.2f}")
        panel.plot(x, y, color=OURS_COLOUR, marker="o", markersize=5, linestyle="none")
        _set_log_axes(panel, name, "ms per step" if panel is axes[0] else "")
        panel.set_ylim(min(times) / 1.5, max(times) * 2.5)  # common limits, with space for the legend
        panel.xaxis.set_major_locator(FixedLocator(sizes))
        panel.tick_params(axis="x", labelsize="small", labelrotation=45 if max(sizes) > _MAX_HORIZONTAL_LABEL else 0)
        panel.legend(frameon=False, fontsize="small", loc="upper left")
    figure.suptitle(title, fontsize="medium")
    return figure


def plot_quality(
    curves: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    targets: Mapping[str, float],
    *,
    title: str,
) -> Figure:
    """Plot the best accuracy so far against time, one panel per data set, one line per method.

    Args:
        curves: data set -> method -> seconds, and accuracies from 0 to 1.
        targets: data set -> target accuracy, drawn as a horizontal line.
        title: title of the figure.

    Returns:
        The figure, with one panel per data set.
    """
    figure, (axes,) = new_figure(1, len(curves), panel=(4.0, 3.4))
    order = list(dict.fromkeys(method for by_method in curves.values() for method in by_method))
    styles = method_looks(order)
    for panel, (data, by_method) in zip(axes, curves.items(), strict=True):
        for method, (seconds, quality) in by_method.items():
            style = styles[method]
            times, values = _best_so_far(seconds, quality).T
            panel.plot(
                times, 100 * values, color=style.colour, marker=style.marker, markersize=5, label=method,
                linestyle=style.line, linewidth=style.width,
            )  # fmt: skip
        if data in targets:
            panel.axhline(100 * targets[data], color="0.5", linewidth=1, linestyle=":", label=_TARGET)
        panel.set(xscale="log", xlabel="seconds", ylabel="1-NN accuracy (%)" if panel is axes[0] else "", title=data)
        plain_log_ticks(panel.xaxis)
        panel.grid(alpha=0.3)
    lines = {str(line.get_label()): line for panel in axes for line in panel.get_lines()}
    lines = {name: lines[name] for name in [*order, _TARGET] if name in lines}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure


def plot_parts(parts: Mapping[str, Mapping[str, float]], *, title: str) -> Figure:
    """Plot the share of each part of a training step as stacked bars, one bar per problem size.

    Args:
        parts: problem size -> part -> seconds.
        title: title of the figure.

    Returns:
        The figure, with one panel.
    """
    figure, ((panel,),) = new_figure(1, 1, panel=(7.2, 1.4 + 0.5 * len(parts)))
    names = list(dict.fromkeys(name for by_part in parts.values() for name in by_part))
    colours = colormaps[QUALITATIVE]
    left = np.zeros(len(parts))
    for k, name in enumerate(names):
        totals = [sum(by_part.values()) for by_part in parts.values()]
        shares = np.array([100 * by_part.get(name, 0.0) for by_part in parts.values()]) / totals
        panel.barh(list(parts), shares, left=left, color=colours(k), label=name, height=0.7)
        left += shares
    panel.set(xlim=(0, 100), xlabel="share of a step (%)")
    panel.set_title(title, fontsize="medium")
    panel.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure


def _best_so_far(seconds: Sequence[float], quality: Sequence[float]) -> Float[np.ndarray, "K 2"]:
    """Return the points that are more accurate than every faster point, sorted by time; shape (K, 2)."""
    best: list[tuple[float, float]] = []
    for point in sorted(zip(seconds, quality, strict=True)):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    return np.array(best).reshape(-1, 2)


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _set_log_axes(panel: Axes, x: str, y: str) -> None:
    panel.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    plain_log_ticks(panel.xaxis)
    plain_log_ticks(panel.yaxis)
    panel.grid(alpha=0.3, linewidth=0.5)
