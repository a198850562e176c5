from dataclasses import replace

import numpy as np
import pytest
import torch

from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.weight_posterior import ColumnPosterior
from mvlvm.spectral import SpectralPoints
from tests.mixtures import draw_points, normal, random_mixture, uniform
from tests.models.fixed_features import fixed_view
from tests.monte_carlo import assert_mean
from tests.oracles import gp_posterior

CERTAIN = 1e-12
INFLATION = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)


def infer(generator, *, std, n_points=4, n_latent_draws=1):
    view = fixed_view(generator, n_points=n_points)
    latent, Y = GaussianLatent(normal((20, 2), generator), std), normal((20, 3), generator)
    with torch.no_grad():
        posterior = view.infer_weights(latent, ObservedView(Y), n_latent_draws=n_latent_draws, generator=generator)
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
    draws = torch.stack([posterior.draw(generator)(X) for _ in range(4000)])
    assert_mean(draws, Phi @ posterior.mean)
    centred = draws - Phi @ posterior.mean
    expected = Phi @ posterior.covariance @ Phi.T
    for m in range(3):
        assert_mean(centred[:, :, None, m] * centred[:, None, :, m], expected)


def test_slopes_are_those_of_finite_differences(uncertain):
    posterior, X, _ = uncertain
    posterior, step = replace(posterior, inflation=INFLATION), 1e-5
    around = posterior.linearise(X)
    for d, direction in enumerate(torch.eye(2, dtype=torch.float64)):
        ahead, behind = (posterior.linearise(X + sign * step * direction) for sign in (1, -1))
        for slopes, one, other in (
            (around.slopes, ahead.mean, behind.mean),
            (around.variance_slopes, ahead.variance, behind.variance),
        ):
            torch.testing.assert_close(slopes[d], (one - other) / (2 * step), rtol=1e-6, atol=1e-8)


def test_dimension_that_the_features_ignore_has_no_slope(generator):
    *_, posterior = infer(generator, std=CERTAIN)
    blind = SpectralPoints(*(w * torch.tensor([1.0, 0.0]) for w in posterior.features.points))
    posterior = replace(posterior, features=FeatureMap(blind, posterior.features.alpha))
    seen, unseen = posterior.linearise(normal((5, 2), generator)).slopes
    assert (seen != 0).all()
    assert (unseen == 0).all()


def test_at_certain_latents_the_weights_alone_are_uncertain(uncertain):
    posterior, X, _ = uncertain
    posterior = replace(posterior, inflation=INFLATION)
    mean, variance, _, _ = posterior.linearise(X)
    Phi, B, Sigma = (value.numpy() for value in (posterior.features(X), posterior.mean, posterior.covariance))
    np.testing.assert_allclose(mean.numpy(), Phi @ B, rtol=1e-12, atol=1e-14)
    for m, inflation in enumerate(INFLATION.tolist()):
        expected = [inflation * phi @ Sigma @ phi for phi in Phi]
        np.testing.assert_allclose(variance[:, m].numpy(), expected, rtol=1e-12, atol=0.0)


@pytest.fixture
def by_columns(generator):
    """Weights with a covariance for every column, the covariances themselves, and latents."""
    density = random_mixture(2, 2, generator)
    features = FeatureMap(draw_points(density, 3, generator), density.alpha, constant=2.0)
    F = 13
    basis = torch.linalg.qr(normal((F, F), generator)).Q
    spread = uniform(0.1, 1.0, (F, 3), generator)
    posterior = ColumnPosterior(features, normal((F, 3), generator), basis, spread)
    covariances = [(basis.numpy() * spread[:, m].numpy()) @ basis.numpy().T for m in range(3)]
    return posterior, covariances, normal((4, 2), generator)


def test_columns_have_variances_of_their_own(by_columns):
    posterior, covariances, X = by_columns
    mean, variance, _, _ = posterior.linearise(X)
    Phi = posterior.features(X).numpy()
    np.testing.assert_allclose(mean.numpy(), Phi @ posterior.mean.numpy(), rtol=1e-12, atol=1e-14)
    for m, S in enumerate(covariances):
        np.testing.assert_allclose(variance[:, m].numpy(), [phi @ S @ phi for phi in Phi], rtol=1e-12, atol=0.0)


def test_slopes_of_columns_are_those_of_finite_differences(by_columns):
    posterior, _, X = by_columns
    around, step = posterior.linearise(X), 1e-5
    for d, direction in enumerate(torch.eye(2, dtype=torch.float64)):
        ahead, behind = (posterior.linearise(X + sign * step * direction) for sign in (1, -1))
        for slopes, one, other in (
            (around.slopes, ahead.mean, behind.mean),
            (around.variance_slopes, ahead.variance, behind.variance),
        ):
            torch.testing.assert_close(slopes[d], (one - other) / (2 * step), rtol=1e-6, atol=1e-8)


def test_drawn_columns_have_their_own_mean_and_covariance(by_columns, generator):
    posterior, covariances, X = by_columns
    Phi = posterior.features(X)
    draws = torch.stack([posterior.draw(generator)(X) for _ in range(4000)])
    assert_mean(draws, Phi @ posterior.mean)
    centred = draws - Phi @ posterior.mean
    for m, S in enumerate(covariances):
        assert_mean(centred[:, :, None, m] * centred[:, None, :, m], Phi @ torch.as_tensor(S) @ Phi.T)


def test_predicted_moments_of_columns_are_those_of_simulated_functions(by_columns, generator):
    posterior, _, mean = by_columns
    std = uniform(0.2, 0.6, (4, 2), generator)
    functions = torch.stack([posterior.draw(generator)(X) for X in latent_draws(mean, std, 3000, generator)])
    assert_mean(functions, posterior.mean_at(mean, std))
    predicted = [posterior.predict(mean, std, [X]).variance for X in latent_draws(mean, std, 3000, generator)]
    assert_mean((functions - posterior.mean_at(mean, std)).square() - torch.stack(predicted), torch.zeros(4, 3))


def test_squared_slopes_are_those_of_the_mean_function(by_columns):
    posterior, _, X = by_columns
    slopes = posterior.linearise(X).slopes
    torch.testing.assert_close(posterior.squared_slopes(X), slopes.square().sum(dim=(1, 2)), rtol=1e-10, atol=0.0)
