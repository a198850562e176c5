import numpy as np
import pytest
import torch
from scipy.special import gammaln
from torch.autograd import gradcheck

from mvlvm.likelihoods import LIKELIHOODS, Categorical, NegativeBinomial
from tests.likelihoods.cases import CLASSES, DISPERSION, ENTRYWISE, A, Case, M, N, plain, softmax_log_density
from tests.likelihoods.quadrature import log_normal_integral, normal_points

NAMES = sorted(ENTRYWISE)
ALL = {**ENTRYWISE, "categorical": Case(Categorical, CLASSES, softmax_log_density)}
FUNCTIONS = ["expected_log_density", "log_predictive_density"]
# Errors of the mixture for softplus, and of the trapezoidal rules for Student t.
SOFTPLUS = {"value": 2e-10, "mean": 1.3e-9, "variance": 3.9e-9}
TRAPEZOID = {"value": 6e-8, "mean": 2e-7, "variance": 1e-6}


def each_entry(case, mean, variance, integrate):
    """Apply an integral to the log density of each entry."""
    result = np.empty((N, M))
    for n, m in np.ndindex(N, M):
        y = case.Y[n, m].item()
        result[n, m] = integrate(lambda f: case.log_density(y, f, m), mean[n, m].item(), variance[n, m].item())  # noqa: B023
    return result


def expectation(log_density, mean, variance):
    f, weights = normal_points(mean, variance)
    return (log_density(f) * weights).sum()


def tolerance(name, derivative="value"):
    """Return the error of E softplus or its gradient, which is multiplied by y + r for negative binomial entries."""
    factor = plain(ENTRYWISE[name].Y) + DISPERSION if name == "negative-binomial" else 1.0
    return (TRAPEZOID if name == "student-t" else SOFTPLUS)[derivative] * factor


def with_missing_entries(Y):
    """Return the data with a few missing entries, including a whole row and a whole column."""
    Y = Y.clone()
    Y[0, 1], Y[2, :3], Y[4], Y[:, 3] = torch.nan, torch.nan, torch.nan, torch.nan
    return Y


def test_every_likelihood_is_registered_and_tested_here():
    assert set(LIKELIHOODS) == set(ALL)
    assert all(isinstance(ALL[name].make(), likelihood) for name, likelihood in LIKELIHOODS.items())


@pytest.mark.parametrize("name", NAMES)
def test_log_density_matches_scipy(name, generator):
    case = ENTRYWISE[name]
    f, _ = case.mean_and_variance(generator)
    expected = [[case.log_density(case.Y[n, m].item(), f[n, m].item(), m) for m in range(M)] for n in range(N)]
    # SciPy's densities of large counts lose some digits in differences of log gamma
    np.testing.assert_allclose(plain(case.make().log_density(case.Y, f)), expected, rtol=1e-10, atol=1e-9)


