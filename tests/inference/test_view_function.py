from dataclasses import replace

import numpy as np
import pytest
import torch

from mvlvm.inference.view_function import ViewFunction, select_columns
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import FeatureMap, SpectralMixture
from mvlvm.spectral import SpectralPoints
from tests.inference.quadratic_features import exactly_gaussian
from tests.mixtures import normal, uniform
from tests.models.evidence import infer_weights
from tests.models.model_views import gaussian_view
from tests.monte_carlo import assert_mean

N, D, M, N_SPECTRAL_DRAWS, NOISE_VARIANCE = 20, 2, 3, 3, 0.25


def draw_function(generator, dtype=torch.float64):
    """Return a function of three draws of spectral points, each with its posterior of the weights."""
    view = gaussian_view("view", SpectralMixture(2, D, generator), n_points=4, noise_variance=NOISE_VARIANCE).to(dtype)
    latent, Y = GaussianLatent(normal((N, D), generator).to(dtype), 0.2), normal((N, M), generator)
    with torch.no_grad():
        posteriors = [infer_weights(view, latent, Y, generator, n_latent_draws=2) for _ in range(N_SPECTRAL_DRAWS)]
    return ViewFunction(tuple(posteriors), exactly_gaussian(NOISE_VARIANCE))


@pytest.fixture
def function(generator):
    return draw_function(generator)


@pytest.fixture(name="X")
def latents(generator):
    return normal((4, D), generator)


def expected_moments(function, x):
    """Return mean and variance at one latent: those of an equal mixture of the Gaussians of all spectral draws."""
    means, second_moments = [], []
    for posterior in function.posteriors:
        phi = posterior.features(x[None]).numpy()[0]
        mean = phi @ posterior.mean.numpy()
        means.append(mean)
        second_moments.append(mean**2 + phi @ posterior.covariance.numpy() @ phi)
    mean = sum(means) / len(means)
    return mean, sum(second_moments) / len(second_moments) - mean**2


