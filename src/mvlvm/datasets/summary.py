"""What can be said of a data set in numbers: sizes, ranges, what is missing, classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from mvlvm.datasets.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class ViewSummary:
    """One view in numbers.

    Attributes:
        name: of the view.
        n_rows: samples.
        n_columns: columns.
        sparse: whether only the entries that are not zero are kept.
        dtype: of the entries, as NumPy names it.
        smallest: the smallest entry, the zeros of a sparse view among them; None where every entry is missing.
        largest: the largest entry, likewise.
        share_missing: of all entries, from 0 to 1.
        n_rows_missing: rows of which nothing is known.
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
    """A data set in numbers.

    Attributes:
        views: one summary for every view, in order.
        classes: class name -> samples; None where there are no labels.
        n_unknown: samples whose class is not known.
    """

    views: tuple[ViewSummary, ...]
    classes: Mapping[str, int] | None
    n_unknown: int


def summarise(data: Dataset) -> Summary:
    """Count and measure; sparse views stay sparse.

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
    """Give the stored entries, with a zero for those that are not, and how many of each row are missing."""
    stored = Y.tocsr(copy=True)
    stored.sum_duplicates()
    row_of_entry = np.repeat(np.arange(Y.shape[0]), np.diff(stored.indptr))
    missing = np.bincount(row_of_entry[np.isnan(stored.data)], minlength=Y.shape[0])
    has_zeros = stored.data.size < Y.shape[0] * Y.shape[1]
    return np.append(stored.data, np.zeros(int(has_zeros), dtype=stored.dtype)), missing


def _range(values: Shaped[np.ndarray, "..."]) -> tuple[int | float | None, int | float | None]:
    """Give the smallest and largest entry; fmin and fmax pass over NaN and need no copy."""
    if not values.size:
        return None, None
    low, high = (reduce(values, axis=None).item() for reduce in (np.fmin.reduce, np.fmax.reduce))
    return (None, None) if low != low else (low, high)


def _count_classes(labels: Int[np.ndarray, " N"], names: tuple[str, ...] | None) -> dict[str, int]:
    counts = np.bincount(labels[labels >= 0], minlength=len(names or ())).tolist()
    return dict(zip(names or map(str, range(len(counts))), counts, strict=True))
