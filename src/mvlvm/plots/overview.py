"""Overview of observed and missing entries: samples along the vertical axis, the columns of every view across."""

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

Mask = Bool[np.ndarray, "N _"] | csr_array

MAX_LINES = 1000  # about the number of pixels of a panel; with more rows or columns, neighbours share a line
_SHARE_COLOURS = LinearSegmentedColormap.from_list("shares", [OBSERVED, MISSING])
_TITLE_LINE = 16  # characters in one line of a panel's title


def plot_overview(views: Mapping[str, Any], *, title: str = "") -> Figure:
    """Plot which entries of every view are missing, one panel per view.

    All panels show the samples in the same order: grouped by the views that are missing altogether, complete samples
    first, and within a group in the order of the data. If there are more samples or columns than a panel can resolve,
    neighbours share a line, coloured by their proportion of missing entries.

    Args:
        views: view name -> matrix with one row per sample, an array or SciPy sparse; NaN marks missing entries.
        title: title of the figure.

    Returns:
        The figure, with one panel per view.

    Raises:
        ViewError: no view is given, or the views are not numeric matrices with the same number of rows.
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
    panels[0].set_ylabel("samples, sorted by missing views" if is_sorted else "samples, in the order of the data")
    _add_legend(figure, blended=any(bool(((part > 0) & (part < 1)).any()) for part in shares.values()))
    if title:
        figure.suptitle(title)
    return figure


def as_matrices(views: Mapping[str, Any]) -> dict[str, Any]:
    """Convert views to numeric arrays; sparse views stay sparse, None in an object array becomes NaN.

    Returns:
        View name -> matrix of shape (n_samples, n_columns).

    Raises:
        ViewError: no view is given, a view is empty or not a matrix of numbers, or the numbers of rows differ.
    """
    if not views:
        raise ViewError("There is nothing to plot: no view was given. Pass at least one.")
    matrices = {name: _as_matrix(name, Y) for name, Y in views.items()}
    lengths = {name: Y.shape[0] for name, Y in matrices.items()}
    if len(set(lengths.values())) > 1:
        raise ViewError(
            "All views must have the same number of rows, one per sample. Got "
            f"{', '.join(f'{name}: {length}' for name, length in lengths.items())}."
        )
    return matrices


def _as_matrix(name: str, Y: Any) -> Any:
    matrix = Y if issparse(Y) else np.asarray(Y)
    if matrix.dtype.kind not in "biuf":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ViewError(f"View '{name}' must consist of numbers. Got {matrix.dtype}.") from error
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = " x ".join(map(str, matrix.shape)) or "a number"
        raise ViewError(f"View '{name}' must be a matrix with at least one row and one column. Got {shape}.")
    return matrix


def missing_entries(Y: Any) -> Mask:
    """Return the mask of missing entries, sparse if the view is sparse or cannot have missing entries."""
    if issparse(Y):
        stored = csr_array(Y, copy=True)
        stored.data = np.isnan(stored.data)
        stored.eliminate_zeros()
        return stored
    Y = np.asarray(Y)
    return np.isnan(Y) if np.issubdtype(Y.dtype, np.inexact) else csr_array(Y.shape, dtype=bool)


def order_by_missing_views(masks: Sequence[Mask]) -> Int[np.ndarray, " N"]:
    """Return the order that sorts samples by the number of completely missing views, then by which ones; shape (N,)."""
    lacking = np.stack([mask.sum(axis=1) == _size(mask)[1] for mask in masks])
    return np.lexsort([*lacking[::-1], lacking.sum(axis=0)])  # the last key is the primary one


def block_shares(mask: Mask, order: Int[np.ndarray, " N"]) -> Float[np.ndarray, "R C"]:
    """Return the proportion of missing entries in blocks of consecutive rows of `order` and neighbouring columns."""
    row_edges, column_edges = (_edges(length) for length in _size(mask))
    blocks = np.split(order, row_edges[1:-1])
    counts = np.stack([np.add.reduceat(mask[rows].sum(axis=0), column_edges[:-1]) for rows in blocks])
    return counts / np.outer(np.diff(row_edges), np.diff(column_edges))


def _size(mask: Mask) -> tuple[int, int]:
    # SciPy annotates the shape as optional
    n_rows, n_columns = mask.shape  # pyright: ignore[reportGeneralTypeIssues]
    return n_rows, n_columns


def _edges(length: int) -> Int[np.ndarray, " E"]:
    """Return the edges of at most `MAX_LINES` blocks of nearly equal size."""
    n_blocks = min(length, MAX_LINES)
    return np.arange(n_blocks + 1) * length // n_blocks


def _draw_view(panel: Axes, name: str, mask: Mask, shares: Float[np.ndarray, "R C"]) -> None:
    n_rows, n_columns = _size(mask)
    panel.imshow(
        _enlarged(shares), cmap=_SHARE_COLOURS, vmin=0, vmax=1, aspect="auto", extent=(0, n_columns, n_rows, 0)
    )
    panel.set_title(
        f"{textwrap.fill(name, _TITLE_LINE)}\n{_describe_missing(int(mask.sum()), mask)}", fontsize="medium"
    )
    panel.set_xlabel(f"{n_columns:,} column{'s' if n_columns > 1 else ''}")
    panel.set_xticks([])
    panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _enlarged(shares: Float[np.ndarray, "R C"]) -> Float[np.ndarray, "A B"]:
    """Repeat the lines of a small image, because matplotlib blurs images that it enlarges."""
    rows, columns = (-(-MAX_LINES // length) for length in shares.shape)
    return shares.repeat(rows, axis=0).repeat(columns, axis=1)


def _describe_missing(n_missing: int, mask: Mask) -> str:
    share = n_missing / math.prod(_size(mask))
    if not n_missing:
        return "complete"
    return "under 1 % missing" if share < 0.005 else f"{share:.0%} missing".replace("%", " %")


def _add_legend(figure: Figure, *, blended: bool) -> None:
    handles = [Patch(color=OBSERVED, label="observed"), Patch(color=MISSING, label="missing")]
    if blended:
        handles.insert(1, Patch(color=_SHARE_COLOURS(0.5), label="missing in part"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
