"""Each likelihood with parameters that differ between columns, its density in SciPy, and valid entries."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats

from mvlvm.likelihoods import AbstractLikelihood, Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT

N, M, A = 6, 5, 3
DISPERSION = np.array([0.3, 1.0, 2.5, 8.0, 60.0])
SCALE, DEGREES, NOISE_VARIANCE = 0.7, 3.5, 0.4


def plain(tensor):
    return tensor.detach().numpy()


def entries(*rows):
    return torch.tensor(rows, dtype=torch.float64)


COUNTS = entries(
    [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [3, 0, 2, 5, 1], [40, 20, 7, 90, 30], [1000, 2, 1000, 3, 1000], [0, 8, 0, 1, 15]
)
BITS = entries([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 1, 1], [1, 1, 0, 0, 1], [0, 0, 1, 0, 1], [1, 0, 1, 0, 0])
REALS = entries(
    [0, 0, 0, 0, 0], [-1, 1, 0.3, -2, 2], [30, 0.1, -30, 4, 9], [0, 1, 2, 3, 4], [-5, 2, 0, 7, 1], [1, 1, -1, -1, 0]
)
CLASSES = entries([1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0])


@dataclass(frozen=True)
class Case:
    """A likelihood, data for it, and SciPy's log p(y | f) of one entry, given the index of its column."""

    make: Callable[[], AbstractLikelihood]
    Y: torch.Tensor
    log_density: Callable[[float, np.ndarray, int], np.ndarray]

    def mean_and_variance(self, generator, n=N):
        mean = 2 * torch.randn((n, M), generator=generator, dtype=torch.float64)
        return mean, 1.5 * torch.rand((n, M), generator=generator, dtype=torch.float64)


def negative_binomial(y, f, m):
    r = DISPERSION[m]
    return stats.nbinom.logpmf(y, r, r / (r + np.exp(f)))


ENTRYWISE = {
    "gaussian": Case(
        lambda: Gaussian(NOISE_VARIANCE), REALS, lambda y, f, m: stats.norm.logpdf(y, f, NOISE_VARIANCE**0.5)
    ),
    "student-t": Case(lambda: StudentT(SCALE, DEGREES), REALS, lambda y, f, m: stats.t.logpdf(y, DEGREES, f, SCALE)),
    "bernoulli": Case(Bernoulli, BITS, lambda y, f, m: -np.logaddexp(0, -f if y == 1 else f)),
    "poisson": Case(Poisson, COUNTS, lambda y, f, m: stats.poisson.logpmf(y, np.exp(f))),
    "negative-binomial": Case(lambda: NegativeBinomial(torch.tensor(DISPERSION)), COUNTS, negative_binomial),
}


def softmax_log_density(y, f):
    """Return the log density of a row in the column of its class, for f of shape (..., M)."""
    logits = f - f.max(axis=-1, keepdims=True)
    return y * (logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))
