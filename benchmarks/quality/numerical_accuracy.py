"""The study of numerical accuracy: densities, expectations and bounds compared with independent references."""

from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.quality_page import QualitySection, largest_within, section_parts, task_cells
from benchmarks.results import Results
from benchmarks.study import PagePart, Study
from benchmarks.tables import Measure
from mvlvm.evidence.collapsed import log_evidence
from mvlvm.evidence.weight_space import column_weights, natural_gradient_step, weight_space_evidence
from mvlvm.likelihoods import LIKELIHOODS, AbstractLikelihood, Gaussian, NegativeBinomial, StudentT

_ROWS, _QUICK_ROWS, _COLUMNS, _CLASSES = 40, 4, 5, 3
_POINTS, _REACH = 4001, 12.0
_HERMITE = 80
_SCALE, _DEGREES, _NOISE = 0.7, 3.5, 0.4
_DISPERSION = np.array([0.3, 1.0, 2.5, 8.0, 60.0])
_LARGEST_ERROR = 1e-6
_CATEGORICAL, _WEIGHTS = "categorical", "explicit weights"
# Natural-gradient steps change f by at most 1, so several are needed to reach the optimum.
_NATURAL_STEPS = 20


def make_likelihood(name: str) -> AbstractLikelihood:
    """Return a likelihood with fixed parameters."""
    if name == "negative-binomial":
        return NegativeBinomial(torch.tensor(_DISPERSION))
    if name == "student-t":
        return StudentT(_SCALE, _DEGREES)
    return Gaussian(_NOISE) if name == "gaussian" else LIKELIHOODS[name]()


def scipy_log_density(name: str, y: Float[np.ndarray, "N M"], f: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
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


def density_errors(name: str, seed: int, n_rows: int) -> dict[str, float]:
    """Compare log density and expected log density with SciPy and with a sum over a fine grid."""
    generator = torch.Generator().manual_seed(seed)
    mean = 2 * torch.randn((n_rows, _COLUMNS), generator=generator, dtype=torch.float64)
    variance = 1.5 * torch.rand((n_rows, _COLUMNS), generator=generator, dtype=torch.float64)
    likelihood = make_likelihood(name)
    Y = likelihood.sample(mean + variance.sqrt(), generator).detach()
    m, v, y = mean.numpy(), variance.numpy(), Y.numpy()
    z = np.linspace(-_REACH, _REACH, _POINTS)
    weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    expected = np.zeros_like(m)
    for point, weight in zip(z, weights, strict=True):
        expected += weight * scipy_log_density(name, y, m + np.sqrt(v) * point)
    return _largest_errors(
        likelihood.log_density(Y, mean), scipy_log_density(name, y, m),
        likelihood.expected_log_density(Y, mean, variance), expected,
    )  # fmt: skip


def class_errors(seed: int, n_rows: int) -> dict[str, float]:
    """Do the same for three classes, with a Gauss-Hermite rule in three dimensions."""
    rng = np.random.default_rng(seed)
    m, v = 2 * rng.normal(size=(n_rows, _CLASSES)), 1.5 * rng.random((n_rows, _CLASSES))
    codes = rng.integers(_CLASSES, size=n_rows)
    points, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
    grid = np.array(list(product(points, repeat=_CLASSES)))
    weight = np.prod(list(product(weights / weights.sum(), repeat=_CLASSES)), axis=1)
    exact = [m[n, c] - np.logaddexp.reduce(m[n]) for n, c in enumerate(codes)]
    expected = [
        m[n, c] - weight @ np.logaddexp.reduce(m[n] + np.sqrt(v[n]) * grid, axis=1) for n, c in enumerate(codes)
    ]
    mean, variance, Y = torch.as_tensor(m), torch.as_tensor(v), torch.as_tensor(np.eye(_CLASSES)[codes])
    likelihood = make_likelihood(_CATEGORICAL)
    return _largest_errors(
        likelihood.log_density(Y, mean).sum(dim=1), np.array(exact),
        likelihood.expected_log_density(Y, mean, variance).sum(dim=1), np.array(expected),
    )  # fmt: skip


def _largest_errors(density: Tensor, exact: np.ndarray, expectation: Tensor, expected: np.ndarray) -> dict[str, float]:
    errors = np.abs(expectation.detach().numpy() - expected)
    return {
        "density": float(np.abs(density.detach().numpy() - exact).max()),
        "expected": float(errors.max()),
        "expected, relative": float((errors / np.maximum(1, np.abs(expected))).max()),
    }


def bound_difference(seed: int) -> dict[str, float]:
    """Compare the bound with an explicit posterior of the weights, at its optimum, with the collapsed evidence."""
    generator = torch.Generator().manual_seed(seed)
    Phi, Y = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((60, 12), (60, 7)))
    likelihood = Gaussian(_NOISE)
    with torch.no_grad():
        weights = column_weights(torch.zeros(12, 7).double(), torch.zeros(12, 12).double(), torch.ones(7).double())
        bound, gradients = weight_space_evidence(Y, Phi, weights, likelihood)
        for _ in range(_NATURAL_STEPS):
            weights = natural_gradient_step(weights, Phi, gradients, rate=1.0)
            bound, gradients = weight_space_evidence(Y, Phi, weights, likelihood)
        exact = log_evidence(Y, Phi, likelihood.noise_variance)
    return {"bound minus evidence": float(bound - exact)}


