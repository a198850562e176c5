"""What is missing of a view, found some rows at a time: a mask of a large view is an array of its own."""

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.row_blocks import row_blocks


def rows_with_entries(
    Y: Float[np.ndarray, "N M"], columns: Bool[np.ndarray, " M"] | None = None
) -> Bool[np.ndarray, " N"]:
    """Tell which rows have an entry, in some columns or in any."""
    has = np.empty(len(Y), dtype=bool)
    for rows in row_blocks(*Y.shape):
        has[rows] = ~np.isnan(Y[rows] if columns is None else Y[rows][:, columns]).all(axis=1)
    return has


def has_gaps(Y: Float[np.ndarray, "N M"]) -> bool:
    """Tell whether an entry is missing."""
    return any(bool(np.isnan(Y[rows]).any()) for rows in row_blocks(*Y.shape))


def count_entries(Y: Float[np.ndarray, "N M"]) -> np.ndarray:
    """Give the number of entries of every column."""
    counts = np.zeros(Y.shape[1], dtype=np.int64)
    for rows in row_blocks(*Y.shape):
        counts += len(Y[rows]) - np.isnan(Y[rows]).sum(axis=0)
    return counts


def distinct_values(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, " u"]:
    """Give the different values among what was observed, in order."""
    values = np.empty(0)
    for rows in row_blocks(*Y.shape):
        values = np.union1d(values, Y[rows][~np.isnan(Y[rows])])
    return values
