import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from mvlvm.inference.laplace import Modes
from mvlvm.inference.posterior import (
    CandidateLatents,
    MixturePosterior,
    antithetic_normals,
    candidate_latents,
    initial_latents,
    mixture_posterior,
    posterior_predictive,
)
from mvlvm.likelihoods.counts import Poisson
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.weight_posterior import Prediction, ViewEntries
from tests.inference.quadratic_features import linear_function, quadratic_function
from tests.mixtures import normal, uniform
from tests.models.seen_views import N, draw_function, draw_seen
from tests.monte_carlo import assert_mean
from tests.oracles import standard_normal_quadrature

A = 5


def certain_places(D, generator, n_places=A):
    mean = normal((n_places, D), generator)
    return CandidateLatents(mean, torch.zeros_like(mean), [mean])


def corners(D):
    """Equally likely points with the mean and covariance of a standard normal."""
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=D)), dtype=torch.float64)


def uncertain_places(D, generator):
    """MixturePosterior whose draws give the variance of a linear function exactly."""
    mean, std = normal((A, D), generator), uniform(0.2, 0.6, (A, D), generator)
    return CandidateLatents(mean, std, [mean + std * corner for corner in corners(D)])


def place_seen(seen, training, tempering):
    return mixture_posterior(seen, training, [training.predict(function) for function, _ in seen], tempering=tempering)


def linear_seen(widths, generator):
    """Linearisation views of a latent of one dimension, and rows of them with gaps; and what makes the functions."""
    X, seen, parts = normal((N, 1), generator), [], []
    for M in widths:
        loadings, offset = normal((M, 1), generator), normal((M,), generator)
        Y = X @ loadings.T + offset + 0.3**0.5 * normal((N, M), generator)
        Y[0, 0] = torch.nan
        seen.append((linear_function(loadings, offset, 0.3), Y))
        parts.append((loadings.numpy()[:, 0], offset.numpy()))
    return seen, [np.concatenate(values) for values in zip(*parts, strict=True)]


def integrate(y, loadings, offset, training, tempering):
    """Log evidence and posterior mean of one row's latent, over a prior of half N(0, 1) and half training normals."""
    line, (hermite, weights) = np.linspace(-8, 8, 16001), standard_normal_quadrature()
    x, prior = [line], [0.5 * norm.pdf(line) * (line[1] - line[0])]
    for mean, std in zip(training.mean[:, 0].tolist(), training.std[:, 0].tolist(), strict=True):
        x.append(mean + std * hermite)
        prior.append(0.5 * weights / len(training.mean))
    x, prior = np.concatenate(x), np.concatenate(prior)
    terms = norm.logpdf(y, x[:, None] * loadings + offset, math.sqrt(0.3))
    mass = prior * np.exp(tempering * np.nansum(terms, axis=1))
    return math.log(mass.sum()), mass @ x / mass.sum()