def test_spectral_draws_are_combined_by_the_law_of_total_variance(function, X):
    mean, variance = function.linearise(X).moments
    for n, x in enumerate(X):
        expected_mean, expected_variance = expected_moments(function, x)
        np.testing.assert_allclose(mean[n].numpy(), expected_mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(variance[n].numpy(), expected_variance, rtol=1e-10, atol=0.0)


def test_predictions_are_combined_by_the_law_of_total_variance(function, X, generator):
    std, draws = uniform(0.1, 0.5, (4, D), generator), [X + 0.3 * normal((4, D), generator) for _ in range(3)]
    parts = [posterior.predict(X, std, draws) for posterior in function.posteriors]
    combined = function.predict(X, std, draws)
    first = sum(part.mean for part in parts) / N_SPECTRAL_DRAWS
    second = sum(part.variance + part.mean**2 for part in parts) / N_SPECTRAL_DRAWS
    torch.testing.assert_close(combined.mean, first, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(combined.variance, second - first**2, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(function.entries(X, std), first, rtol=1e-12, atol=1e-14)


def test_function_of_one_spectral_draw_equals_its_posterior(function, X):
    posterior = function.posteriors[0]
    part, combined = posterior.moments(posterior.features(X)), function.first_draw().linearise(X).moments
    # squares of the mean are added and subtracted
    for values, expected in zip(combined, part, strict=True):
        torch.testing.assert_close(values, expected, rtol=1e-10, atol=1e-12)


def test_moments_at_certain_latents_equal_the_prediction_at_zero_variance(function, X):
    at, predicted = function.linearise(X).moments, function.predict(X, torch.zeros_like(X), [X])
    torch.testing.assert_close(at.mean, predicted.mean, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(at.variance, predicted.variance, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("n_draws", [1, N_SPECTRAL_DRAWS])
def test_derivatives_match_finite_differences(n_draws, function, X, generator):
    function = replace(function, posteriors=function.posteriors[:n_draws])
    step, around = 1e-5, function.linearise(X)
    of_mean, of_variance = normal((4, M), generator), normal((4, M), generator)
    jacobian, gradient = around.mean_jacobian(), around.gradient(of_mean, of_variance)
    for d, direction in enumerate(torch.eye(D, dtype=torch.float64)):
        ahead, behind = (function.linearise(X + sign * step * direction).moments for sign in (1, -1))
        mean, variance = ((one - other) / (2 * step) for one, other in zip(ahead, behind, strict=True))
        torch.testing.assert_close(jacobian[:, d], mean, rtol=1e-6, atol=1e-8)
        expected = (of_mean * mean + of_variance * variance).sum(dim=1)
        torch.testing.assert_close(gradient[:, d], expected, rtol=1e-6, atol=1e-8)


def test_jacobians_in_float32_change_nothing_else(function, X):
    exact, rounded = function.linearise(X), function.linearise(X, torch.float32)
    for values, expected in zip(rounded.moments, exact.moments, strict=True):
        assert torch.equal(values, expected)
    assert rounded.mean_jacobian().dtype == torch.float32
    scale = exact.mean_jacobian().abs().max().item()
    torch.testing.assert_close(rounded.mean_jacobian().double(), exact.mean_jacobian(), rtol=0.0, atol=1e-5 * scale)


def test_relevance_is_the_normalised_squared_jacobian_times_variance(function, generator):
    X, step = normal((6, D), generator) * torch.tensor([1.0, 3.0], dtype=torch.float64), 1e-5
    strength = np.zeros(D)
    for d, direction in enumerate(torch.eye(D, dtype=torch.float64)):
        for posterior in function.posteriors:
            ahead, behind = (posterior.mean_at(X + sign * step * direction, 0 * X).numpy() for sign in (1, -1))
            strength[d] += (((ahead - behind) / (2 * step)) ** 2).sum()
        strength[d] *= np.var(X[:, d].numpy(), ddof=1)
    np.testing.assert_allclose(function.relevance(X).numpy(), strength / strength.sum(), rtol=1e-6)


def test_unused_dimension_has_zero_relevance(function, generator):
    restricted = []
    for posterior in function.posteriors:
        points = SpectralPoints(*(w * torch.tensor([0.0, 1.0]) for w in posterior.features.points))
        restricted.append(replace(posterior, features=FeatureMap(points, posterior.features.alpha)))
    assert replace(function, posteriors=tuple(restricted)).relevance(normal((6, D), generator)).tolist() == [0.0, 1.0]


def test_drawn_rows_have_the_moments_of_the_prediction(function, X, generator):
    draws = torch.stack([function.sample(X, generator) for _ in range(2000)])
    mean, variance = function.linearise(X).moments
    assert_mean(draws, mean)
    assert_mean((draws - mean).square(), variance + NOISE_VARIANCE)
    # a row uses one spectral draw: its entries covary like the means of the draws; weights and noise are independent
    means = torch.stack([posterior.moments(posterior.features(X)).mean for posterior in function.posteriors]) - mean
    assert_mean((draws - mean)[..., 0] * (draws - mean)[..., 1], (means[..., 0] * means[..., 1]).mean(dim=0))


def test_double_converts_features_and_keeps_weights(generator):
    function, X = draw_function(generator, torch.float32), normal((4, D), generator)
    doubled = function.double()
    for posterior in doubled.posteriors:
        assert posterior.features(X).dtype == torch.float64
    for n, x in enumerate(X):
        expected_mean, expected_variance = expected_moments(doubled, x)
        np.testing.assert_allclose(doubled.linearise(X).moments.mean[n].numpy(), expected_mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            doubled.linearise(X).moments.variance[n].numpy(), expected_variance, rtol=1e-10, atol=0.0
        )
    for one, other in zip(function.posteriors, doubled.posteriors, strict=True):
        assert torch.equal(one.mean, other.mean)
        assert torch.equal(one.features.points.w1.double(), other.features.points.w1)


def test_selected_columns_are_predicted_as_in_the_whole_view(function, X):
    columns = torch.arange(function.posteriors[0].mean.shape[1]) % 2 == 0
    std = torch.full_like(X, 0.1)
    whole, some = (f.predict(X, std, [X]) for f in (function, select_columns(function, columns)))
    assert not columns.all()
    for one, other in zip(whole, some, strict=True):
        torch.testing.assert_close(one[:, columns], other, rtol=0.0, atol=1e-12)
