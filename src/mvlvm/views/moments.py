"""Mean, spread and ends of every column of a view, from a few passes over its rows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from mvlvm.row_blocks import row_blocks


@dataclass(frozen=True)
class ColumnMoments:
    """What there is to know of columns before they are scaled, over what was observed; NaN where nothing was.

    Attributes:
        mean: the means.
        std: the standard deviations.
        low: the smallest entries.
        high: the largest ones.
    """

    mean: Float[np.ndarray, " M"]
    std: Float[np.ndarray, " M"]
    low: Float[np.ndarray, " M"]
    high: Float[np.ndarray, " M"]


def column_moments(Y: Float[np.ndarray, "N M"]) -> ColumnMoments:
    """Look at every column of a view; NaN is missing."""
    blocks, M = row_blocks(*Y.shape), Y.shape[1]
    count, total, squares, low, high = *np.zeros((3, M)), *np.full((2, M), np.nan)
    for rows in blocks:
        missing = np.isnan(Y[rows])
        count += len(missing) - missing.sum(axis=0)
        total += np.where(missing, 0.0, Y[rows]).sum(axis=0) if missing.any() else Y[rows].sum(axis=0)
        np.fmin(low, np.fmin.reduce(Y[rows], axis=0), out=low)
        np.fmax(high, np.fmax.reduce(Y[rows], axis=0), out=high)
    with np.errstate(invalid="ignore"):  # a column without entries has no mean
        mean = total / count
        for rows in blocks:
            deviation = Y[rows] - mean
            deviation[np.isnan(deviation)] = 0.0
            squares += np.einsum("nm,nm->m", deviation, deviation)
        return ColumnMoments(mean, np.sqrt(squares / count), low, high)
