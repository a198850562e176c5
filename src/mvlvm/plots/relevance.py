"""Plots of the relevance of latent dimensions for views."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.figure import Figure

from mvlvm.errors import ViewError
from mvlvm.plots.style import QUALITATIVE, SEQUENTIAL, new_figure

_CELL = (0.62, 0.45)  # inches
_MIN_WIDTH = 4.2  # inches, the width of the title
_WHITE_TEXT_SHARE = 0.6  # of the colour scale; on darker colours, numbers are white
_N_COLOURS = 10
_HATCHES = ("", "///", "...", "xxx")  # distinguish dimensions beyond the number of colours
# Tick labels that would overlap horizontally.
_SLANTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


class RelevanceTable(NamedTuple):
    """One number per view and latent dimension, with the names of both."""

    values: Float[np.ndarray, "V D"]
    views: list[str]
    dimensions: list[str]


def plot_relevance(relevance: Any) -> Figure:
    """Plot the share of every latent dimension in the variation of every view, as a heat map in percent.

    Args:
        relevance: table of shape (views, dimensions): a DataFrame such as `est.relevance()`, or an array, whose views
            and dimensions are numbered.

    Returns:
        The figure, with one panel and its colour bar.

    Raises:
        ViewError: relevance is not a table of finite numbers.
    """
    table = _as_table(relevance, "relevance")
    n_views, n_dimensions = table.values.shape
    longest = max(len(name) for name in table.views)
    width = max(_MIN_WIDTH, 1.6 + 0.08 * longest + _CELL[0] * n_dimensions)
    figure, ((panel,),) = new_figure(1, 1, panel=(width, 1.3 + _CELL[1] * n_views))
    top = max(float(table.values.max()), np.finfo(float).tiny)
    image = panel.imshow(table.values, cmap=SEQUENTIAL, vmin=0.0, vmax=top, aspect="auto", interpolation="nearest")
    for (v, d), value in np.ndenumerate(table.values):
        colour = "white" if value < _WHITE_TEXT_SHARE * top else "black"
        panel.text(d, v, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize="small")
    panel.set_xticks(
        range(n_dimensions), table.dimensions, **(_SLANTED if _longest_name(table.dimensions) > _CELL[0] else {})
    )
    panel.set_yticks(range(n_views), table.views)
    panel.set_xticks(np.arange(0.5, n_dimensions - 1), minor=True)
    panel.set_yticks(np.arange(0.5, n_views - 1), minor=True)
    panel.grid(which="minor", color="white", linewidth=1.5)
    panel.tick_params(which="both", length=0)
    panel.set(xlabel="latent dimension", title="share of a view's variation, in percent")
    panel.title.set_fontsize("medium")
    bar = figure.colorbar(image, ax=panel, format=lambda share, _: f"{100 * share:.0f}")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def plot_explained_variance(explained: Any) -> Figure:
    """Plot the explained variance that every view loses if a latent dimension is fixed at its mean, as grouped bars.

    Args:
        explained: table of shape (views, dimensions): a DataFrame such as `est.relevance(of="variance")`, or an array,
            whose views and dimensions are numbered.

    Returns:
        The figure, with one panel and a legend of the dimensions.

    Raises:
        ViewError: explained is not a table of finite numbers.
    """
    table = _as_table(explained, "explained")
    n_views, n_dimensions = table.values.shape
    width = min(14.0, 1.4 + n_views * max(0.9, 0.16 * (n_dimensions + 1)))
    slot, longest = max(width, 4.5) / n_views, _longest_name(table.views)
    figure, ((panel,),) = new_figure(1, 1, panel=(max(width, 4.5), 3.8 + (0.7 * longest if longest > slot else 0.0)))
    bar = 0.84 / n_dimensions
    for d, name in enumerate(table.dimensions):
        positions = np.arange(n_views) + (d - (n_dimensions - 1) / 2) * bar
        panel.bar(
            positions, 100 * table.values[:, d], width=0.9 * bar, label=name, edgecolor="white", linewidth=0.0,
            color=colormaps[QUALITATIVE](d % _N_COLOURS), hatch=_HATCHES[d // _N_COLOURS % len(_HATCHES)],
        )  # fmt: skip
    panel.axhline(0.0, color="grey", linewidth=0.8)
    panel.set_xticks(range(n_views), table.views, **(_SLANTED if longest > slot else {}))
    panel.tick_params(axis="x", length=0)
    panel.set_xlim(-0.6, n_views - 0.4)
    panel.set(ylabel="variance lost without it, in percent")
    panel.grid(axis="y", alpha=0.3)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    figure.legend(
        title="latent dimension", loc="outside lower center", ncols=min(n_dimensions, max(3, int(width / 1.1))),
        frameon=False, fontsize="small",
    )  # fmt: skip
    return figure


def _longest_name(names: list[str]) -> float:
    """Return the length of the longest name in inches."""
    return 0.1 * max(len(name) for name in names)


def _as_table(given: Any, argument: str) -> RelevanceTable:
    """Validate a table; keep the names of a DataFrame, or number the rows and columns of an array."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ViewError(
            f"{argument} must be a table of numbers, views by dimensions. Got {type(given).__name__}. "
            "Pass a DataFrame or an array with one row per view, for example est.relevance()."
        ) from None
    if values.ndim != 2 or 0 in values.shape:
        raise ViewError(
            f"{argument} must have one row per view and one column per dimension, at least one of each. "
            f"Got shape {values.shape}. Pass a matrix of views by dimensions."
        )
    if not np.isfinite(values).all():
        raise ViewError(
            f"{argument} must consist of finite numbers. Got {int((~np.isfinite(values)).sum())} that are not. "
            "Fit the model again: files saved by older versions do not contain them."
        )
    views, dimensions = getattr(given, "index", None), getattr(given, "columns", None)
    return RelevanceTable(
        values,
        [f"view{v}" for v in range(len(values))] if views is None else [str(name) for name in views],
        [f"x{d}" for d in range(values.shape[1])] if dimensions is None else [str(name) for name in dimensions],
    )
