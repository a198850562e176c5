import math

import pytest
import torch

from mvlvm.kernels import ngsm_kernel, sm_kernel
from mvlvm.models.spectral_mixture import MIXTURES, FeatureMap, SpectralMixture, TiedSpectralMixture, kernel_name
from mvlvm.spectral import SpectralPoints
from tests.mixtures import draw_points, normal, random_mixture
from tests.monte_carlo import assert_mean
from tests.oracles import printed_features

CASES = [(SpectralMixture, ngsm_kernel), (TiedSpectralMixture, sm_kernel)]


@pytest.mark.parametrize(("make", "kernel"), CASES)
def test_drawn_features_estimate_the_kernel_of_the_density(make, kernel, generator):
    mixture = make(2, 2, generator).double()
    X = normal((4, 2), generator)
    with torch.no_grad():
        draws = [mixture(10, generator)(X) for _ in range(1000)]
        assert_mean(torch.stack([Phi @ Phi.T for Phi in draws]), kernel(X, X, mixture.density()))


@pytest.mark.parametrize(("make", "kernel"), CASES)
def test_features_have_a_gradient_with_respect_to_every_parameter(make, kernel, generator):
    mixture = make(2, 2, generator)
    Phi = mixture(5, generator)(torch.randn(4, 2, generator=generator))
    gradients = torch.autograd.grad((Phi @ Phi.T).square().sum(), list(mixture.parameters()))
    assert all(gradient.abs().min() > 0 for gradient in gradients)


def test_initial_density_is_the_documented_one(generator):
    density = SpectralMixture(4, 3, generator).density()
    torch.testing.assert_close(density.alpha, torch.full((4,), 1 / 4))
    torch.testing.assert_close(density.sigma1, torch.full((4, 3), math.sqrt(2 / 3)))
    torch.testing.assert_close(density.sigma2, torch.full((4, 3), math.sqrt(2 / 3)))
    torch.testing.assert_close(density.rho, torch.full((4,), math.tanh(0.5)))


@pytest.mark.parametrize(("D", "sigma"), [(1, 1.0), (2, 1.0), (8, 0.5), (50, 0.2)])
@pytest.mark.parametrize("make", [SpectralMixture, TiedSpectralMixture])
def test_initial_densities_are_narrower_in_higher_dimensions(make, D, sigma, generator):
    # rows are about sqrt(2 D) apart; narrower densities keep features as similar as in two dimensions
    density = make(2, D, generator).density()
    standard_deviations = density.sigma1 if make is SpectralMixture else density.sigma
    torch.testing.assert_close(standard_deviations, torch.full((2, D), sigma))


@pytest.mark.parametrize("make", [SpectralMixture, TiedSpectralMixture])
def test_frequencies_are_zero_in_unused_dimensions(make, generator):
    mixture = make(2, 3, generator)
    mixture.use(torch.tensor([True, False, True]))
    points = mixture(5, generator).points
    for w in points:
        assert (w[..., 1] == 0).all()
        assert (w[..., [0, 2]] != 0).all()
    mixture.keep(torch.tensor([True, True, False]))
    points = mixture(5, generator).points
    assert points.w1.shape == (2, 5, 2)
    assert (points.w1[..., 1] == 0).all()


def test_initial_means_have_the_documented_standard_deviation(generator):
    density = SpectralMixture(500, 10, generator).density()
    assert_mean((density.mu1.detach() / 0.3).square().flatten(), torch.tensor(1.0))
    assert_mean((density.mu1 * density.mu2).detach().flatten(), torch.tensor(0.0))


@pytest.mark.parametrize("name", MIXTURES)
def test_kernel_name_is_the_value_of_the_parameter(name, generator):
    assert kernel_name(MIXTURES[name](2, 2, generator)) == name


def test_feature_map_computes_the_printed_features(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    points = draw_points(density, 6, generator)
    Phi = FeatureMap(points, density.alpha)(X)
    printed = printed_features(X.numpy(), points.w1.numpy(), points.w2.numpy(), density.alpha.numpy())
    torch.testing.assert_close(Phi @ Phi.T, torch.as_tensor(printed @ printed.T), rtol=0.0, atol=1e-12)


def test_expectation_is_the_mean_of_the_features_over_latents(generator):
    density = random_mixture(2, 2, generator)
    features = FeatureMap(draw_points(density, 6, generator), density.alpha)
    mean, std = normal((5, 2), generator), torch.full((5, 2), 0.5, dtype=torch.float64)
    draws = torch.stack([features(mean + std * normal((5, 2), generator)) for _ in range(2000)])
    assert_mean(draws, features.expectation(mean, std))


def test_jacobian_matches_automatic_differentiation(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    features = FeatureMap(draw_points(density, 6, generator), density.alpha)
    expected = torch.autograd.functional.jacobian(lambda Z: features(Z).sum(dim=0), X).permute(1, 2, 0)
    Phi, jacobian = features.with_jacobian(X)
    torch.testing.assert_close(Phi, features(X), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(jacobian, expected, rtol=1e-12, atol=1e-12)


def test_feature_map_in_float64_has_the_same_frequencies(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    points = SpectralPoints(*(w.float() for w in draw_points(density, 6, generator)))
    features = FeatureMap(points, density.alpha.float())
    doubled = features.double()
    same_points = points.w1.numpy().astype(float), points.w2.numpy().astype(float)
    printed = printed_features(X.numpy(), *same_points, features.alpha.numpy().astype(float))
    Phi = doubled(X)
    torch.testing.assert_close(Phi @ Phi.T, torch.as_tensor(printed @ printed.T), rtol=0.0, atol=1e-12)
    assert features.points.w1.dtype == torch.float32


def test_constant_feature_is_last_and_has_a_zero_jacobian(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    points = draw_points(density, 6, generator)
    plain, with_constant = FeatureMap(points, density.alpha), FeatureMap(points, density.alpha, constant=3.0)
    std = torch.full((5, 2), 0.5, dtype=torch.float64)
    (Phi, jacobian), (plain_Phi, plain_jacobian) = with_constant.with_jacobian(X), plain.with_jacobian(X)
    for actual, expected, last in (
        (with_constant(X), plain(X), 3.0),
        (with_constant.double()(X), plain(X), 3.0),
        (with_constant.expectation(X, std), plain.expectation(X, std), 3.0),
        (Phi, plain_Phi, 3.0),
        (jacobian, plain_jacobian, 0.0),
    ):
        assert torch.equal(actual[..., :-1], expected)
        assert (actual[..., -1] == last).all()
