"""Pictures of how methods do as something grows: means with bands of one standard deviation.

Pictures of a fit's course.
"""

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mvlvm.errors import ViewError
from mvlvm.plots.palette import MethodStyle, base_name, method_looks
from mvlvm.plots.style import legend_below, legend_beside, new_figure, plain_log_ticks, put_title, ticks_where_measured

_PANEL = (3.7, 2.9)  # inches
_MOST_ACROSS = 3
_LONGEST_NAME = 32  # characters in one line beside an axis
_REFERENCE_COLOUR = "0.35"
_SCALES = ("", "x", "y", "xy")


class Curve(NamedTuple):
    """The points of a line, from left to right, and the half width of its band."""

    x: Float[np.ndarray, " K"]
    mean: Float[np.ndarray, " K"]
    std: Float[np.ndarray, " K"]


def plot_curves(
    curves: Mapping[str, Any],
    *,
    x: str,
    y: str,
    log: str = "",
    references: Mapping[str, Any] | None = None,
    title: str = "",
) -> Figure:
    """Show the mean of every method along an axis, with a band of one standard deviation.

    A point whose mean is NaN is not drawn; the line goes from the one before it to the one after it.

    Args:
        curves: method -> (x, mean) or (x, mean, std), arrays of the same length.
        x: what the horizontal axis is, with its unit.
        y: what the vertical axis is, with its unit.
        log: which axes are logarithmic: "", "x", "y" or "xy".
        references: name -> a number or (x, y), drawn dashed; in a method's colour where the name starts with the
            method's and a comma, "MV-RFLVM, paper".
        title: of the figure.

    Raises:
        ViewError: there are no curves, or they are no arrays of the same length, or not positive where an axis is
            logarithmic.
    """
    return plot_curve_panels({title: curves}, x=x, y=y, log=log, references={title: references or {}})


