"""Line plots: results of methods along an axis, with bands of one standard deviation, and training curves."""

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
from mvlvm.plots.style import (
    legend_below,
    legend_beside,
    new_figure,
    plain_log_ticks,
    set_ticks_at_values,
    set_wrapped_title,
)

_PANEL = (3.7, 2.9)  # inches
_MAX_COLUMNS = 3
_LABEL_LINE = 32  # characters in one line of an axis label
_REFERENCE_COLOUR = "0.35"
_SCALES = ("", "x", "y", "xy")
_IGNORED_SHARE = 0.05  # of the first steps, whose steep increase would otherwise flatten the rest of a training curve


class Curve(NamedTuple):
    """The points of a line, from left to right, and the half-width of its band."""

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
    limits: tuple[float | None, float | None] = (None, None),
    title: str = "",
) -> Figure:
    """Plot the mean of every method along an axis, with a band of one standard deviation.

    A point whose mean is NaN is not drawn; the line connects its neighbours.

    Args:
        curves: method -> (x, mean) or (x, mean, std), arrays of the same length.
        x: label of the horizontal axis, with the unit.
        y: label of the vertical axis, with the unit.
        log: the logarithmic axes: "", "x", "y" or "xy".
        references: name -> a number or (x, y), drawn as a dashed line. A name that consists of a method, a comma and a
            comment, such as "MV-RFLVM, paper", is drawn in the colour of the method.
        limits: smallest and largest possible value of a bounded quantity; (None, 1.0) for R². None is no bound.
            Bands end there.
        title: title of the figure.

    Returns:
        The figure, with one panel.

    Raises:
        ViewError: no curve is given, the arrays of a curve differ in length, or a value on a logarithmic axis is not
            positive.
    """
    return plot_curve_panels({title: curves}, x=x, y=y, log=log, references={title: references or {}}, limits=limits)


