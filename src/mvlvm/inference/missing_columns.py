r"""Draws of the missing entries of given views, for predictions by a conditional layer.

With the standardised columns A of the training rows, a new row is taken to be u ~ N(0, A'A / N + lambda I). Its missing
entries given the observed ones are normal,

    u_m | u_o ~ N(S_mo S_oo^-1 u_o, S_mm - S_mo S_oo^-1 S_om).

A single fill would pretend to know them; draws carry their uncertainty into the prediction. They come in antithetic
pairs, so that functions that are linear in the missing entries are averaged exactly.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.linalg import cho_factor, cho_solve

from mvlvm.randomness import Stream, make_generator

# The covariance of a row with gaps is factored, which takes too long for more columns.
MAX_COLUMNS_WITH_GAPS = 2000
_N_PAIRS = 3
_RIDGE = 0.03
_SEED = 0


def draw_missing(B: Float[np.ndarray, "n C"], A: Float[np.ndarray, "N C"]) -> Iterator[Float[np.ndarray, "n C"]]:
    """Yield copies of new rows with draws of their missing entries.

    The random numbers of a row depend on its number of missing entries only, so that rows do not depend on each other.

    Args:
        B: new rows in standardised columns; NaN marks missing entries.
        A: training rows.
    """
    S = A.T @ A / len(A)
    S.flat[:: len(S) + 1] += _RIDGE
    means, deviations = B.copy(), np.zeros((_N_PAIRS, *B.shape))
    missing = np.isnan(B)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == k)
        if pattern.any():
            means[np.ix_(rows, pattern)], drawn = _conditional_draws(S, B[rows], pattern)
            deviations[np.ix_(np.arange(_N_PAIRS), rows, pattern)] = drawn[:, None]
    for deviation in deviations:
        yield means + deviation
        yield means - deviation


def _conditional_draws(
    S: Float[np.ndarray, "C C"], B: Float[np.ndarray, "r C"], missing: Bool[np.ndarray, " C"]
) -> tuple[Float[np.ndarray, "r K"], Float[np.ndarray, "S K"]]:
    """Return the conditional means of the missing entries, and draws of their deviations from these."""
    S_mm, S_mo = S[np.ix_(missing, missing)], S[np.ix_(missing, ~missing)]
    if missing.all():
        means, covariance = np.zeros((len(B), len(S))), S_mm
    else:
        gain = cho_solve(cho_factor(S[np.ix_(~missing, ~missing)], lower=True), S_mo.T)
        means, covariance = B[:, ~missing] @ gain, S_mm - S_mo @ gain
    generator = make_generator(_SEED, Stream.CONDITIONAL)
    eps = torch.randn((_N_PAIRS, len(S_mm)), generator=generator, dtype=torch.float64).numpy()
    return means, eps @ np.linalg.cholesky(covariance).T
