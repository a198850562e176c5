"""Mean, spread and ends of every column of a view, from a few passes over its rows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from mvlvm.row_blocks import row_blocks
from mvlvm.views.missing import count_entries


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
    blocks, count = row_blocks(*Y.shape), count_entries(Y)
    with np.errstate(invalid="ignore"):  # a column without entries has no mean
        mean = sum(np.nansum(Y[rows], axis=0) for rows in blocks) / count
        squares = sum(np.nansum((Y[rows] - mean) ** 2, axis=0) for rows in blocks)
        return ColumnMoments(mean, np.sqrt(squares / count), np.fmin.reduce(Y, axis=0), np.fmax.reduce(Y, axis=0))