def measure_accuracy(cell: Cell) -> Measurement:
    """Measure the largest errors of a likelihood, or of the bound."""
    n_rows = _QUICK_ROWS if cell.is_quick else _ROWS
    if cell.method == _WEIGHTS:
        return Measurement(bound_difference(cell.seed))
    if cell.method == _CATEGORICAL:
        return Measurement(class_errors(cell.seed, n_rows))
    return Measurement(density_errors(cell.method, cell.seed, n_rows))


_WHAT = f"""
Log densities, their expectations and the evidence lower bound compared with independent references, for random means,
variances and entries in double precision. Every value is the largest absolute difference over the entries of one seed.
All of them must be below {_LARGEST_ERROR:g}. Tables show mean ± standard deviation over seeds.
"""


def _error(metric: str, column: str) -> Measure:
    return Measure(metric, column, scale=1.0, digits=1, higher_is_better=False, notation="e")


DENSITIES = QualitySection(
    data="densities",
    title="Densities and expectations",
    task="""
Log densities are compared with SciPy, and expected log densities over a normal f with a sum over 4,001 points (classes:
80 x 80 x 80 Gauss-Hermite points). Errors of expectations are also given relative to values above 1.""",
    methods=[*(name for name in LIKELIHOODS if name != _CATEGORICAL), _CATEGORICAL],
    columns=[_error("density", "log density"), _error("expected", "expected log density"),
             _error("expected, relative", "expected log density, relative")],
    reading="""
**How to read it.** The remaining differences are rounding errors, and the errors of the quadrature and mixtures that
make the expectations fast. The error for negative binomial counts is (y + r) times that of a softplus.""",
    shows_time=False,
)  # fmt: skip

BOUND = QualitySection(
    data="bound",
    title="Bound and evidence",
    task="""
For a Gaussian view, the bound with an explicit posterior of the weights is compared, at its optimum, with the collapsed
evidence, in which the weights are integrated out.""",
    methods=[_WEIGHTS],
    columns=[_error("bound minus evidence", "bound minus evidence")],
    reading="""
**How to read it.** Both are computed by different code, and are equal in exact arithmetic.""",
    shows_time=False,
)

CLAIMS = (
    largest_within(DENSITIES, "log densities within 1e-6 of SciPy", DENSITIES.methods, "density",
                   highest=_LARGEST_ERROR),
    largest_within(DENSITIES, "expected log densities within 1e-6 of quadrature", DENSITIES.methods, "expected",
                   highest=_LARGEST_ERROR),
    largest_within(DENSITIES, "expected log densities within 1e-6 of quadrature, relative to values above 1",
                   DENSITIES.methods, "expected, relative", highest=_LARGEST_ERROR),
    largest_within(BOUND, "bound with explicit weights within 1e-6 of the evidence", BOUND.methods,
                   "bound minus evidence", highest=_LARGEST_ERROR),
)  # fmt: skip


def accuracy_page(results: Results) -> list[PagePart]:
    """Return the sections of the page."""
    return [part for section in (DENSITIES, BOUND) for part in section_parts(section, results)]


NUMERICAL_ACCURACY = Study(
    name="numerical-accuracy",
    title="Numerical accuracy of densities, expectations and bounds",
    what=_WHAT,
    group="quality",
    cells=task_cells("numerical-accuracy", {section.data: section.methods for section in (DENSITIES, BOUND)}, {}),
    measure=measure_accuracy,
    page=accuracy_page,
    claims=CLAIMS,
    marks=False,
)
