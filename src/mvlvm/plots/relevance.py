"""Pictures of which view uses which latent dimension."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.figure import Figure

from mvlvm.errors import ViewError
from mvlvm.plots.style import QUALITATIVE, SEQUENTIAL, new_figure

_CELL = (0.62, 0.45)  # inches
_LEAST_WIDTH = 4.2  # inches that the title takes
# On colours below this share of the scale, numbers are white.
_DARK = 0.6
# Bars of more dimensions than there are colours are told apart by hatching.
_N_COLOURS = 10
_HATCHES = ("", "///", "...", "xxx")
# Names that would run into each other.
_SLANTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


class Table(NamedTuple):
    """Numbers for views and dimensions, with their names."""

    values: Float[np.ndarray, "V D"]
    views: list[str]
    dimensions: list[str]


def plot_relevance(relevance: Any) -> Figure:
    """Show the share of every latent dimension in every view's variation, as a heat map with numbers in percent.

    Args:
        relevance: views by dimensions: a DataFrame such as `est.relevance()`, or an array, whose views and dimensions
            are then numbered.

    Raises:
        ViewError: it is no table of finite numbers.
    """
    table = _as_table(relevance, "relevance")
    n_views, n_dimensions = table.values.shape
    longest = max(len(name) for name in table.views)
    width = max(_LEAST_WIDTH, 1.6 + 0.08 * longest + _CELL[0] * n_dimensions)
    figure, ((panel,),) = new_figure(1, 1, panel=(width, 1.3 + _CELL[1] * n_views))
    top = max(float(table.values.max()), np.finfo(float).tiny)
    image = panel.imshow(table.values, cmap=SEQUENTIAL, vmin=0.0, vmax=top, aspect="auto", interpolation="nearest")
    for (v, d), value in np.ndenumerate(table.values):
        colour = "white" if value < _DARK * top else "black"
        panel.text(d, v, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize="small")
    panel.set_xticks(
        range(n_dimensions), table.dimensions, **(_SLANTED if _length(table.dimensions) > _CELL[0] else {})
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
    """Show how much of every view's variance is lost when a latent dimension is held at its mean, as groups of bars.

    Args:
        explained: views by dimensions: a DataFrame such as `est.relevance(of="variance")`, or an array, whose views and
            dimensions are then numbered.

    Raises:
        ViewError: it is no table of finite numbers.
    """
    table = _as_table(explained, "explained")
    n_views, n_dimensions = table.values.shape
    width = min(14.0, 1.4 + n_views * max(0.9, 0.16 * (n_dimensions + 1)))
    slot, longest = max(width, 4.5) / n_views, _length(table.views)
    figure, ((panel,),) = new_figure(1, 1, panel=(max(width, 4.5), 3.8 + (0.7 * longest if longest > slot else 0.0)))
    bar = 0.84 / n_dimensions
    for d, name in enumerate(table.dimensions):
        places = np.arange(n_views) + (d - (n_dimensions - 1) / 2) * bar
        panel.bar(
            places, 100 * table.values[:, d], width=0.9 * bar, label=name, edgecolor="white", linewidth=0.0,
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


def _length(names: list[str]) -> float:
    """Give the length of the longest name, in inches."""
    return 0.1 * max(len(name) for name in names)


def _as_table(given: Any, argument: str) -> Table:
    """Take a DataFrame with its names, or number the rows and columns of an array."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ViewError(
            f"{argument} must be a table of numbers, views by dimensions. Got {type(given).__name__}. "
            "Give a DataFrame, or an array with a row for every view, such as est.relevance()."
        ) from None
    if values.ndim != 2 or 0 in values.shape:
        raise ViewError(
            f"{argument} must have a row for every view and a column for every dimension. "
            f"Got the shape {values.shape}. Give at least one of each."
        )
    if not np.isfinite(values).all():
        raise ViewError(
            f"{argument} must hold finite numbers. Got {int((~np.isfinite(values)).sum())} that are not. "
            "Fit the model again: files of older versions do not hold them."
        )
    views, dimensions = getattr(given, "index", None), getattr(given, "columns", None)
    return Table(
        values,
        [f"view{v}" for v in range(len(values))] if views is None else [str(name) for name in views],
        [f"x{d}" for d in range(values.shape[1])] if dimensions is None else [str(name) for name in dimensions],
    )
