import numpy as np
import pytest
import torch

from mvlvm.spectral import random_features, stationary_sample, two_step_sample
from tests import oracles
from tests.mixtures import as_arrays, normal, random_mixture, random_stationary_mixture
from tests.monte_carlo import assert_mean


@pytest.mark.parametrize("D", [1, 2, 3])
def test_log_prob_matches_a_mixture_of_normals_with_explicit_covariances(D, generator):
    density = random_mixture(3, D, generator)
    w1, w2 = 2 * normal((10, D), generator), 2 * normal((10, D), generator)
    arrays = as_arrays(density)
    expected = [oracles.mixture_log_density(arrays, a, b) for a, b in zip(w1.numpy(), w2.numpy(), strict=True)]
    np.testing.assert_allclose(density.log_prob(w1, w2).numpy(), expected, rtol=1e-10)


def test_density_integrates_to_the_sum_of_weights(generator):
    density = random_mixture(2, 1, generator, rho=0.7)
    step = 0.05  # at this step the trapezoidal rule is exact to rounding for normal densities of this width
    axis = torch.arange(-14, 14, step, dtype=torch.float64)
    w1, w2 = (w.reshape(-1, 1) for w in torch.meshgrid(axis, axis, indexing="ij"))
    integral = density.log_prob(w1, w2).exp().sum() * step**2
    assert integral.item() == pytest.approx(density.alpha.sum().item(), rel=1e-10)


def test_density_is_symmetric_under_a_change_of_sign(generator):
    density = random_mixture(2, 3, generator)
    w1, w2 = normal((10, 3), generator), normal((10, 3), generator)
    torch.testing.assert_close(density.log_prob(w1, w2), density.log_prob(-w1, -w2), rtol=1e-13, atol=1e-13)


def test_density_is_not_symmetric_under_exchange_of_the_points(generator):
    density = random_mixture(2, 3, generator)
    w1, w2 = normal((10, 3), generator), normal((10, 3), generator)
    assert (density.log_prob(w1, w2) - density.log_prob(w2, w1)).abs().min() > 0.1


def test_tied_points_match_those_of_the_equivalent_bivariate_mixture(generator):
    density = random_stationary_mixture(2, 3, generator)
    eps, unused = normal((2, 7, 3), generator), normal((2, 7, 3), generator)
    tied, bivariate = stationary_sample(density, eps), two_step_sample(density.as_bivariate(), eps, unused)
    assert torch.equal(tied.w1, tied.w2)
    torch.testing.assert_close(bivariate, tied, rtol=1e-13, atol=1e-13)


def test_tied_features_match_those_of_the_equivalent_bivariate_mixture(generator):
    density = random_stationary_mixture(2, 3, generator)
    X, eps, unused = normal((6, 3), generator), normal((2, 7, 3), generator), normal((2, 7, 3), generator)
    tied = random_features(X, stationary_sample(density, eps), density.alpha)
    bivariate = random_features(X, two_step_sample(density.as_bivariate(), eps, unused), density.alpha)
    torch.testing.assert_close(tied, bivariate, rtol=1e-12, atol=1e-12)


def test_points_have_the_moments_of_the_density(generator):
    density = random_stationary_mixture(2, 2, generator)
    points = stationary_sample(density, normal((2, 20_000, 2), generator)).w1
    for drawn, mu, sigma in zip(points, density.mu, density.sigma, strict=True):
        assert_mean(drawn, mu)
        assert_mean((drawn - mu).square(), sigma**2)
