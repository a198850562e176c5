"""Summary statistics of a data set: sizes, ranges, missing entries and class counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from mvlvm.datasets.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class ViewSummary:
    """Summary statistics of a view.

    Attributes:
        name: name of the view.
        n_rows: number of samples.
        n_columns: number of columns.
        sparse: whether the view is a sparse matrix.
        dtype: NumPy data type of the entries.
        smallest: minimum, including the implicit zeros of a sparse view; None if all entries are missing.
        largest: maximum, including the implicit zeros of a sparse view; None if all entries are missing.
        share_missing: fraction of missing entries, between 0 and 1.
        n_rows_missing: number of rows without any observed entry.
    """

    name: str
    n_rows: int
    n_columns: int
    sparse: bool
    dtype: str
    smallest: int | float | None
    largest: int | float | None
    share_missing: float
    n_rows_missing: int


@dataclass(frozen=True)
class Summary:
    """Summary statistics of a data set.

    Attributes:
        views: one summary per view, in order.
        classes: class name -> number of samples; None if there are no labels.
        n_unknown: number of samples with an unknown class.
    """

    views: tuple[ViewSummary, ...]
    classes: Mapping[str, int] | None
    n_unknown: int


def summarise(data: Dataset) -> Summary:
    """Compute the summary statistics of a data set; sparse views are not converted to dense ones.

    Example:
        >>> data = Dataset({"a": np.array([[1.0, np.nan], [np.nan, np.nan]])}, np.array([0, -1]), ("yes", "no"))
        >>> summary = summarise(data)
        >>> summary.views[0].share_missing, summary.views[0].n_rows_missing
        (0.75, 1)
        >>> summary.classes, summary.n_unknown
        ({'yes': 1, 'no': 0}, 1)
    """
    views = tuple(_summarise_view(name, Y) for name, Y in data.views.items())
    if data.labels is None:
        return Summary(views, None, 0)
    return Summary(views, _count_classes(data.labels, data.label_names), int(np.sum(data.labels < 0)))


def _summarise_view(name: str, Y: Any) -> ViewSummary:
    from scipy.sparse import issparse

    sparse = issparse(Y)
    values, missing_per_row = _sparse_entries(Y) if sparse else (np.asarray(Y), np.isnan(Y).sum(axis=1))
    smallest, largest = _range(values)
    n_rows, n_columns = Y.shape
    return ViewSummary(
        name=name,
        n_rows=n_rows,
        n_columns=n_columns,
        sparse=sparse,
        dtype=str(values.dtype),
        smallest=smallest,
        largest=largest,
        share_missing=float(missing_per_row.sum() / max(n_rows * n_columns, 1)),
        n_rows_missing=int(np.sum(missing_per_row == n_columns)) if n_columns else 0,
    )


def _sparse_entries(Y: Any) -> tuple[Shaped[np.ndarray, " E"], Int[np.ndarray, " N"]]:
    """Return the stored entries plus one zero for implicit ones, and the (N,) number of missing entries per row."""
    stored = Y.tocsr(copy=True)
    stored.sum_duplicates()
    row_of_entry = np.repeat(np.arange(Y.shape[0]), np.diff(stored.indptr))
    missing = np.bincount(row_of_entry[np.isnan(stored.data)], minlength=Y.shape[0])
    has_zeros = stored.data.size < Y.shape[0] * Y.shape[1]
    return np.append(stored.data, np.zeros(int(has_zeros), dtype=stored.dtype)), missing


def _range(values: Shaped[np.ndarray, "..."]) -> tuple[int | float | None, int | float | None]:
    """Return minimum and maximum; fmin and fmax ignore NaN without copying the array."""
    if not values.size:
        return None, None
    low, high = (reduce(values, axis=None).item() for reduce in (np.fmin.reduce, np.fmax.reduce))
    return (None, None) if low != low else (low, high)


def _count_classes(labels: Int[np.ndarray, " N"], names: tuple[str, ...] | None) -> dict[str, int]:
    counts = np.bincount(labels[labels >= 0], minlength=len(names or ())).tolist()
    return dict(zip(names or map(str, range(len(counts))), counts, strict=True))
