"""Moments, samples, offsets and initial parameters."""

import numpy as np
import pytest
import torch
from scipy import stats

from mvlvm.likelihoods import Bernoulli, Categorical, Gaussian, NegativeBinomial, Poisson, StudentT
from tests.likelihoods.cases import DEGREES, DISPERSION, ENTRYWISE, NOISE_VARIANCE, SCALE, M, N, plain
from tests.likelihoods.quadrature import normal_points

NAMES = sorted(ENTRYWISE)


def moments_given_f(name, f, m):
    """Return mean and variance of y given f, from SciPy's distributions."""
    if name == "gaussian":
        return stats.norm.stats(f, NOISE_VARIANCE**0.5)
    if name == "student-t":
        return stats.t.stats(DEGREES, f, SCALE)
    if name == "bernoulli":
        return stats.bernoulli.stats(0.5 * (1 + np.tanh(0.5 * f)))
    if name == "poisson":
        return stats.poisson.stats(np.exp(f))
    r = DISPERSION[m]
    return stats.nbinom.stats(r, r / (r + np.exp(f)))


@pytest.mark.parametrize("include_noise", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_moments_match_the_integrals(name, include_noise, generator):
    case = ENTRYWISE[name]
    mean, variance = case.mean_and_variance(generator)
    variance[0] = 0.0
    expected = np.empty((2, N, M))
    for n, m in np.ndindex(N, M):
        f, weights = normal_points(mean[n, m].item(), variance[n, m].item(), n=4001)
        first, second = moments_given_f(name, f, m)
        centre = (first * weights).sum()
        spread = ((first - centre) ** 2 * weights).sum()
        expected[:, n, m] = centre, spread + include_noise * (second * weights).sum()
    response = case.make().respond(mean, variance, include_noise=include_noise)
    # the moments of sigma are accurate to 2e-6
    np.testing.assert_allclose(plain(response.mean), expected[0], rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(plain(response.variance), expected[1], rtol=1e-8, atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_samples_have_the_moments_of_the_response(name, generator):
    case, likelihood, draws = ENTRYWISE[name], ENTRYWISE[name].make(), 40_000
    f = case.mean_and_variance(generator)[0][:1].clamp(max=2.0)
    Y = plain(likelihood.sample(f.expand(draws, M), generator))
    centre, variance = (plain(part)[0] for part in likelihood.respond(f, torch.zeros_like(f)))
    assert (np.abs(Y.mean(axis=0) - centre) < 4 * np.sqrt(variance / draws)).all()
    # a t variable with 3.5 degrees of freedom has no fourth moment: count the samples within a standard deviation
    within = np.abs(Y - centre) < np.sqrt(variance)
    p = probability_within(name, plain(f)[0], centre, np.sqrt(variance))
    assert (np.abs(within.mean(axis=0) - p) < 4 * np.sqrt(p * (1 - p) / draws) + 1e-12).all()


def probability_within(name, f, centre, std):
    """Return the probability of |y - centre| < std given f."""
    mu = np.exp(f)
    distribution = {
        "gaussian": stats.norm(f, NOISE_VARIANCE**0.5),
        "student-t": stats.t(DEGREES, f, SCALE),
        "bernoulli": stats.bernoulli(1 / (1 + np.exp(-f))),
        "poisson": stats.poisson(mu),
        "negative-binomial": stats.nbinom(DISPERSION, DISPERSION / (DISPERSION + mu)),
    }[name]
    return distribution.cdf(np.nextafter(centre + std, -np.inf)) - distribution.cdf(centre - std)


def test_class_probabilities_match_monte_carlo(generator):
    draws = 40_000
    mean = torch.tensor([[0.0, 1.0, -1.0, 0.5]], dtype=torch.float64)
    variance = torch.tensor([[0.2, 1.0, 2.0, 0.0]], dtype=torch.float64)
    f = mean + variance.sqrt() * torch.randn(draws, 4, generator=generator, dtype=torch.float64)
    Y = Categorical().sample(f, generator)
    assert (Y.sum(dim=1) == 1).all()
    assert set(Y.unique().tolist()) == {0.0, 1.0}
    p, spread = Categorical().respond(mean, variance)
    torch.testing.assert_close(p.sum(), torch.tensor(1.0, dtype=torch.float64))
    torch.testing.assert_close(spread, p * (1 - p))
    assert ((Y.mean(dim=0) - p[0]).abs() < 4 * (spread[0] / draws).sqrt()).all()
    softmax = f.softmax(dim=1)
    without = Categorical().respond(mean, variance, include_noise=False)
    squares = (softmax - p).square()
    assert ((without.variance[0] - squares.mean(dim=0)).abs() < 4 * squares.std(dim=0) / draws**0.5).all()
    torch.testing.assert_close(without.mean, p)


def some_counts():
    """Return columns with overdispersed, Poisson-like, constant and only missing entries."""
    Y = torch.tensor([[0, 1, 0, 0], [10, 2, 0, 0], [0, 3, 0, 0], [2, 0, 0, 0]], dtype=torch.float64)
    Y[:, 3] = torch.nan
    Y[3, 1] = torch.nan
    return Y


@pytest.mark.parametrize("likelihood", [Poisson(), NegativeBinomial(torch.ones(4, dtype=torch.float64))])
def test_offset_of_counts_is_the_log_of_the_mean(likelihood):
    offset = likelihood.offset(some_counts())
    np.testing.assert_allclose(offset.exp().numpy(), [3.0, 2.0, 0.5 / 4, 0.5], rtol=1e-12)


def test_offset_of_binary_entries_is_the_logit_of_the_frequency():
    Y = torch.tensor([[1, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 1]], dtype=torch.float64)
    Y[3, 0], Y[:, 3] = torch.nan, torch.nan
    probability = torch.sigmoid(Bernoulli().offset(Y))
    np.testing.assert_allclose(probability.numpy(), [1 / 3, 1 - 0.5 / 4, 0.5 / 4, 0.5], rtol=1e-12)


def test_offset_of_classes_reproduces_their_frequencies():
    Y = torch.zeros(10, 3, dtype=torch.float64)
    Y[:6, 0], Y[6:9, 1], Y[9, 2] = 1.0, 1.0, 1.0
    Y[0, 2] = torch.nan  # the whole row is missing
    offset = Categorical().offset(Y)
    np.testing.assert_allclose(offset.softmax(dim=0).numpy(), [5 / 9, 3 / 9, 1 / 9], rtol=1e-12)
    assert abs(offset.mean().item()) < 1e-12
    assert Categorical().offset(torch.full((3, 2), torch.nan)).tolist() == [0.0, 0.0]


def test_offset_of_real_entries_is_the_mean_or_median():
    Y = torch.tensor([[1.0, 0.0], [2.0, 0.0], [99.0, 0.0], [torch.nan, 0.0]], dtype=torch.float64)
    Y[:, 1] = torch.nan
    assert Gaussian(1.0).offset(Y).tolist() == [34.0, 0.0]
    assert StudentT(1.0).offset(Y).tolist() == [2.0, 0.0]


def test_initial_dispersion_is_the_moment_estimate_within_limits():
    counts = np.random.default_rng(0).negative_binomial(2.0, 2.0 / (2.0 + 5.0), size=(400, 1))
    Y = torch.tensor(counts, dtype=torch.float64).repeat(1, 2)
    Y[::2, 1] = torch.nan
    mean, variance = np.nanmean(Y.numpy(), axis=0), np.nanvar(Y.numpy(), axis=0, ddof=1)
    start = NegativeBinomial.start(Y).describe()["dispersion"]
    np.testing.assert_allclose(start.numpy(), mean**2 / (variance - mean), rtol=1e-9)
    limits = torch.tensor([[5, 0, 0], [5, 0, 0], [5, 0, 0], [5, 1000, 0]], dtype=torch.float64)
    limits = torch.cat([limits, torch.full((4, 1), torch.nan)], dim=1)
    limits = torch.cat([limits, torch.zeros(60, 4)])
    limits[4:, 0] = 5.0
    dispersion = NegativeBinomial.start(limits).describe()["dispersion"]
    np.testing.assert_allclose(dispersion.numpy(), [100.0, 0.1, 100.0, 100.0], rtol=1e-9)


def test_initial_noise_is_a_tenth_of_the_variances_power_of_two_and_robust_to_outliers_for_student_t(generator):
    Y = 3 * torch.randn(4001, 3, generator=generator, dtype=torch.float64)
    Y[0, 0] = torch.nan
    variance = np.nanvar(Y.numpy(), axis=0).mean()
    assert 6 < variance < 11
    assert Gaussian.start(Y).describe()["noise_variance"].item() == pytest.approx(0.1 * 8, rel=1e-9)
    Y[1] = 1e6
    start = StudentT.start(Y).describe()
    # the relative error of the median absolute deviation of n normal entries is about 1.2 / sqrt(n), twice that squared
    assert start["scale"].item() ** 2 == pytest.approx(0.9, rel=4 * 2.4 / (3 * 4000) ** 0.5)
    assert start["degrees_of_freedom"].item() == pytest.approx(4.0)


@pytest.mark.parametrize("likelihood", [Gaussian, StudentT])
def test_initial_noise_is_positive_for_constant_columns(likelihood):
    Y = torch.ones(5, 2, dtype=torch.float64)
    (first, *_) = likelihood.start(Y).describe().values()
    assert first.item() == pytest.approx(0.1 if likelihood is Gaussian else 0.1**0.5)


@pytest.mark.parametrize("name", NAMES)
def test_initial_parameters_have_the_dtype_of_the_data(name):
    case = ENTRYWISE[name]
    for dtype in (torch.float32, torch.float64):
        start = type(case.make()).start(case.Y.to(dtype))
        assert all(parameter.dtype == dtype for parameter in start.parameters())
        assert set(start.describe()) == set(case.make().describe())


def test_describe_returns_the_constrained_parameters():
    assert Bernoulli().describe() == Poisson().describe() == Categorical().describe() == {}
    assert Gaussian(0.4).describe()["noise_variance"].item() == pytest.approx(0.4, rel=1e-12)
    described = {name: value.item() for name, value in StudentT(0.7, 3.5).describe().items()}
    assert described == pytest.approx({"scale": 0.7, "degrees_of_freedom": 3.5}, rel=1e-12)
    dispersion = NegativeBinomial(torch.tensor(DISPERSION)).describe()["dispersion"]
    np.testing.assert_allclose(dispersion.numpy(), DISPERSION, rtol=1e-12)