def plot_curve_panels(
    panels: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str | Mapping[str, str],
    log: str = "",
    references: Mapping[str, Mapping[str, Any]] | None = None,
    limits: tuple[float | None, float | None] = (None, None),
) -> Figure:
    """Plot curves as `plot_curves` does, in several panels with a common legend.

    Args:
        panels: title of the panel -> method -> (x, mean) or (x, mean, std).
        x: label of the horizontal axes, with the unit.
        y: label of the vertical axes, with the unit: one for all panels, or title -> label.
        log: the logarithmic axes: "", "x", "y" or "xy".
        references: title -> name -> a number or (x, y), drawn as a dashed line.
        limits: smallest and largest possible value, at which bands end; None for no bound.

    Returns:
        The figure, with one panel per title.

    Raises:
        ViewError: as for `plot_curves`.
    """
    if log not in _SCALES:
        raise ViewError(f"log must be one of {', '.join(map(repr, _SCALES))}. Got {log!r}.")
    checked = {
        title: {method: _as_curve(method, given, log) for method, given in curves.items()}
        for title, curves in panels.items()
    }
    if not any(len(curve.x) for curves in checked.values() for curve in curves.values()):
        raise ViewError("There is nothing to plot: no curve with a point was given. Pass at least one.")
    styles = method_looks([method for curves in checked.values() for method in curves])
    n_rows = -(-len(panels) // _MAX_COLUMNS)
    figure, rows = new_figure(n_rows, -(-len(panels) // n_rows), panel=_PANEL)
    axes = [panel for row in rows for panel in row]
    handles: dict[str, Line2D] = {}
    for panel, (title, curves) in zip(axes, checked.items(), strict=False):
        panel.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
        lines = {name: _as_reference(name, given, log) for name, given in (references or {}).get(title, {}).items()}
        handles |= _draw_curves(panel, curves, styles, limits) | _draw_references(panel, lines, styles)
        panel.set(xlabel=x, ylabel=textwrap.fill(y if isinstance(y, str) else y[title], _LABEL_LINE))
        set_wrapped_title(panel, title, inches=_PANEL[0])
        _set_scale(panel, list(curves.values()), list(lines.values()))
    for panel in axes[len(panels) :]:
        panel.remove()
    order = [*styles, *(name for name in handles if name not in styles)]
    legend = legend_beside if len(panels) == 1 else legend_below
    legend(figure, {name: handles[name] for name in order if name in handles})
    return figure


def plot_bounds(histories: Mapping[str, Mapping[str, Float[np.ndarray, " T"]]]) -> Figure:
    """Plot the evidence lower bound against the training time, one panel per fit.

    Args:
        histories: title -> the `history_` of an estimator.

    Returns:
        The figure, with one panel per fit.
    """
    figure, (axes,) = new_figure(1, len(histories), panel=(4.6, 3.2))
    for panel, (title, history) in zip(axes, histories.items(), strict=True):
        first = int(_IGNORED_SHARE * len(history["elbo"]))
        panel.plot(history["seconds"], history["elbo"] / 1000, linewidth=0.8)
        low, high = history["elbo"][first:].min() / 1000, history["elbo"].max() / 1000
        panel.set_ylim(low, high + 0.05 * (high - low))
        panel.set(title=title, xlabel="seconds", ylabel="evidence lower bound (1,000 nats)")
        panel.grid(alpha=0.3)
    return figure


def plot_history(history: Mapping[str, Float[np.ndarray, " T"]], *, by: str = "step") -> Axes:
    """Plot the bound of one fit, with the learning rate below it.

    Args:
        history: the `history_` of an estimator.
        by: "step" or "seconds".

    Returns:
        The axes of the bound.
    """
    (bound,), (rate,) = new_figure(2, 1, panel=(6.0, 2.4))[1]
    n_steps = len(history["elbo"])
    x = np.arange(1, n_steps + 1) if by == "step" else history["seconds"]
    bound.plot(x, history["elbo"], linewidth=0.8)
    first = int(_IGNORED_SHARE * n_steps)
    low, high = history["elbo"][first:].min(), history["elbo"].max()
    margin = 0.05 * max(high - low, np.finfo(float).tiny)
    bound.set_ylim(low - margin, high + margin)
    bound.set_ylabel("evidence lower bound, nats")
    bound.tick_params(labelbottom=False)
    rate.plot(x, history["learning_rate"], linewidth=0.8)
    rate.set(xlabel=by, ylabel="learning rate", ylim=(0, None))
    for panel in (bound, rate):
        panel.grid(alpha=0.3)
    return bound


def _draw_curves(
    panel: Axes,
    curves: Mapping[str, Curve],
    styles: Mapping[str, MethodStyle],
    limits: tuple[float | None, float | None],
) -> dict[str, Line2D]:
    handles = {}
    for method, (x, mean, std) in curves.items():
        if not len(x):
            continue
        style = styles[method]
        (handles[method],) = panel.plot(
            x, mean, color=style.colour, marker=style.marker, linestyle=style.line, linewidth=style.width,
            markersize=3.5 + style.width, markeredgecolor="white", markeredgewidth=0.5, zorder=2 + style.layer,
        )  # fmt: skip
        low, high = _band(panel, mean, std, limits)
        if len(x) > 1:
            panel.fill_between(x, low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=style.layer)
        else:  # the band of a single point would be invisible
            bar = np.stack([mean - low, high - mean])
            panel.errorbar(x, mean, bar, color=style.colour, linewidth=0.9, capsize=2, zorder=1 + style.layer)
    return handles


def _band(
    panel: Axes,
    mean: Float[np.ndarray, " K"],
    std: Float[np.ndarray, " K"],
    limits: tuple[float | None, float | None],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """Return the ends of a band of one standard deviation, within the limits; it always contains the mean."""
    smallest, largest = limits
    low, high = mean - std, mean + std
    if panel.get_yscale() == "log":
        low = np.where(low > 0, low, mean * 1e-9)
    if smallest is not None:
        low = np.minimum(np.maximum(low, smallest), mean)
    if largest is not None:
        high = np.maximum(np.minimum(high, largest), mean)
    return low, high


def _draw_references(
    panel: Axes, references: Mapping[str, Curve | float], styles: Mapping[str, MethodStyle]
) -> dict[str, Line2D]:
    handles = {}
    for name, reference in references.items():
        method = base_name(name)
        colour = styles[method].colour if method in styles else _REFERENCE_COLOUR
        if isinstance(reference, Curve):
            (line,) = panel.plot(reference.x, reference.mean, color=colour, linestyle="--", linewidth=1.3, zorder=2.5)
        else:
            line = panel.axhline(reference, color=colour, linestyle="--", linewidth=1.3, zorder=2.5)
        handles[name] = line
    return handles


def _set_scale(panel: Axes, curves: list[Curve], references: list[Curve | float]) -> None:
    """Set limits and ticks; a band that extends below zero must not stretch a logarithmic axis."""
    lines = [line for line in (*curves, *references) if isinstance(line, Curve)]
    if panel.get_yscale() == "log":
        levels = [level for level in references if not isinstance(level, Curve)]
        tops = np.concatenate([*(line.mean + line.std for line in lines), levels])
        lows = np.concatenate([*(np.maximum(line.mean - line.std, line.mean / 3) for line in lines), levels])
        margin = (tops.max() / lows.min()) ** 0.06
        panel.set_ylim(lows.min() / margin / 1.1, tops.max() * margin * 1.1)
        plain_log_ticks(panel.yaxis)
    if panel.get_xscale() == "log":
        plain_log_ticks(panel.xaxis)
    set_ticks_at_values(panel.xaxis, np.concatenate([curve.x for curve in curves]).tolist(), inches=_PANEL[0] - 0.8)
    panel.grid(alpha=0.3, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize="small")
    panel.spines[["top", "right"]].set_visible(False)


def _as_curve(name: str, given: Any, log: str) -> Curve:
    """Validate a curve; return its observed points, sorted by x."""
    try:
        x, mean, *rest = (np.asarray(part, dtype=np.float64) for part in given)
        (std,) = rest or (np.zeros_like(mean),)
    except (TypeError, ValueError):
        raise ViewError(
            f"Curve '{name}' must be arrays (x, mean) or (x, mean, std). Got {type(given).__name__}. "
            "Pass positions along the axis, and the mean and the standard deviation at each."
        ) from None
    if x.ndim != 1 or not x.shape == mean.shape == std.shape:
        raise ViewError(
            f"Curve '{name}' must be arrays of the same length. Got shapes {x.shape}, {mean.shape} and "
            f"{std.shape}. Pass one mean per x, NaN where it is missing."
        )
    observed = np.flatnonzero(~np.isnan(mean))
    observed = observed[np.argsort(x[observed], kind="stable")]
    curve = Curve(x[observed], mean[observed], np.nan_to_num(std[observed]))
    _check_values(name, curve, log)
    return curve


def _check_values(name: str, curve: Curve, log: str) -> None:
    if not np.isfinite(np.concatenate(curve)).all():
        raise ViewError(f"Curve '{name}' must consist of finite numbers. Got inf, or NaN as an x. Omit these points.")
    if (curve.std < 0).any():
        raise ViewError(f"Curve '{name}' must have non-negative standard deviations. Got {curve.std.min():g}.")
    for axis, values in (("x", curve.x), ("y", curve.mean)):
        if axis in log and (values <= 0).any():
            raise ViewError(
                f"Curve '{name}' must be positive on a logarithmic axis. Got {axis} = {values.min():g}. "
                f"Remove '{axis}' from log, or omit the point."
            )


def _as_reference(name: str, given: Any, log: str) -> Curve | float:
    """Validate a reference; return a number for a horizontal line, or a curve."""
    if np.ndim(given) == 0:
        _check_values(name, Curve(np.ones(1), np.array([given], dtype=np.float64), np.zeros(1)), log)
        return float(given)
    return _as_curve(name, given, log)
