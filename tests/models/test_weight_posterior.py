from dataclasses import replace

import numpy as np
import pytest
import torch

from mvlvm import row_blocks
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import FeatureMap
from mvlvm.models.weight_posterior import (
    ColumnPosterior,
    Prediction,
    infer_weights_complete,
    infer_weights_missing,
    n_latent_draws_for,
)
from mvlvm.spectral import SpectralPoints
from tests.mixtures import draw_points, normal, random_mixture, uniform
from tests.models.evidence import infer_weights
from tests.models.fixed_features import fixed_view
from tests.monte_carlo import assert_mean
from tests.oracles import gp_posterior

CERTAIN = 1e-12  # standard deviation of latents that are known
INFLATION = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)


def infer(generator, *, std, n_points=4, n_latent_draws=1):
    view = fixed_view(generator, n_points=n_points)
    latent, Y = GaussianLatent(normal((20, 2), generator), std), normal((20, 3), generator)
    with torch.no_grad():
        posterior = infer_weights(view, latent, Y, generator, n_latent_draws=n_latent_draws)
    return view, latent.mean.detach(), Y, posterior


@pytest.fixture
def uncertain(generator):
    """Return a posterior of the weights, and the means and standard deviations of Gaussian latents."""
    *_, posterior = infer(generator, std=0.2, n_latent_draws=4)
    return posterior, normal((4, 2), generator), uniform(0.2, 0.6, (4, 2), generator)


def latent_draws(mean, std, n, generator):
    return [mean + std * normal(mean.shape, generator) for _ in range(n)]


def simulate_functions(posterior, Xs, generator):
    root = torch.linalg.cholesky(posterior.covariance)
    return torch.stack(
        [posterior.features(X) @ (posterior.mean + root @ normal(posterior.mean.shape, generator)) for X in Xs]
    )


@pytest.fixture
def by_columns(generator):
    """Return a posterior with a covariance per column, the covariances, and latents."""
    density = random_mixture(2, 2, generator)
    features = FeatureMap(draw_points(density, 3, generator), density.alpha, constant=2.0)
    F = 13
    basis = torch.linalg.qr(normal((F, F), generator)).Q
    spread = uniform(0.1, 1.0, (F, 3), generator)
    posterior = ColumnPosterior(features, normal((F, 3), generator), basis, spread)
    covariances = [(basis.numpy() * spread[:, m].numpy()) @ basis.numpy().T for m in range(3)]
    return posterior, covariances, normal((4, 2), generator)


def draw_incomplete_problem(generator, share=0.3):
    Phis = [normal((40, 6), generator) for _ in range(3)]
    return normal((40, 5), generator), uniform(0.0, 1.0, (40, 5), generator) > share, Phis


