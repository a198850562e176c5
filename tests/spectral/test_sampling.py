import torch

from mvlvm.spectral import random_features, stationary_sample, two_step_sample
from tests.mixtures import normal, random_stationary_mixture
from tests.monte_carlo import assert_mean


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
