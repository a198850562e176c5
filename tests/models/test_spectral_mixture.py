import math

import pytest
import torch

from mvlvm.kernels import ngsm_kernel, sm_kernel
from mvlvm.models.spectral_mixture import MIXTURES, SpectralMixture, TiedSpectralMixture, kernel_name
from tests.mixtures import normal
from tests.monte_carlo import assert_mean

CASES = [(SpectralMixture, ngsm_kernel), (TiedSpectralMixture, sm_kernel)]


@pytest.mark.parametrize(("make", "kernel"), CASES)
def test_drawn_features_estimate_the_kernel_of_the_density(make, kernel, generator):
    mixture = make(2, 2, generator).double()
    X = normal((4, 2), generator)
    with torch.no_grad():
        draws = [mixture(10, generator)(X) for _ in range(1000)]
        assert_mean(torch.stack([Phi @ Phi.T for Phi in draws]), kernel(X, X, mixture.density()))


@pytest.mark.parametrize(("make", "kernel"), CASES)
def test_every_parameter_moves_the_features(make, kernel, generator):
    mixture = make(2, 2, generator)
    Phi = mixture(5, generator)(torch.randn(4, 2, generator=generator))
    gradients = torch.autograd.grad((Phi @ Phi.T).square().sum(), list(mixture.parameters()))
    assert all(gradient.abs().min() > 0 for gradient in gradients)


def test_mixture_starts_at_the_documented_density(generator):
    density = SpectralMixture(4, 3, generator).density()
    torch.testing.assert_close(density.alpha, torch.full((4,), 1 / 4))
    torch.testing.assert_close(density.sigma1, torch.full((4, 3), math.sqrt(2 / 3)))
    torch.testing.assert_close(density.sigma2, torch.full((4, 3), math.sqrt(2 / 3)))
    torch.testing.assert_close(density.rho, torch.full((4,), math.tanh(0.5)))


@pytest.mark.parametrize(("D", "sigma"), [(1, 1.0), (2, 1.0), (8, 0.5), (50, 0.2)])
@pytest.mark.parametrize("make", [SpectralMixture, TiedSpectralMixture])
def test_the_more_dimensions_the_narrower_the_start(make, D, sigma, generator):
    # rows are sqrt(2 D) apart, so their features are as alike as in two dimensions
    density = make(2, D, generator).density()
    deviations = density.sigma1 if make is SpectralMixture else density.sigma
    torch.testing.assert_close(deviations, torch.full((2, D), sigma))


@pytest.mark.parametrize("make", [SpectralMixture, TiedSpectralMixture])
def test_a_mixture_is_zero_along_what_is_not_seen_and_keeps_what_it_is_told_to(make, generator):
    mixture = make(2, 3, generator)
    mixture.see(torch.tensor([True, False, True]))
    points = mixture(5, generator).points
    for w in points:
        assert (w[..., 1] == 0).all()
        assert (w[..., [0, 2]] != 0).all()
    mixture.keep(torch.tensor([True, True, False]))
    points = mixture(5, generator).points
    assert points.w1.shape == (2, 5, 2)
    assert (points.w1[..., 1] == 0).all()


def test_means_start_apart_with_the_documented_spread(generator):
    density = SpectralMixture(500, 10, generator).density()
    assert_mean((density.mu1.detach() / 0.3).square().flatten(), torch.tensor(1.0))
    assert_mean((density.mu1 * density.mu2).detach().flatten(), torch.tensor(0.0))


@pytest.mark.parametrize("name", MIXTURES)
def test_kernel_name_is_the_name_it_was_asked_for_by(name, generator):
    assert kernel_name(MIXTURES[name](2, 2, generator)) == name
