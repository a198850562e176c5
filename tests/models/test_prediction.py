from dataclasses import replace

import numpy as np
import pytest
import torch

from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.prediction import Prediction, average_over_draws, infer_weights
from mvlvm.spectral import SpectralPoints
from tests.mixtures import normal, uniform
from tests.models.fixed_features import fixed_view
from tests.monte_carlo import assert_mean
from tests.oracles import gp_posterior

CERTAIN = 1e-12


def infer(generator, *, std, n_points=4, n_latent_draws=1):
    view = fixed_view(generator, n_points=n_points)
    latent, Y = GaussianLatent(normal((20, 2), generator), std), normal((20, 3), generator)
    with torch.no_grad():
        posterior = infer_weights(view, latent, ObservedView(Y), n_latent_draws=n_latent_draws, generator=generator)
    return view, latent.mean.detach(), Y, posterior


@pytest.mark.parametrize("n_points", [4, 8], ids=["F < N", "F > N"])
def test_certain_latents_give_the_textbook_regression(n_points, generator):
    view, X, Y, posterior = infer(generator, std=CERTAIN, n_points=n_points)
    new = normal((6, 2), generator)
    mean, variance = posterior.predict(new, torch.zeros_like(new), [new])
    Phi, Phi_new = (posterior.features(Z).numpy() for Z in (X, new))
    expected_mean, expected_variance = gp_posterior(
        Phi @ Phi.T, Phi_new @ Phi.T, Phi_new @ Phi_new.T, Y.numpy(), view.noise_variance.item()
    )
    np.testing.assert_allclose(mean.numpy(), expected_mean, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(variance.numpy(), np.tile(expected_variance[:, None], 3), rtol=0.0, atol=1e-8)


def test_uncertain_latents_give_the_best_normal_posterior_of_the_weights(generator):
    """The bound's gradient by the weights' mean, and by their precision, is zero at the posterior."""
    view, _, Y, posterior = infer(generator, std=0.5, n_latent_draws=6)
    asked, s = view.mixture.map.asked, view.noise_variance.item()
    Phis = [posterior.features(X).detach() for X in list(asked)]
    misfit = sum(Phi.T @ (Y - Phi @ posterior.mean) for Phi in Phis) / (6 * s)
    precision = sum(Phi.T @ Phi for Phi in Phis) / (6 * s) + torch.eye(16, dtype=torch.float64)
    torch.testing.assert_close(misfit, posterior.mean, rtol=0.0, atol=1e-9)
    torch.testing.assert_close(precision @ posterior.covariance, torch.eye(16).double(), rtol=0.0, atol=1e-9)


@pytest.fixture
def uncertain(generator):
    """A posterior of the weights, and normally distributed latents to predict at."""
    *_, posterior = infer(generator, std=0.2, n_latent_draws=4)
    return posterior, normal((4, 2), generator), uniform(0.2, 0.6, (4, 2), generator)


def latent_draws(mean, std, n, generator):
    return [mean + std * normal(mean.shape, generator) for _ in range(n)]


def simulate_functions(posterior, Xs, generator):
    root = torch.linalg.cholesky(posterior.covariance)
    return torch.stack(
        [posterior.features(X) @ (posterior.mean + root @ normal(posterior.mean.shape, generator)) for X in Xs]
    )


def test_predicted_mean_is_that_of_simulated_functions(uncertain, generator):
    posterior, mean, std = uncertain
    functions = simulate_functions(posterior, latent_draws(mean, std, 4000, generator), generator)
    assert_mean(functions, posterior.mean_at(mean, std))
    assert torch.equal(posterior.predict(mean, std, [mean]).mean, posterior.mean_at(mean, std))


def test_predicted_variance_is_that_of_simulated_functions(uncertain, generator):
    posterior, mean, std = uncertain
    functions = simulate_functions(posterior, latent_draws(mean, std, 2000, generator), generator)
    deviations = (functions - posterior.mean_at(mean, std)).square()
    predicted = [posterior.predict(mean, std, [X]).variance for X in latent_draws(mean, std, 2000, generator)]
    assert_mean(deviations - torch.stack(predicted), torch.zeros(4, 3))


def test_predicted_variance_is_averaged_over_the_draws_of_the_latent(uncertain, generator):
    posterior, mean, std = uncertain
    draws = latent_draws(mean, std, 5, generator)
    singles = torch.stack([posterior.predict(mean, std, [X]).variance for X in draws])
    together = posterior.predict(mean, std, draws).variance
    torch.testing.assert_close(together, singles.mean(dim=0), rtol=1e-12, atol=0.0)


def test_drawn_functions_have_the_posteriors_mean_and_covariance(uncertain, generator):
    posterior, X, _ = uncertain
    Phi = posterior.features(X)
    draws = torch.stack([posterior.draw(X, generator) for _ in range(4000)])
    assert_mean(draws, Phi @ posterior.mean)
    centred = draws - Phi @ posterior.mean
    expected = Phi @ posterior.covariance @ Phi.T
    for m in range(3):
        assert_mean(centred[:, :, None, m] * centred[:, None, :, m], expected)


def test_sensitivity_is_the_squared_slope_of_finite_differences(uncertain):
    posterior, X, _ = uncertain
    certain, step = torch.zeros_like(X), 1e-5
    expected = []
    for direction in torch.eye(2, dtype=torch.float64):
        ahead, behind = (posterior.mean_at(X + sign * step * direction, certain) for sign in (1, -1))
        expected.append(((ahead - behind) / (2 * step)).square().sum())
    torch.testing.assert_close(posterior.sensitivity(X), torch.stack(expected), rtol=1e-6, atol=0.0)


def test_dimension_that_the_features_ignore_has_no_sensitivity(generator):
    *_, posterior = infer(generator, std=CERTAIN)
    blind = SpectralPoints(*(w * torch.tensor([1.0, 0.0]) for w in posterior.features.points))
    posterior = replace(posterior, features=FeatureMap(blind, posterior.features.alpha))
    seen, unseen = posterior.sensitivity(normal((5, 2), generator))
    assert seen > 0
    assert unseen == 0


def test_joined_predictions_have_the_moments_of_the_mixture(generator):
    parts = [Prediction(normal((4, 3), generator), uniform(0.1, 1, (4, 3), generator)) for _ in range(3)]
    joined = average_over_draws(parts, torch.tensor(0.25, dtype=torch.float64))
    first = sum(part.mean for part in parts) / 3
    second = sum(part.variance + part.mean**2 for part in parts) / 3
    torch.testing.assert_close(joined.mean, first, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(joined.variance, second - first**2 + 0.25, rtol=1e-12, atol=1e-14)


def test_one_prediction_only_gains_the_noise(generator):
    part = Prediction(normal((4, 3), generator), uniform(0.1, 1, (4, 3), generator))
    joined = average_over_draws([part], torch.tensor(0.25, dtype=torch.float64))
    assert torch.equal(joined.mean, part.mean)
    assert torch.equal(joined.variance, part.variance + 0.25)
