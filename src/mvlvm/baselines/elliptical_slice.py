"""Draws from what a Gaussian prior and any likelihood make together, without a step size."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

# A bracket this often cut has the width of a rounding, and the row stays where it is.
_MOST_CUTS = 200


def slice_rows(
    X: Float[np.ndarray, "N D"],
    log_likelihood: Callable[[Float[np.ndarray, "B D"], Int[np.ndarray, " B"]], Float[np.ndarray, " B"]],
    rng: np.random.Generator,
) -> Float[np.ndarray, "N D"]:
    """Move every row once by elliptical slice sampling, all of them at a time.

    A row x with the prior N(0, I) moves along the ellipse x cos(angle) + e sin(angle), e ~ N(0, I), to a point whose
    likelihood is above a random share of that of x; angles that fail cut the bracket from which the next is drawn. The
    posterior of every row is left as it is.

    Args:
        X: rows, independent of each other given all else.
        log_likelihood: gives that of values for some rows, whose numbers it gets too.
        rng: of the draws.

    References:
        Murray, Adams, MacKay. Elliptical slice sampling. AISTATS 2010.
    """
    towards = rng.standard_normal(X.shape)
    rows = np.arange(len(X))
    threshold = log_likelihood(X, rows) - rng.standard_exponential(len(X))
    angle = rng.uniform(0, 2 * np.pi, len(X))
    low, high = angle - 2 * np.pi, angle.copy()
    moved = X.copy()
    for _ in range(_MOST_CUTS):
        tried = X[rows] * np.cos(angle[rows, None]) + towards[rows] * np.sin(angle[rows, None])
        enough = log_likelihood(tried, rows) > threshold[rows]
        moved[rows[enough]] = tried[enough]
        rows = rows[~enough]
        if not len(rows):
            break
        below = angle[rows] < 0
        low[rows[below]], high[rows[~below]] = angle[rows[below]], angle[rows[~below]]
        angle[rows] = rng.uniform(low[rows], high[rows])
    return moved
