import pytest
import torch

from mvlvm.spectral import SpectralPoints, random_features, two_step_sample
from tests.mixtures import random_mixture
from tests.paper.feature_rate import assert_monte_carlo_rate

CORRELATIONS = (-0.9, 0.0, 0.9)
DIMENSIONS = (1, 2, 5)


@pytest.fixture(
    params=[(rho, D) for rho in CORRELATIONS for D in DIMENSIONS], ids=lambda case: f"rho={case[0]},D={case[1]}"
)
def density(request, generator):
    rho, D = request.param
    return random_mixture(2, D, generator, rho=rho)


def test_feature_gram_converges_to_kernel_at_monte_carlo_rate(density, generator):
    assert_monte_carlo_rate(density, two_step_sample, random_features, generator)


def test_rate_detects_the_sine_of_w1_in_place_of_w2(density, generator):
    with pytest.raises(AssertionError, match="slope"):
        assert_monte_carlo_rate(density, two_step_sample, features_with_sine_of_w1_twice, generator)


def test_rate_detects_sigma1_in_place_of_sigma2_in_step_two(density, generator):
    with pytest.raises(AssertionError, match="slope"):
        assert_monte_carlo_rate(density, sample_with_sigma1_twice, random_features, generator)


def features_with_sine_of_w1_twice(X, points, alpha):
    w1, w2 = (w.flatten(0, 1) for w in points)
    n_points = points.w1.shape[1]
    amplitude = 0.5 * (alpha / n_points).sqrt().repeat_interleave(n_points)
    cosines = torch.cos(X @ w1.T) + torch.cos(X @ w2.T)
    sines = torch.sin(X @ w1.T) + torch.sin(X @ w1.T)
    return torch.cat([amplitude * cosines, amplitude * sines], dim=1)


def sample_with_sigma1_twice(density, eps1, eps2):
    rho, sigma1, sigma2 = density.rho[:, None, None], density.sigma1[:, None], density.sigma2[:, None]
    w1 = density.mu1[:, None] + sigma1 * eps1
    w2 = density.mu2[:, None] + rho * sigma2 * eps1 + (1 - rho**2).sqrt() * sigma1 * eps2
    return SpectralPoints(w1, w2)
