"""How large views are, told from their shapes and types; nothing is read, copied or made dense."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvlvm.views.annotated import is_anndata, is_mudata
from mvlvm.views.interop import unpack
from mvlvm.views.optional import is_dataframe
from mvlvm.views.sparse import is_sparse

_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True)
class ViewSize:
    """The size of one view.

    Attributes:
        n_rows: its rows, N.
        n_columns: its columns, M; one for a column of labels.
        n_copies: how many float64 matrices of this shape are made to let the view in.
    """

    n_rows: int
    n_columns: int
    n_copies: int

    @property
    def n_bytes(self) -> float:
        """Bytes of one float64 matrix of this shape."""
        return float(self.n_rows * self.n_columns * _FLOAT64.itemsize)


def view_sizes(views: Any) -> dict[str, ViewSize]:
    """Give the size of every view.

    Args:
        views: as for `as_views`; what is wrong with them is not looked at.
    """
    if is_mudata(views):
        return {name: ViewSize(views.n_obs, adata.n_vars, 2) for name, adata in views.mod.items()}
    if is_anndata(views):
        return {"view0": ViewSize(views.n_obs, views.n_vars, 2)}
    _, tables = unpack(views)
    return {str(name): _size(table) for name, table in tables.items()}


def _size(table: Any) -> ViewSize:
    shape = table.shape if isinstance(getattr(table, "shape", None), tuple) else np.shape(table)
    n_rows, n_columns = (*shape, 1, 1)[:2]
    return ViewSize(int(n_rows), int(n_columns), _n_copies(table))


def _n_copies(table: Any) -> int:
    if is_sparse(table):
        return 2  # dense in its own type first
    if is_dataframe(table):
        return int(any(dtype != _FLOAT64 for dtype in table.dtypes))
    return int(not isinstance(table, np.ndarray) or table.dtype != _FLOAT64)


def total_bytes(sizes: Mapping[str, ViewSize]) -> float:
    """Give the bytes of all views as float64 matrices."""
    return sum((size.n_bytes for size in sizes.values()), 0.0)