def test_log_density_of_a_row_is_in_the_column_of_its_class(generator):
    f, _ = ALL["categorical"].mean_and_variance(generator)
    expected = softmax_log_density(CLASSES.numpy(), f.numpy())
    np.testing.assert_allclose(plain(Categorical().log_density(CLASSES, f)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_expected_log_density_matches_the_integral(name, generator):
    case = ENTRYWISE[name]
    mean, variance = case.mean_and_variance(generator)
    variance[0, :2], variance[1, :2] = 0.0, 4.0
    expected = each_entry(case, mean, variance, expectation)
    error = np.abs(plain(case.make().expected_log_density(case.Y, mean, variance)) - expected)
    assert (error <= 1e-9 + tolerance(name)).all()


@pytest.mark.parametrize("r", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("y", [0, 5, 200, 1000])
def test_expected_log_density_of_large_counts_is_accurate_to_1e_6(y, r):
    """Near log r, where softplus is most curved and its error is largest, and far from it."""
    mean, variance = np.meshgrid(np.log(r) + np.linspace(-20, 20, 81), [0.0, 0.01, 0.3, 4.0])
    f, weights = normal_points(mean[..., None], variance[..., None], n=2001)
    x = f - np.log(r)  # SciPy's density takes p, and loses 1 - p where x is far below zero
    log_density = gammaln(y + r) - gammaln(r) - gammaln(y + 1) + y * x - (y + r) * np.logaddexp(0, x)
    expected = (log_density * weights).sum(axis=-1)
    likelihood = NegativeBinomial(torch.full((mean.shape[1],), r, dtype=torch.float64))
    Y = torch.full(mean.shape, float(y), dtype=torch.float64)
    found = likelihood.expected_log_density(Y, torch.tensor(mean), torch.tensor(variance))
    assert np.abs(plain(found) - expected).max() < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_log_predictive_density_matches_the_integral(name, generator):
    case = ENTRYWISE[name]
    mean, variance = case.mean_and_variance(generator)
    variance[0, :2], variance[:, 2], variance[1, :2] = 1e-4, 1e-4, 4.0
    expected = each_entry(case, mean, variance, log_normal_integral)
    predicted = plain(case.make().log_predictive_density(case.Y, mean, variance))
    np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_densities_without_variance_are_those_of_known_f(function, name, generator):
    case, likelihood = ENTRYWISE[name], ENTRYWISE[name].make()
    mean, _ = case.mean_and_variance(generator)
    mean.requires_grad_()
    variance = torch.zeros(N, M, dtype=torch.float64, requires_grad=True)
    density, exact = getattr(likelihood, function)(case.Y, mean, variance), likelihood.log_density(case.Y, mean)
    grad_mean, grad_variance = torch.autograd.grad(density.sum(), (mean, variance))
    (first,) = torch.autograd.grad(exact.sum(), mean, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), mean)
    # the derivative with respect to v at v = 0 is l'' / 2 for E l, and (l'' + l'^2) / 2 for log E exp(l)
    curvature = second / 2 if function == "expected_log_density" else (second + first.square()) / 2
    results = {"value": (density, exact), "mean": (grad_mean, first), "variance": (grad_variance, curvature)}
    for derivative, (found, expected) in results.items():
        error = np.abs(plain(found - expected))
        assert (error <= tolerance(name, derivative) + 1e-8 * np.abs(plain(expected))).all()


def test_categorical_densities_without_variance_are_those_of_known_logits(generator):
    f, _ = ALL["categorical"].mean_and_variance(generator)
    expected = Categorical().log_density(CLASSES, f)
    zero = torch.zeros_like(f)
    torch.testing.assert_close(Categorical().expected_log_density(CLASSES, f, zero), expected, rtol=0.0, atol=1e-7)
    predictive = Categorical().log_predictive_density(CLASSES, f, zero)
    torch.testing.assert_close(predictive.exp(), expected.exp(), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("name", sorted(ALL))
def test_gradient_of_expected_log_density_matches_finite_differences(name, generator):
    case, likelihood = ALL[name], ALL[name].make()
    mean, variance = case.mean_and_variance(generator)
    Y = case.Y.clamp(max=50)
    parameters = [parameter.detach().clone().requires_grad_() for parameter in likelihood.parameters()]
    names = [name for name, _ in likelihood.named_parameters()]

    def value(mean, variance, *values):
        arguments = (Y, mean, variance)
        wanted = dict(zip(names, values, strict=True))
        return torch.func.functional_call(Expected(likelihood), {f"of.{n}": v for n, v in wanted.items()}, arguments)

    assert gradcheck(value, (mean.requires_grad_(), (variance + 0.1).requires_grad_(), *parameters), atol=1e-5)


class Expected(torch.nn.Module):
    def __init__(self, likelihood):
        super().__init__()
        self.of = likelihood

    def forward(self, Y, mean, variance):
        return self.of.expected_log_density(Y, mean, variance)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_log_predictive_density_matches_finite_differences(name, generator):
    case, likelihood = ENTRYWISE[name], ENTRYWISE[name].make()
    mean, variance = case.mean_and_variance(generator)
    Y = case.Y[2:4].clamp(max=50)
    assert gradcheck(
        lambda mean, variance: likelihood.log_predictive_density(Y, mean, variance),
        (mean[2:4].requires_grad_(), (variance[2:4] + 0.1).requires_grad_()),
        atol=1e-5,
    )


@pytest.mark.parametrize("name", sorted(ALL))
def test_pairwise_density_evaluates_all_rows_under_all_predictions(name, generator):
    case, likelihood = ALL[name], ALL[name].make()
    mean, variance = case.mean_and_variance(generator, A)
    Y = with_missing_entries(case.Y) if name != "categorical" else rows_without_label()
    pairs = likelihood.pairwise_expected_log_density(Y, mean, variance)
    for a in range(A):
        each = likelihood.expected_log_density(Y, mean[[a] * N], variance[[a] * N]).sum(dim=1)
        torch.testing.assert_close(pairs[:, a], each, rtol=1e-10, atol=1e-8)
    assert pairs[4].tolist() == [0.0] * A


def test_pairwise_density_does_not_depend_on_the_chunk_size(generator, monkeypatch):
    case, likelihood = ENTRYWISE["student-t"], ENTRYWISE["student-t"].make()
    mean, variance = case.mean_and_variance(generator, A)
    whole = likelihood.pairwise_expected_log_density(case.Y, mean, variance)
    monkeypatch.setattr("mvlvm.likelihoods.student_t._CHUNK_SIZE", 2 * A * M)
    # the quadrature nodes depend on the entries
    torch.testing.assert_close(
        likelihood.pairwise_expected_log_density(case.Y, mean, variance), whole, rtol=0.0, atol=1e-7
    )


def rows_without_label():
    """Return classes with one missing row, and one partially missing row, which is treated as missing."""
    Y = CLASSES.clone()
    Y[4], Y[1, 3] = torch.nan, torch.nan
    return Y


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", ["log_density", *FUNCTIONS])
def test_missing_entries_contribute_neither_density_nor_gradient(function, name, generator):
    case, likelihood = ENTRYWISE[name], ENTRYWISE[name].make()
    mean, variance = case.mean_and_variance(generator)
    values = [mean.requires_grad_(), variance.requires_grad_()][: 1 if function == "log_density" else 2]
    Y = with_missing_entries(case.Y)
    missing = Y.isnan()
    whole = getattr(likelihood, function)(case.Y, *values)
    density = getattr(likelihood, function)(Y, *values)
    assert (density[missing] == 0).all()
    torch.testing.assert_close(density[~missing], whole[~missing], rtol=1e-9, atol=1e-7)
    learned = [] if function == "log_predictive_density" else likelihood.parameters()
    gradients = torch.autograd.grad(density.sum(), [*values, *learned])
    assert all((gradient[missing] == 0).all() for gradient in gradients[: len(values)])
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_partially_missing_one_hot_row_is_missing(function, generator):
    mean, variance = ALL["categorical"].mean_and_variance(generator)
    mean.requires_grad_()
    whole = getattr(Categorical(), function)(CLASSES, mean, variance)
    density = getattr(Categorical(), function)(rows_without_label(), mean, variance)
    assert (density[[1, 4]] == 0).all()
    torch.testing.assert_close(density[[0, 2, 3, 5]], whole[[0, 2, 3, 5]], rtol=0.0, atol=0.0)
    if function == "expected_log_density":
        (gradient,) = torch.autograd.grad(density.sum(), mean)
        assert (gradient[[1, 4]] == 0).all()
        assert (gradient[[0, 2, 3, 5]] != 0).all()


@pytest.mark.parametrize("name", sorted(ALL))
def test_float32_entries_are_converted_to_the_dtype_of_the_prediction(name, generator):
    case, likelihood = ALL[name], ALL[name].make()
    mean, variance = case.mean_and_variance(generator)
    density = likelihood.expected_log_density(case.Y.float(), mean, variance)
    assert density.dtype == torch.float64
    wide = likelihood.expected_log_density(case.Y.float().double(), mean, variance)
    torch.testing.assert_close(density, wide, rtol=0.0, atol=0.0)


def test_an_unknown_class_is_not_counted_as_an_entry():
    Y = torch.tensor([[1.0, 0.0], [0.0, 0.0], [torch.nan, torch.nan]], dtype=torch.float64)
    f = torch.zeros_like(Y)
    assert Categorical().count_entries(Y) == 1
    np.testing.assert_allclose(plain(Categorical().log_density(Y, f).sum(dim=1)), [-np.log(2), 0.0, 0.0])