@pytest.mark.parametrize("tempering", [1.0, 0.3, 0.0])
def test_posterior_is_that_of_numerical_integration(tempering, generator):
    seen, functions = linear_seen((3, 2), generator)
    training = certain_places(1, generator)
    places = place_seen(seen, training, tempering)
    of_training = places.training_weight @ training.mean
    mean = of_training + (places.mode_weight[:, :, None] * places.modes.mean).sum(dim=1)
    for n in range(N):
        y = np.concatenate([Y[n].numpy() for _, Y in seen])
        log_evidence, expectation = integrate(y, *functions, training, tempering)
        np.testing.assert_allclose(places.log_evidence[n].item(), log_evidence, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(mean[n].item(), expectation, rtol=0.0, atol=1e-7)


def test_evidence_of_one_column_takes_in_the_spread_of_training_places(generator):
    """Over one column the average over a place's normal is exact."""
    seen, functions = linear_seen((1,), generator)
    training = uncertain_places(1, generator)
    places = place_seen(seen, training, 1.0)
    for n in range(1, N):
        log_evidence, _ = integrate(seen[0][1][n].numpy(), *functions, training, 1.0)
        np.testing.assert_allclose(places.log_evidence[n].item(), log_evidence, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("tempering", [1.0, 0.1, 0.0])
def test_weights_are_shares(tempering, generator):
    seen, training = draw_seen(2, generator, certain=False), certain_places(2, generator)
    places = place_seen(seen, training, tempering)
    weights = torch.cat([places.training_weight, places.mode_weight], dim=1)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(N).double(), rtol=1e-12, atol=0.0)


def test_likelihood_that_does_not_count_leaves_the_prior(generator):
    seen, training = draw_seen(2, generator, certain=False), certain_places(2, generator)
    places = place_seen(seen, training, 0.0)
    torch.testing.assert_close(
        places.training_weight, torch.full((N, A), 0.5 / A, dtype=torch.float64), rtol=1e-9, atol=0.0
    )
    best = places.mode_weight.argmax(dim=1)
    torch.testing.assert_close(places.mode_weight[range(N), best], torch.full((N,), 0.5).double(), rtol=1e-9, atol=0.0)
    torch.testing.assert_close(places.modes.mean[range(N), best], torch.zeros(N, 2).double(), rtol=0.0, atol=1e-9)
    torch.testing.assert_close(places.log_evidence, torch.zeros(N).double(), rtol=0.0, atol=1e-9)


def test_one_training_place_is_enough(generator):
    seen, functions = linear_seen((3,), generator)
    training = certain_places(1, generator, n_places=1)
    log_evidence = place_seen(seen, training, 1.0).log_evidence
    for n in range(N):
        expected, _ = integrate(seen[0][1][n].numpy(), *functions, training, 1.0)
        np.testing.assert_allclose(log_evidence[n].item(), expected, rtol=0.0, atol=1e-9)


def two_sided(generator):
    """Rows that two modes and several training places explain, none of them alone."""
    zero = torch.zeros((2, 2), dtype=torch.float64)
    function = quadratic_function(zero, torch.eye(2, dtype=torch.float64), zero[0], 1.0)
    training = uncertain_places(2, generator)
    places = place_seen([(function, uniform(0.5, 2.0, (N, 2), generator))], training, 0.5)
    assert (torch.cat([places.training_weight, places.mode_weight], dim=1) > 0.01).sum(dim=1).min() > 3
    return places, training


def test_prediction_has_the_moments_of_the_mixture(generator):
    places, training = two_sided(generator)
    loadings, offset = normal((3, 2), generator), normal((3,), generator)
    function = linear_function(loadings, offset, 0.2)
    mean, variance = posterior_predictive(places, function, training.predict(function), corners(2))
    W, b = loadings.numpy(), offset.numpy()
    for n in range(N):
        normals = [*zip(places.training_weight[n], training.mean, training.std, strict=True),
                   *zip(places.mode_weight[n], places.modes.mean[n], places.modes.std[n], strict=True)]  # fmt: skip
        first, second = np.zeros(3), np.zeros(3)
        for weight, center, std in normals:
            at = W @ center.numpy() + b
            first += weight.item() * at
            second += weight.item() * (at**2 + W**2 @ std.numpy() ** 2)
        np.testing.assert_allclose(mean[n].numpy(), first, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(variance[n].numpy(), second - first**2, rtol=1e-10, atol=0.0)


def test_counts_are_averaged_over_places_and_not_their_logarithms(generator):
    """E y = e^(m + v/2) in every place, and E y^2 = E y + e^(2 m + 2 v)."""
    places, training = two_sided(generator)
    loadings, offset = normal((3, 2), generator), normal((3,), generator)
    entries = ViewEntries(replace(linear_function(loadings, offset, 0.2), likelihood=Poisson()), include_noise=True)
    mean, variance = posterior_predictive(places, entries, training.predict(entries), corners(2))
    W, b = loadings.numpy(), offset.numpy()
    for n in range(N):
        normals = [*zip(places.training_weight[n], training.mean, training.std, strict=True),
                   *zip(places.mode_weight[n], places.modes.mean[n], places.modes.std[n], strict=True)]  # fmt: skip
        first, second = np.zeros(3), np.zeros(3)
        for weight, center, std in normals:
            m, v = W @ center.numpy() + b, W**2 @ std.numpy() ** 2
            first += weight.item() * np.exp(m + v / 2)
            second += weight.item() * (np.exp(m + v / 2) + np.exp(2 * m + 2 * v))
        np.testing.assert_allclose(mean[n].numpy(), first, rtol=1e-10)
        np.testing.assert_allclose(variance[n].numpy(), second - first**2, rtol=1e-9)


def test_prediction_is_that_of_simulated_rows(generator):
    """A function of random features, whose variance is an average over draws: all of it against simulation."""
    places, training = two_sided(generator)
    function, n_rows = draw_function(2, 3, generator, certain=False), 4000
    eps = normal((400, 2), generator)
    at_training = function.predict(training.mean, training.std, [training.mean + training.std * e for e in eps])
    mean, variance = posterior_predictive(places, function, at_training, eps)
    weights = torch.cat([places.training_weight[0], places.mode_weight[0]])
    centers, stds = torch.cat([training.mean, places.modes.mean[0]]), torch.cat([training.std, places.modes.std[0]])
    which = torch.multinomial(weights, n_rows, replacement=True, generator=generator)
    at = function.linearise(centers[which] + stds[which] * normal((n_rows, 2), generator))
    rows = at.mean + at.variance.sqrt() * normal((n_rows, 3), generator)
    assert_mean(rows, mean[0])
    deviations = (rows - mean[0]).square()
    error = deviations.std(dim=0) / n_rows**0.5
    # the prediction averages over 400 draws in every part, the simulation over ten times as many in all
    assert ((deviations.mean(dim=0) - variance[0]).abs() < 4 * error * (1 + 10**0.5)).all()


def test_rows_do_not_depend_on_each_other(generator):
    seen, training = draw_seen(2, generator, certain=False), certain_places(2, generator)
    target, eps = draw_function(2, 3, generator, certain=False), normal((4, 2), generator)

    def results(rows):
        places = place_seen([(function, Y[rows]) for function, Y in seen], training, 0.5)
        prediction = posterior_predictive(places, target, training.predict(target), eps)
        return [places.training_weight, *places.modes, places.mode_weight, places.log_evidence, *prediction]

    together = results(list(range(N)))
    for rows in [[n] for n in range(N)] + [list(reversed(range(N)))]:
        for alone, among_others in zip(results(rows), together, strict=True):
            torch.testing.assert_close(alone, among_others[rows], rtol=1e-10, atol=1e-10)


def test_training_places_are_the_latents_of_some_rows(generator):
    latent = GaussianLatent(normal((8, 2), generator).float(), 0.3)
    rows = torch.tensor([6, 0, 3])
    with torch.no_grad():
        places = candidate_latents(latent, rows, 2000, generator)
    assert torch.equal(places.mean, latent.mean.detach()[rows].double())
    assert torch.equal(places.std, latent.std.detach()[rows].double())
    draws = torch.stack(list(places.draws))[:1000]  # the others mirror them
    assert draws.dtype == torch.float64
    assert_mean(draws, places.mean)
    assert_mean((draws - places.mean).square(), places.std.square())


def test_standard_draws_are_standard_normal_and_double(generator):
    draws = antithetic_normals((4000, 2), normal((8, 2), generator).float(), generator)
    assert draws.dtype == torch.float64
    half = draws[:2000]
    assert torch.equal(draws[2000:], -half)
    assert_mean(half, torch.zeros(2))
    assert_mean(half[:, :, None] * half[:, None, :], torch.eye(2))


def test_climbs_start_at_the_best_places_and_at_the_origin(generator):
    mean = normal((6, 2), generator)
    places = CandidateLatents(mean, torch.ones_like(mean), [mean])
    first = initial_latents(torch.tensor([[0.0, 5, 1, 2, 4, 3]], dtype=torch.float64), places)
    torch.testing.assert_close(first[0], torch.cat([mean[[1, 4, 5, 3]], torch.zeros((1, 2))]), rtol=0.0, atol=0.0)


def test_no_variance_is_negative_by_rounding(generator):
    """Means of 1e9 leave nothing of a variance of 0.1 in a difference of squares."""
    function = draw_function(2, 3, generator, certain=True)
    M = function.posteriors[0].mean.shape[1]
    at_training = Prediction(torch.full((3, M), 1e9).double(), torch.full((3, M), 0.1).double())
    modes = Modes(torch.zeros((2, 1, 2)).double(), torch.ones((2, 1, 2)).double(), torch.zeros((2, 1)).double())
    weight = torch.full((2, 3), 1 / 3).double()
    places = MixturePosterior(weight, modes, torch.zeros((2, 1)).double(), torch.zeros(2).double())
    prediction = posterior_predictive(places, function, at_training, normal((2, 2), generator))
    assert (prediction.variance >= 0).all()
