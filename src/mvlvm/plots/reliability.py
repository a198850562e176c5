"""Reliability diagrams: the calibration of predictive intervals."""

import textwrap
from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mvlvm.errors import ViewError
from mvlvm.plots.style import DPI, QUALITATIVE, new_figure

# 7 markers and 10 colours are coprime: 70 curves look different, and neighbours also differ in greyscale.
_MARKERS = "osD^v<>"
_LEGEND_LINE = 48  # characters in one line of the legend
_LINE_HEIGHT = 0.2  # inches


def plot_reliability(curves: Mapping[str, Iterable[Any]]) -> Figure:
    """Plot the observed against the nominal coverage of predictive intervals, one line per curve.

    A curve on the diagonal is perfectly calibrated; below it error bars are too narrow, above it too wide.

    Args:
        curves: name -> (expected, observed): the probabilities of the intervals, and the share of entries inside each,
            as returned by `mvlvm.evaluation.reliability`.

    Returns:
        The figure, with one square panel.

    Raises:
        ViewError: no curve is given, or a curve is not a pair of arrays of shares.
    """
    if not isinstance(curves, Mapping):
        raise ViewError(
            f"curves must be a dict of names and curves. Got {type(curves).__name__}. "
            "Pass a name for each, for example {'digits': reliability(truth, mean, std)}."
        )
    if not curves:
        raise ViewError("There is nothing to plot: no curve was given. Pass at least one.")
    pairs = [_as_pair(name, curve) for name, curve in curves.items()]
    names = [textwrap.fill(name, _LEGEND_LINE) for name in curves]
    n_lines = 1 + sum(1 + name.count("\n") for name in names)
    figure, ((panel,),) = new_figure(1, 1, panel=(4.4, 4.6 + _LINE_HEIGHT * n_lines))
    panel.plot([0, 1], [0, 1], linestyle="--", color="grey", label="perfectly calibrated")
    styles = zip(cycle(colormaps[QUALITATIVE](range(10))), cycle(_MARKERS), strict=False)
    for name, (expected, observed), (colour, marker) in zip(names, pairs, styles, strict=False):
        panel.plot(
            expected, observed, color=colour, marker=marker, markersize=4, linewidth=1.2, label=name, clip_on=False
        )
    panel.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the interval", ylabel="share of entries inside")
    panel.set_title("above the diagonal: error bars too wide,\nbelow: too narrow", fontsize="medium")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside lower center", frameon=False)
    _make_square(figure, panel)
    return figure


def _as_pair(name: Any, curve: Any) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    if not isinstance(name, str):
        raise ViewError(f"The names of curves must be strings. Got {name!r}. Use '{name}' instead.")
    try:
        expected, observed = (np.asarray(part, dtype=np.float64) for part in curve)
    except (TypeError, ValueError):
        raise ViewError(
            f"Curve '{name}' must be a pair of arrays, (expected, observed). Got {type(curve).__name__}. "
            "Pass the result of mvlvm.evaluation.reliability."
        ) from None
    if expected.ndim != 1 or expected.shape != observed.shape:
        raise ViewError(
            f"Curve '{name}' must be a pair of arrays of the same length. Got shapes {expected.shape} and "
            f"{observed.shape}. Pass one observed share per expected probability."
        )
    both = np.concatenate([expected, observed])
    outside = both[~((both >= 0) & (both <= 1))]
    if len(outside):
        raise ViewError(
            f"Curve '{name}' must consist of shares between 0 and 1. Got {outside[0]:g}. Divide percentages by 100."
        )
    return expected, observed


def _make_square(figure: Figure, panel: Axes) -> None:
    """Set the figure height such that the panel is square at the resolution of saved files.

    With a fixed aspect ratio, constrained layout would cut off the title: it does not know the final panel size.
    """
    original_dpi = figure.dpi
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    box = panel.get_window_extent()
    figure.set_figheight(figure.get_figheight() + (box.width - box.height) / DPI)
    figure.set_dpi(original_dpi)
