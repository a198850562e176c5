from dataclasses import replace

import pytest
import torch

from mvlvm.spectral import SpectralPoints, two_step_sample
from tests.mixtures import as_arrays, draw_points, normal, random_mixture
from tests.monte_carlo import STANDARD_ERRORS, assert_mean
from tests.oracles import component_mean_and_covariance

N_POINTS = 50_000
CORRELATIONS = [-0.9, 0.0, 0.9]


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_points_have_the_means_of_the_density(rho, generator):
    density = random_mixture(2, 2, generator, rho=rho)
    for q, points in enumerate(stacked(draw_points(density, N_POINTS, generator))):
        mean, _ = component_mean_and_covariance(as_arrays(density), q)
        assert_mean(points, torch.as_tensor(mean))


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_points_have_the_covariance_of_the_density(rho, generator):
    density = random_mixture(2, 2, generator, rho=rho)
    assert_covariance(density, draw_points(density, N_POINTS, generator))


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_points_have_the_correlation_of_the_density(rho, generator):
    density = random_mixture(2, 2, generator, rho=rho)
    points = draw_points(density, N_POINTS, generator)
    for q in range(2):
        for d in range(2):
            measured = torch.corrcoef(torch.stack([points.w1[q, :, d], points.w2[q, :, d]]))[0, 1]
            error = (1 - density.rho[q] ** 2) / N_POINTS**0.5
            assert abs(measured - density.rho[q]) < STANDARD_ERRORS * error


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_moments_detect_sigma1_in_place_of_sigma2_in_step_two(rho, generator):
    density = random_mixture(2, 2, generator, rho=rho)
    w1, w2 = draw_points(density, N_POINTS, generator)
    residual = (
        w2
        - density.mu2[:, None]
        - density.rho[:, None, None] * (density.sigma2 / density.sigma1)[:, None] * (w1 - density.mu1[:, None])
    )
    wrong = w2 + ((density.sigma1 / density.sigma2)[:, None] - 1) * residual
    with pytest.raises(AssertionError, match="standard errors"):
        assert_covariance(density, SpectralPoints(w1, wrong))


def test_second_point_matches_the_printed_step_two(generator):
    density = random_mixture(3, 2, generator)
    eps1, eps2 = normal((3, 5, 2), generator), normal((3, 5, 2), generator)
    points = two_step_sample(density, eps1, eps2)
    for q in range(3):
        mu1, mu2, sigma1, sigma2, rho = (
            getattr(density, name)[q] for name in ("mu1", "mu2", "sigma1", "sigma2", "rho")
        )
        w1 = mu1 + sigma1 * eps1[q]
        w2 = mu2 + rho * (sigma2 / sigma1) * (w1 - mu1) + (1 - rho**2).sqrt() * sigma2 * eps2[q]
        torch.testing.assert_close(points.w1[q], w1, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(points.w2[q], w2, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("parameter", ["mu1", "mu2", "sigma1", "sigma2", "rho"])
def test_points_are_differentiable_with_respect_to_every_parameter(parameter, generator):
    density = random_mixture(2, 2, generator)
    eps1, eps2 = normal((2, 3, 2), generator), normal((2, 3, 2), generator)

    def sample(value):
        return torch.cat(two_step_sample(replace(density, **{parameter: value}), eps1, eps2))

    value = getattr(density, parameter).clone().requires_grad_()
    assert torch.autograd.gradcheck(sample, (value,))
    assert torch.autograd.grad(sample(value).square().sum(), value)[0].abs().min() > 0


def assert_covariance(density, points):
    for q, drawn in enumerate(stacked(points)):
        mean, covariance = component_mean_and_covariance(as_arrays(density), q)
        centred = drawn - torch.as_tensor(mean)
        assert_mean(centred[:, :, None] * centred[:, None, :], torch.as_tensor(covariance))


def stacked(points):
    """Return (w1, w2) as vectors of length 2 D, for each mixture component."""
    return torch.cat([points.w1, points.w2], dim=2)