def plot_curve_panels(
    panels: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str | Mapping[str, str],
    log: str = "",
    references: Mapping[str, Mapping[str, Any]] | None = None,
) -> Figure:
    """Show curves as `plot_curves` does in several panels, one per data set or measure, with one legend for all.

    Args:
        panels: title -> method -> (x, mean) or (x, mean, std).
        x: what the horizontal axes are, with unit.
        y: what the vertical axes are, with unit: one name for all, or title -> name.
        log: which axes are logarithmic: "", "x", "y" or "xy".
        references: title -> name -> a number or (x, y), drawn dashed.

    Raises:
        ViewError: as `plot_curves`.
    """
    if log not in _SCALES:
        raise ViewError(f"log must be one of {', '.join(map(repr, _SCALES))}. Got {log!r}.")
    checked = {
        title: {method: _as_curve(method, given, log) for method, given in curves.items()}
        for title, curves in panels.items()
    }
    if not any(len(curve.x) for curves in checked.values() for curve in curves.values()):
        raise ViewError("There is nothing to show: no curve with a point was given. Give at least one.")
    looks = method_looks([method for curves in checked.values() for method in curves])
    n_rows = -(-len(panels) // _MOST_ACROSS)
    figure, rows = new_figure(n_rows, -(-len(panels) // n_rows), panel=_PANEL)
    axes = [panel for row in rows for panel in row]
    handles: dict[str, Line2D] = {}
    for panel, (title, curves) in zip(axes, checked.items(), strict=False):
        panel.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
        lines = {name: _as_reference(name, given, log) for name, given in (references or {}).get(title, {}).items()}
        handles |= _draw_curves(panel, curves, looks) | _draw_references(panel, lines, looks)
        panel.set(xlabel=x, ylabel=textwrap.fill(y if isinstance(y, str) else y[title], _LONGEST_NAME))
        put_title(panel, title, inches=_PANEL[0])
        _scale(panel, list(curves.values()), list(lines.values()))
    for panel in axes[len(panels) :]:
        panel.remove()
    order = [*looks, *(name for name in handles if name not in looks)]
    legend = legend_beside if len(panels) == 1 else legend_below
    legend(figure, {name: handles[name] for name in order if name in handles})
    return figure


def _draw_curves(panel: Axes, curves: Mapping[str, Curve], looks: Mapping[str, MethodStyle]) -> dict[str, Line2D]:
    handles = {}
    for method, (x, mean, std) in curves.items():
        if not len(x):
            continue
        look = looks[method]
        (handles[method],) = panel.plot(
            x, mean, color=look.colour, marker=look.marker, linestyle=look.line, linewidth=look.width,
            markersize=3.5 + look.width, markeredgecolor="white", markeredgewidth=0.5, zorder=2 + look.layer,
        )  # fmt: skip
        if len(x) > 1:
            low = np.where(mean - std > 0, mean - std, mean * 1e-9) if panel.get_yscale() == "log" else mean - std
            panel.fill_between(x, low, mean + std, color=look.colour, alpha=0.13, linewidth=0, zorder=look.layer)
        else:  # a band of one point has no width
            panel.errorbar(x, mean, std, color=look.colour, linewidth=0.9, capsize=2, zorder=1 + look.layer)
    return handles


def _draw_references(
    panel: Axes, references: Mapping[str, Curve | float], looks: Mapping[str, MethodStyle]
) -> dict[str, Line2D]:
    handles = {}
    for name, reference in references.items():
        method = base_name(name)
        colour = looks[method].colour if method in looks else _REFERENCE_COLOUR
        if isinstance(reference, Curve):
            (line,) = panel.plot(reference.x, reference.mean, color=colour, linestyle="--", linewidth=1.3, zorder=2.5)
        else:
            line = panel.axhline(reference, color=colour, linestyle="--", linewidth=1.3, zorder=2.5)
        handles[name] = line
    return handles


def _scale(panel: Axes, curves: list[Curve], references: list[Curve | float]) -> None:
    """Set limits and ticks; a band that reaches below zero must not stretch a logarithmic axis."""
    lines = [line for line in (*curves, *references) if isinstance(line, Curve)]
    if panel.get_yscale() == "log":
        levels = [level for level in references if not isinstance(level, Curve)]
        tops = np.concatenate([*(line.mean + line.std for line in lines), levels])
        lows = np.concatenate([*(np.maximum(line.mean - line.std, line.mean / 3) for line in lines), levels])
        room = (tops.max() / lows.min()) ** 0.06
        panel.set_ylim(lows.min() / room / 1.1, tops.max() * room * 1.1)
        plain_log_ticks(panel.yaxis)
    if panel.get_xscale() == "log":
        plain_log_ticks(panel.xaxis)
    ticks_where_measured(panel.xaxis, np.concatenate([curve.x for curve in curves]).tolist(), inches=_PANEL[0] - 0.8)
    panel.grid(alpha=0.3, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize="small")
    panel.spines[["top", "right"]].set_visible(False)


def _as_curve(name: str, given: Any, log: str) -> Curve:
    """Give a curve with the points that are there, in the order of the axis."""
    try:
        x, mean, *rest = (np.asarray(part, dtype=np.float64) for part in given)
        (std,) = rest or (np.zeros_like(mean),)
    except (TypeError, ValueError):
        raise ViewError(
            f"Curve '{name}' must be arrays (x, mean) or (x, mean, std). Got {type(given).__name__}. "
            "Give numbers along the axis, and the mean and the standard deviation at each."
        ) from None
    if x.ndim != 1 or not x.shape == mean.shape == std.shape:
        raise ViewError(
            f"Curve '{name}' must be arrays of the same length. Got the shapes {x.shape}, {mean.shape} and "
            f"{std.shape}. Give one mean for every x; write NaN where there is none."
        )
    there = np.flatnonzero(~np.isnan(mean))
    there = there[np.argsort(x[there], kind="stable")]
    curve = Curve(x[there], mean[there], np.nan_to_num(std[there]))
    _check_values(name, curve, log)
    return curve


def _check_values(name: str, curve: Curve, log: str) -> None:
    if not np.isfinite(np.concatenate(curve)).all():
        raise ViewError(
            f"Curve '{name}' must hold finite numbers. Got inf, or an x that is NaN. Leave such points out."
        )
    if (curve.std < 0).any():
        raise ViewError(f"Curve '{name}' must have standard deviations of at least zero. Got {curve.std.min():g}.")
    for axis, values in (("x", curve.x), ("y", curve.mean)):
        if axis in log and (values <= 0).any():
            raise ViewError(
                f"Curve '{name}' must be positive on a logarithmic axis. Got {axis} = {values.min():g}. "
                f"Leave '{axis}' out of log, or leave the point out."
            )


def _as_reference(name: str, given: Any, log: str) -> Curve | float:
    """Give a level or a line."""
    if np.ndim(given) == 0:
        _check_values(name, Curve(np.ones(1), np.array([given], dtype=np.float64), np.zeros(1)), log)
        return float(given)
    return _as_curve(name, given, log)


# The steep climb of the first steps would press the rest of the curve flat against the top.
_SHARE_NOT_SHOWN = 0.05


def plot_bounds(histories: Mapping[str, Mapping[str, Float[np.ndarray, " T"]]]) -> Figure:
    """Show the bound over time, one panel per fit.

    Args:
        histories: title -> an estimator's `history_`.
    """
    figure, (axes,) = new_figure(1, len(histories), panel=(4.6, 3.2))
    for panel, (title, history) in zip(axes, histories.items(), strict=True):
        shown = int(_SHARE_NOT_SHOWN * len(history["elbo"]))
        panel.plot(history["seconds"], history["elbo"] / 1000, linewidth=0.8)
        low, high = history["elbo"][shown:].min() / 1000, history["elbo"].max() / 1000
        panel.set_ylim(low, high + 0.05 * (high - low))
        panel.set(title=title, xlabel="seconds", ylabel="evidence lower bound (1,000 nats)")
        panel.grid(alpha=0.3)
    return figure
