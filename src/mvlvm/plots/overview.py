"""Views as figures take them: matrices of numbers with the same samples in their rows.

A picture of what is there and what is missing: samples down, the columns of every view across.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from scipy.sparse import csr_array, issparse

from mvlvm.errors import ViewError
from mvlvm.plots.style import MISSING, OBSERVED, new_figure


def as_matrices(views: Mapping[str, Any]) -> dict[str, Any]:
    """Give views as numeric arrays, or sparse as they are; None in an array of objects becomes NaN.

    Raises:
        ViewError: there are none, one is no matrix of numbers or is empty, or their rows are not the same in number.
    """
    if not views:
        raise ViewError("There is nothing to show: no view was given. Give at least one.")
    matrices = {name: _as_matrix(name, Y) for name, Y in views.items()}
    lengths = {name: Y.shape[0] for name, Y in matrices.items()}
    if len(set(lengths.values())) > 1:
        raise ViewError(
            "Views must have a row for every sample, the same number in all. Got "
            f"{', '.join(f'{name}: {length}' for name, length in lengths.items())}."
        )
    return matrices


def _as_matrix(name: str, Y: Any) -> Any:
    matrix = Y if issparse(Y) else np.asarray(Y)
    if matrix.dtype.kind not in "biuf":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ViewError(f"View '{name}' must be made of numbers. Got {matrix.dtype}.") from error
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = " x ".join(map(str, matrix.shape)) or "a number"
        raise ViewError(f"View '{name}' must be a matrix with at least one row and one column. Got {shape}.")
    return matrix


Mask = Bool[np.ndarray, "N _"] | csr_array

# About as many as a panel has pixels; more rows or columns than this share lines.
MOST_LINES = 1000
_SHARES = LinearSegmentedColormap.from_list("shares", [OBSERVED, MISSING])
_LONGEST_NAME = 16  # characters in one line of a panel's title


def plot_overview(views: Mapping[str, Any], *, title: str = "") -> Figure:
    """Show which entries of which view are missing, one panel per view.

    Samples stand in the same order in all panels: those with the same views missing lie together, the complete ones
    first, otherwise as they are in the data. Where there are more samples or columns than a panel can show, neighbours
    share a line, coloured by the share of their entries that is missing.

    Args:
        views: view name -> matrix with a row for every sample, an array or SciPy-sparse; NaN is missing.
        title: of the figure.

    Raises:
        ViewError: there are no views, or they are no matrices of numbers of the same samples.
    """
    masks = {name: missing_entries(Y) for name, Y in as_matrices(views).items()}
    order = order_by_missing_views(list(masks.values()))
    figure, (panels,) = new_figure(1, len(views), panel=(max(1.6, min(3.2, 10 / len(views))), 4.4))
    figure.set_figwidth(max(figure.get_figwidth(), 4.8))
    shares = {name: block_shares(mask, order) for name, mask in masks.items()}
    for panel, (name, mask) in zip(panels, masks.items(), strict=True):
        _draw_view(panel, name, mask, shares[name])
    for panel in panels[1:]:
        panel.tick_params(left=False, labelleft=False)
    is_sorted = not np.array_equal(order, np.arange(len(order)))
    panels[0].set_ylabel("samples, sorted by the views they lack" if is_sorted else "samples, in the order of the data")
    _add_legend(figure, blended=any(bool(((part > 0) & (part < 1)).any()) for part in shares.values()))
    if title:
        figure.suptitle(title)
    return figure


def missing_entries(Y: Any) -> Mask:
    """Give which entries are missing, sparse where the view is or where none can be."""
    if issparse(Y):
        stored = csr_array(Y, copy=True)
        stored.data = np.isnan(stored.data)
        stored.eliminate_zeros()
        return stored
    Y = np.asarray(Y)
    return np.isnan(Y) if np.issubdtype(Y.dtype, np.inexact) else csr_array(Y.shape, dtype=bool)


def order_by_missing_views(masks: Sequence[Mask]) -> Int[np.ndarray, " N"]:
    """Order samples by the views they lack altogether: none first, then one, then two; otherwise as they come."""
    lacking = np.stack([mask.sum(axis=1) == _size(mask)[1] for mask in masks])
    return np.lexsort([*lacking[::-1], lacking.sum(axis=0)])  # the last key weighs most


def block_shares(mask: Mask, order: Int[np.ndarray, " N"]) -> Float[np.ndarray, "R C"]:
    """Give the share of missing entries in blocks of neighbouring columns and of rows that follow in `order`."""
    row_edges, column_edges = (_edges(length) for length in _size(mask))
    blocks = np.split(order, row_edges[1:-1])
    counts = np.stack([np.add.reduceat(mask[rows].sum(axis=0), column_edges[:-1]) for rows in blocks])
    return counts / np.outer(np.diff(row_edges), np.diff(column_edges))


def _size(mask: Mask) -> tuple[int, int]:
    # SciPy's annotations have a shape that may be None
    n_rows, n_columns = mask.shape  # pyright: ignore[reportGeneralTypeIssues]
    return n_rows, n_columns


def _edges(length: int) -> Int[np.ndarray, " E"]:
    """Cut a length into blocks of nearly the same size, of one each where that is few enough."""
    n_blocks = min(length, MOST_LINES)
    return np.arange(n_blocks + 1) * length // n_blocks


def _draw_view(panel: Axes, name: str, mask: Mask, shares: Float[np.ndarray, "R C"]) -> None:
    n_rows, n_columns = _size(mask)
    panel.imshow(_enlarged(shares), cmap=_SHARES, vmin=0, vmax=1, aspect="auto", extent=(0, n_columns, n_rows, 0))
    panel.set_title(f"{textwrap.fill(name, _LONGEST_NAME)}\n{_say_missing(int(mask.sum()), mask)}", fontsize="medium")
    panel.set_xlabel(f"{n_columns:,} column{'s' if n_columns > 1 else ''}")
    panel.set_xticks([])
    panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _enlarged(shares: Float[np.ndarray, "R C"]) -> Float[np.ndarray, "A B"]:
    """Repeat the lines of a small picture: matplotlib blurs what it has to enlarge."""
    rows, columns = (-(-MOST_LINES // length) for length in shares.shape)
    return shares.repeat(rows, axis=0).repeat(columns, axis=1)


def _say_missing(n_missing: int, mask: Mask) -> str:
    share = n_missing / math.prod(_size(mask))
    if not n_missing:
        return "complete"
    return "under 1 % missing" if share < 0.005 else f"{share:.0%} missing".replace("%", " %")


def _add_legend(figure: Figure, *, blended: bool) -> None:
    handles = [Patch(color=OBSERVED, label="observed"), Patch(color=MISSING, label="missing")]
    if blended:
        handles.insert(1, Patch(color=_SHARES(0.5), label="missing in part"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
