import numpy as np
import pytest
import torch

from mvlvm.kernels import ngsm_kernel
from mvlvm.spectral import SpectralPoints, expected_features, random_features
from mvlvm.spectral.features import features_and_jacobian
from tests.mixtures import draw_points, normal, random_mixture
from tests.monte_carlo import assert_mean
from tests.oracles import printed_features


@pytest.mark.parametrize("D", [1, 2, 5])
def test_features_have_the_gram_matrix_of_the_printed_features(D, generator):
    density, X = random_mixture(3, D, generator), normal((6, D), generator)
    points = draw_points(density, 20, generator)
    Phi = random_features(X, points, density.alpha).numpy()
    printed = printed_features(X.numpy(), points.w1.numpy(), points.w2.numpy(), density.alpha.numpy())
    np.testing.assert_allclose(Phi @ Phi.T, printed @ printed.T, rtol=0.0, atol=1e-12)


def test_features_are_the_printed_features_in_another_order(generator):
    density, X = random_mixture(2, 2, generator), normal((6, 2), generator)
    points = draw_points(density, 5, generator)
    Phi = random_features(X, points, density.alpha).numpy()
    printed = printed_features(X.numpy(), points.w1.numpy(), points.w2.numpy(), density.alpha.numpy())
    np.testing.assert_allclose(sorted_columns(Phi), sorted_columns(printed), rtol=0.0, atol=1e-12)


def test_feature_gram_is_unbiased(generator):
    density, X = random_mixture(2, 2, generator), normal((4, 2), generator)
    draws = [random_features(X, draw_points(density, 10, generator), density.alpha) for _ in range(2000)]
    assert_mean(torch.stack([Phi @ Phi.T for Phi in draws]), ngsm_kernel(X, X, density))


def test_gram_matrix_does_not_depend_on_the_sign_of_the_points(generator):
    density, X = random_mixture(2, 2, generator), normal((6, 2), generator)
    points = draw_points(density, 20, generator)
    one, other = (
        random_features(X, SpectralPoints(sign * points.w1, sign * points.w2), density.alpha) for sign in (1, -1)
    )
    torch.testing.assert_close(one @ one.T, other @ other.T, rtol=1e-13, atol=1e-13)


def test_expected_features_match_the_mean_over_sampled_latents(generator):
    density = random_mixture(2, 2, generator)
    mean, std = normal((3, 2), generator), normal((3, 2), generator).abs()
    points = draw_points(density, 10, generator)
    draws = [random_features(mean + std * normal((3, 2), generator), points, density.alpha) for _ in range(4000)]
    assert_mean(torch.stack(draws), expected_features(mean, std, points, density.alpha))


def test_expected_features_without_variance_are_random_features(generator):
    density, X = random_mixture(2, 3, generator), normal((6, 3), generator)
    points = draw_points(density, 20, generator)
    expected = expected_features(X, torch.zeros_like(X), points, density.alpha)
    torch.testing.assert_close(expected, random_features(X, points, density.alpha), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("features", [random_features, lambda X, *rest: expected_features(X, 0.3 * X**2, *rest)])
def test_features_are_differentiable_with_respect_to_latents_points_and_weights(features, generator):
    density = random_mixture(2, 2, generator)
    inputs = normal((3, 2), generator), *draw_points(density, 4, generator), density.alpha
    assert torch.autograd.gradcheck(
        lambda X, w1, w2, alpha: features(X, SpectralPoints(w1, w2), alpha),
        [value.clone().requires_grad_() for value in inputs],
    )


@pytest.mark.parametrize("D", [1, 3])
def test_jacobian_matches_autograd(D, generator):
    density, X = random_mixture(2, D, generator), normal((6, D), generator)
    points = draw_points(density, 5, generator)
    # the features of a row depend on that row only, so the Jacobian of the sum over rows contains that of each row
    expected = torch.autograd.functional.jacobian(lambda Z: random_features(Z, points, density.alpha).sum(dim=0), X)
    Phi, jacobian = features_and_jacobian(X, points, density.alpha)
    torch.testing.assert_close(Phi, random_features(X, points, density.alpha), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(jacobian, expected.permute(1, 2, 0), rtol=1e-12, atol=1e-12)


def test_jacobian_matches_finite_differences(generator):
    density, X = random_mixture(2, 2, generator), normal((6, 2), generator)
    points, step = draw_points(density, 5, generator), 1e-5
    _, jacobian = features_and_jacobian(X, points, density.alpha)
    assert jacobian.dtype == torch.float64
    for d, direction in enumerate(torch.eye(2, dtype=torch.float64)):
        ahead, behind = (random_features(X + sign * step * direction, points, density.alpha) for sign in (1, -1))
        # the third derivative is below 300, so the error of the differences is below 300 step^2 / 6 = 5e-9
        torch.testing.assert_close(jacobian[:, d], (ahead - behind) / (2 * step), rtol=0.0, atol=1e-8)


def sorted_columns(Phi):
    return Phi[:, np.argsort(Phi[0])]
