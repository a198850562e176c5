"""Densities compared with SciPy, expectations with quadrature, and the explicit-weight bound with the evidence."""

from functools import partial
from itertools import product

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from experiment import Effort, Experiment, Numbers
from mvlvm.evidence.collapsed import log_evidence
from mvlvm.evidence.weight_space import column_weights, natural_gradient_step, weight_space_evidence
from mvlvm.likelihoods import LIKELIHOODS, AbstractLikelihood, Gaussian, NegativeBinomial, StudentT

_ROWS, _COLUMNS, _CLASSES = 40, 5, 3
_POINTS, _REACH = 4001, 12.0
_HERMITE = 80
_SCALE, _DEGREES, _NOISE = 0.7, 3.5, 0.4
_DISPERSION = np.array([0.3, 1.0, 2.5, 8.0, 60.0])


def make(name: str) -> AbstractLikelihood:
    """Return a likelihood with fixed parameters."""
    if name == "negative-binomial":
        return NegativeBinomial(torch.tensor(_DISPERSION))
    if name == "student-t":
        return StudentT(_SCALE, _DEGREES)
    return Gaussian(_NOISE) if name == "gaussian" else LIKELIHOODS[name]()


def scipy_density(name: str, y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return log p(y | f) computed by SciPy; the last axis is that of the columns."""
    if name == "gaussian":
        return stats.norm.logpdf(y, f, np.sqrt(_NOISE))
    if name == "student-t":
        return stats.t.logpdf(y, _DEGREES, f, _SCALE)
    if name == "bernoulli":
        return np.where(y == 1, stats.logistic.logcdf(f), stats.logistic.logsf(f))
    if name == "poisson":
        return stats.poisson.logpmf(y, np.exp(f))
    return stats.nbinom.logpmf(y, _DISPERSION, _DISPERSION / (_DISPERSION + np.exp(f)))


def errors(name: str, seed: int, effort: Effort) -> Numbers:
    """Compare log density and expected log density with SciPy and with a sum over a fine grid."""
    generator = torch.Generator().manual_seed(seed)
    mean = 2 * torch.randn((_ROWS, _COLUMNS), generator=generator, dtype=torch.float64)
    variance = 1.5 * torch.rand((_ROWS, _COLUMNS), generator=generator, dtype=torch.float64)
    likelihood = make(name)
    Y = likelihood.sample(mean + variance.sqrt(), generator).detach()
    m, v, y = mean.numpy(), variance.numpy(), Y.numpy()
    z = np.linspace(-_REACH, _REACH, _POINTS)
    weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    expected = np.zeros_like(m)
    for point, weight in zip(z, weights, strict=True):
        expected += weight * scipy_density(name, y, m + np.sqrt(v) * point)
    return _compared(
        likelihood.log_density(Y, mean), scipy_density(name, y, m),
        likelihood.expected_log_density(Y, mean, variance), expected,
    )  # fmt: skip


def class_errors(seed: int, effort: Effort) -> Numbers:
    """Do the same for three classes, with a Gauss-Hermite rule in three dimensions."""
    rng = np.random.default_rng(seed)
    m, v = 2 * rng.normal(size=(_ROWS, _CLASSES)), 1.5 * rng.random((_ROWS, _CLASSES))
    codes = rng.integers(_CLASSES, size=_ROWS)
    points, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
    grid = np.array(list(product(points, repeat=_CLASSES)))
    weight = np.prod(list(product(weights / weights.sum(), repeat=_CLASSES)), axis=1)
    exact = [m[n, c] - np.logaddexp.reduce(m[n]) for n, c in enumerate(codes)]
    expected = [
        m[n, c] - weight @ np.logaddexp.reduce(m[n] + np.sqrt(v[n]) * grid, axis=1) for n, c in enumerate(codes)
    ]
    mean, variance, Y = torch.as_tensor(m), torch.as_tensor(v), torch.as_tensor(np.eye(_CLASSES)[codes])
    likelihood = make("categorical")
    return _compared(
        likelihood.log_density(Y, mean).sum(dim=1), np.array(exact),
        likelihood.expected_log_density(Y, mean, variance).sum(dim=1), np.array(expected),
    )  # fmt: skip


def _compared(density: Tensor, exact: np.ndarray, found: Tensor, expected: np.ndarray) -> Numbers:
    off = np.abs(found.detach().numpy() - expected)
    return {
        "density": float(np.abs(density.detach().numpy() - exact).max()),
        "expected": float(off.max()),
        "expected, relative": float((off / np.maximum(1, np.abs(expected))).max()),
    }


def bound_difference(seed: int, effort: Effort) -> Numbers:
    """Compare the explicit-weight bound at its optimum with the collapsed evidence."""
    generator = torch.Generator().manual_seed(seed)
    Phi, Y = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((60, 12), (60, 7)))
    likelihood = Gaussian(_NOISE)

    def expected(mean: Tensor, variance: Tensor) -> Tensor:
        return likelihood.expected_log_density(Y, mean, variance)

    with torch.no_grad():
        start = column_weights(torch.zeros(12, 7).double(), torch.zeros(12, 12).double(), torch.ones(7).double())
        _, gradients = weight_space_evidence(Phi, start, expected, likelihood)
        # the step length is limited to a change of 1 in f, so several steps are needed
        weights = start
        for _ in range(20):
            weights = natural_gradient_step(weights, Phi, gradients, rate=1.0)
            bound, gradients = weight_space_evidence(Phi, weights, expected, likelihood)
        exact = log_evidence(Y, Phi, likelihood.noise_variance)
    return {"bound minus evidence": float(bound - exact)}


EXPERIMENTS = (
    Experiment("mathematics", {
        **{name: partial(errors, name) for name in LIKELIHOODS if name != "categorical"},
        "categorical": class_errors,
        "weights and evidence": bound_difference,
    }),
)  # fmt: skip
