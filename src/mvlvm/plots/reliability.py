"""Pictures of how far error bars can be trusted."""

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

# Seven markers and ten colours share no divisor: seventy curves look different, and neighbours do in print, too.
_MARKERS = "osD^v<>"
_LONGEST_LINE = 48  # characters of a name in one line of the legend
_LINE_HEIGHT = 0.2  # inches


def plot_reliability(curves: Mapping[str, Iterable[Any]]) -> Figure:
    """Show how often the truth fell inside intervals of given probability, one line per curve.

    On the diagonal, error bars are as wide as they should be; below it they are too narrow, above it too wide.

    Args:
        curves: name -> (expected, observed): probabilities of intervals, and the share of entries inside each, as
            `mvlvm.evaluation.reliability` gives them.

    Raises:
        ViewError: there are no curves, or they are no pairs of shares.
    """
    if not isinstance(curves, Mapping):
        raise ViewError(
            f"curves must be a dict of names and curves. Got {type(curves).__name__}. "
            "Give it a name, for example {'digits': reliability(truth, mean, std)}."
        )
    if not curves:
        raise ViewError("There is nothing to show: no curve was given. Give at least one.")
    pairs = [_checked(name, curve) for name, curve in curves.items()]
    names = [textwrap.fill(name, _LONGEST_LINE) for name in curves]
    n_lines = 1 + sum(1 + name.count("\n") for name in names)
    figure, ((panel,),) = new_figure(1, 1, panel=(4.4, 4.6 + _LINE_HEIGHT * n_lines))
    panel.plot([0, 1], [0, 1], linestyle="--", color="grey", label="as it should be")
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


def _checked(name: Any, curve: Any) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    if not isinstance(name, str):
        raise ViewError(f"The names of curves must be text. Got {name!r}. Write '{name}' instead.")
    try:
        expected, observed = (np.asarray(part, dtype=np.float64) for part in curve)
    except (TypeError, ValueError):
        raise ViewError(
            f"Curve '{name}' must be a pair of arrays, (expected, observed). Got {type(curve).__name__}. "
            "Give what mvlvm.evaluation.reliability returns."
        ) from None
    if expected.ndim != 1 or expected.shape != observed.shape:
        raise ViewError(
            f"Curve '{name}' must be a pair of arrays of the same length. Got the shapes {expected.shape} and "
            f"{observed.shape}. Give one observed share for every expected one."
        )
    both = np.concatenate([expected, observed])
    outside = both[~((both >= 0) & (both <= 1))]
    if len(outside):
        raise ViewError(
            f"Curve '{name}' must hold shares, between 0 and 1. Got {outside[0]:g}. Divide percentages by 100."
        )
    return expected, observed


def _make_square(figure: Figure, panel: Axes) -> None:
    """Make the figure as high as a square panel needs, at the resolution of files.

    With a fixed aspect the layout engine would cut off the title: it cannot tell how much the panel will grow.
    """
    usual = figure.dpi
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    box = panel.get_window_extent()
    figure.set_figheight(figure.get_figheight() + (box.width - box.height) / DPI)
    figure.set_dpi(usual)