@pytest.mark.parametrize("n_points", [4, 8], ids=["F < N", "F > N"])
def test_posterior_given_certain_latents_matches_gp_regression(n_points, generator):
    view, X, Y, posterior = infer(generator, std=CERTAIN, n_points=n_points)
    new = normal((6, 2), generator)
    mean, variance = posterior.predict(new, torch.zeros_like(new), [new])
    Phi, Phi_new = (posterior.features(Z).numpy() for Z in (X, new))
    expected_mean, expected_variance = gp_posterior(
        Phi @ Phi.T, Phi_new @ Phi.T, Phi_new @ Phi_new.T, Y.numpy(), view.likelihood.noise_variance.item()
    )
    np.testing.assert_allclose(mean.numpy(), expected_mean, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(variance.numpy(), np.tile(expected_variance[:, None], 3), rtol=0.0, atol=1e-8)


def test_posterior_given_uncertain_latents_maximises_the_bound(generator):
    """The gradient of the bound with respect to the mean and precision of the weights is zero at the posterior."""
    view, _, Y, posterior = infer(generator, std=0.5, n_latent_draws=6)
    evaluated_at, s = view.mixture.map.evaluated_at, view.likelihood.noise_variance.item()
    Phis = [posterior.features(X).detach() for X in list(evaluated_at)]
    misfit = sum(Phi.T @ (Y - Phi @ posterior.mean) for Phi in Phis) / (6 * s)
    precision = sum(Phi.T @ Phi for Phi in Phis) / (6 * s) + torch.eye(16, dtype=torch.float64)
    torch.testing.assert_close(misfit, posterior.mean, rtol=0.0, atol=1e-9)
    torch.testing.assert_close(precision @ posterior.covariance, torch.eye(16).double(), rtol=0.0, atol=1e-9)


def test_predicted_mean_matches_simulated_functions(uncertain, generator):
    posterior, mean, std = uncertain
    functions = simulate_functions(posterior, latent_draws(mean, std, 4000, generator), generator)
    assert_mean(functions, posterior.mean_at(mean, std))
    assert torch.equal(posterior.predict(mean, std, [mean]).mean, posterior.mean_at(mean, std))


def test_predicted_variance_matches_simulated_functions(uncertain, generator):
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


def assert_gradient_matches_finite_differences(posterior, Phi, generator):
    weights, step = Prediction(*(normal((len(Phi), posterior.mean.shape[1]), generator) for _ in range(2))), 1e-5

    def weighted_sums(Phi):
        return sum((weight * values).sum(dim=1) for weight, values in zip(weights, posterior.moments(Phi), strict=True))

    gradient = posterior.moments_gradient(Phi, weights)
    for f, direction in enumerate(torch.eye(Phi.shape[1], dtype=torch.float64)):
        ahead, behind = (weighted_sums(Phi + sign * step * direction) for sign in (1, -1))
        torch.testing.assert_close(gradient[:, f], (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)


def test_gradient_of_the_moments_matches_finite_differences(uncertain, generator):
    posterior, X, _ = uncertain
    posterior = replace(posterior, inflation=INFLATION)
    assert_gradient_matches_finite_differences(posterior, posterior.features(X), generator)


def test_derivative_along_an_unused_dimension_is_zero(generator):
    *_, posterior = infer(generator, std=CERTAIN)
    restricted = SpectralPoints(*(w * torch.tensor([1.0, 0.0]) for w in posterior.features.points))
    posterior = replace(posterior, features=FeatureMap(restricted, posterior.features.alpha))
    _, jacobian = posterior.features.with_jacobian(normal((5, 2), generator))
    used, ignored = (jacobian @ posterior.mean).unbind(dim=1)
    assert (used != 0).all()
    assert (ignored == 0).all()


def test_variance_at_certain_latents_is_that_of_the_weights(uncertain):
    posterior, X, _ = uncertain
    posterior = replace(posterior, inflation=INFLATION)
    mean, variance = posterior.moments(posterior.features(X))
    Phi, B, Sigma = (value.numpy() for value in (posterior.features(X), posterior.mean, posterior.covariance))
    np.testing.assert_allclose(mean.numpy(), Phi @ B, rtol=1e-12, atol=1e-14)
    for m, inflation in enumerate(INFLATION.tolist()):
        expected = [inflation * phi @ Sigma @ phi for phi in Phi]
        np.testing.assert_allclose(variance[:, m].numpy(), expected, rtol=1e-12, atol=0.0)


def test_variance_of_each_column_uses_its_own_covariance(by_columns):
    posterior, covariances, X = by_columns
    mean, variance = posterior.moments(posterior.features(X))
    Phi = posterior.features(X).numpy()
    np.testing.assert_allclose(mean.numpy(), Phi @ posterior.mean.numpy(), rtol=1e-12, atol=1e-14)
    for m, S in enumerate(covariances):
        np.testing.assert_allclose(variance[:, m].numpy(), [phi @ S @ phi for phi in Phi], rtol=1e-12, atol=0.0)


def test_gradient_of_the_moments_of_columns_matches_finite_differences(by_columns, generator):
    posterior, _, X = by_columns
    assert_gradient_matches_finite_differences(posterior, posterior.features(X), generator)


def test_drawn_columns_have_the_mean_and_covariance_of_their_posterior(by_columns, generator):
    posterior, covariances, X = by_columns
    Phi = posterior.features(X)
    draws = torch.stack([posterior.draw(generator)(X) for _ in range(4000)])
    assert_mean(draws, Phi @ posterior.mean)
    centred = draws - Phi @ posterior.mean
    for m, S in enumerate(covariances):
        assert_mean(centred[:, :, None, m] * centred[:, None, :, m], Phi @ torch.as_tensor(S) @ Phi.T)


def test_predicted_moments_of_columns_match_simulated_functions(by_columns, generator):
    posterior, _, mean = by_columns
    std = uniform(0.2, 0.6, (4, 2), generator)
    functions = torch.stack([posterior.draw(generator)(X) for X in latent_draws(mean, std, 3000, generator)])
    assert_mean(functions, posterior.mean_at(mean, std))
    predicted = [posterior.predict(mean, std, [X]).variance for X in latent_draws(mean, std, 3000, generator)]
    assert_mean((functions - posterior.mean_at(mean, std)).square() - torch.stack(predicted), torch.zeros(4, 3))


def test_squared_jacobian_norms_match_the_jacobian_of_the_mean(by_columns):
    posterior, _, X = by_columns
    jacobian = posterior.features.with_jacobian(X)[1] @ posterior.mean
    torch.testing.assert_close(
        posterior.squared_jacobian_norms(X), jacobian.square().sum(dim=(0, 2)), rtol=1e-10, atol=0.0
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("numbers", [2_000_000, 50], ids=["one block", "many blocks"])
def test_weights_solve_the_normal_equations(weighted, numbers, generator, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", numbers)
    s = torch.tensor(0.3, dtype=torch.float64)
    Y, draws = normal((70, 3), generator), [normal((70, 2), generator) for _ in range(3)]
    weight = 0.5 + torch.rand(70, generator=generator, dtype=torch.float64) if weighted else None
    features = fixed_view(generator).draw_features(generator)
    with torch.no_grad():
        mean, covariance = infer_weights_complete(ViewData.from_array(Y, weight), features, draws, s)
        Phis = [features(X).numpy() for X in draws]
    counts = np.ones(70) if weight is None else weight.numpy()
    A = np.mean([(Phi * counts[:, None]).T @ Phi for Phi in Phis], axis=0) + s.item() * np.eye(Phis[0].shape[1])
    target = np.mean(Phis, axis=0).T @ (counts[:, None] * Y.numpy())
    np.testing.assert_allclose(mean, np.linalg.solve(A, target), rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(covariance, s.item() * np.linalg.inv(A), rtol=0.0, atol=1e-10)


def test_number_of_draws_decreases_with_the_number_of_rows():
    numbers = [n_latent_draws_for(n_rows) for n_rows in (1, 100, 2_500, 10_000, 1_000_000)]
    assert numbers == sorted(numbers, reverse=True)
    assert (numbers[0], numbers[-1]) == (8, 1)


def test_weights_of_a_column_solve_the_system_of_its_observed_rows(generator):
    Y, observed, Phis = draw_incomplete_problem(generator)
    s = torch.tensor(0.2, dtype=torch.float64)
    mean, _, _ = infer_weights_missing(Y, observed, Phis, s)
    for m in range(5):
        rows = observed[:, m]
        A = sum(Phi[rows].T @ Phi[rows] for Phi in Phis) / 3 + s * torch.eye(6, dtype=torch.float64)
        expected = torch.linalg.solve(A, sum(Phi[rows].T for Phi in Phis) @ Y[rows, m] / 3)
        torch.testing.assert_close(mean[:, m], expected, rtol=1e-8, atol=1e-10)


def test_values_of_missing_entries_do_not_influence_the_weights(generator):
    Y, observed, Phis = draw_incomplete_problem(generator)
    s = torch.tensor(0.2, dtype=torch.float64)
    one, other = (infer_weights_missing(Z, observed, Phis, s)[0] for Z in (Y, Y.masked_fill(~observed, 1e6)))
    torch.testing.assert_close(one, other, rtol=1e-10, atol=0.0)


def test_covariance_is_inflated_by_missing_entries(generator):
    N = 4000
    Phi, s = normal((N, 6), generator), torch.tensor(0.2, dtype=torch.float64)
    observed = uniform(0.0, 1.0, (N, 2), generator) > torch.tensor([0.2, 0.6], dtype=torch.float64)
    _, covariance, inflation = infer_weights_missing(normal((N, 2), generator), observed, [Phi], s)
    for m in range(2):
        rows = observed[:, m]
        exact = s * torch.linalg.inv(Phi[rows].T @ Phi[rows] + s * torch.eye(6, dtype=torch.float64))
        # rows are random, so the sums of a column vary by about 4 / sqrt(observed rows)
        torch.testing.assert_close(
            (covariance * inflation[m]).diagonal(), exact.diagonal(), rtol=4 / rows.sum().item() ** 0.5, atol=0.0
        )


def test_column_without_observed_entries_has_a_large_but_finite_covariance(generator):
    Y, observed, Phis = draw_incomplete_problem(generator)
    observed[:, 2], observed[:, 3] = False, False
    observed[7, 3] = True
    mean, _, inflation = infer_weights_missing(Y, observed, Phis, torch.tensor(0.2, dtype=torch.float64))
    assert (mean[:, 2] == 0).all()
    assert inflation[2] == inflation[3] > inflation[[0, 1, 4]].max()
    assert torch.isfinite(inflation).all()
