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
from mvlvm.inference.view_function import ViewEntries
from mvlvm.likelihoods.counts import Poisson
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.weight_posterior import Prediction
from tests.inference.observed_views import N, draw_function, draw_observed
from tests.inference.quadratic_features import linear_function, quadratic_function
from tests.mixtures import normal, uniform
from tests.monte_carlo import assert_mean
from tests.oracles import standard_normal_quadrature

A = 5


def certain_candidates(D, generator, n_candidates=A):
    mean = normal((n_candidates, D), generator)
    return CandidateLatents(mean, torch.zeros_like(mean), [mean])


def corners(D):
    """Return equally likely points with the mean and covariance of a standard normal."""
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=D)), dtype=torch.float64)


def uncertain_candidates(D, generator):
    """Return candidates whose draws give the exact variance of a linear function."""
    mean, std = normal((A, D), generator), uniform(0.2, 0.6, (A, D), generator)
    return CandidateLatents(mean, std, [mean + std * corner for corner in corners(D)])


def posterior_of(observed, candidates, tempering):
    return mixture_posterior(
        observed, candidates, [candidates.predict(function) for function, _ in observed], tempering=tempering
    )


def linear_observed(widths, generator):
    """Return linear views of a one-dimensional latent, with missing entries, and their loadings and offsets."""
    X, observed, parts = normal((N, 1), generator), [], []
    for M in widths:
        loadings, offset = normal((M, 1), generator), normal((M,), generator)
        Y = X @ loadings.T + offset + 0.3**0.5 * normal((N, M), generator)
        Y[0, 0] = torch.nan
        observed.append((linear_function(loadings, offset, 0.3), Y))
        parts.append((loadings.numpy()[:, 0], offset.numpy()))
    return observed, [np.concatenate(values) for values in zip(*parts, strict=True)]


def integrate(y, loadings, offset, candidates, tempering):
    """Return log evidence and posterior mean of one row under a prior of half N(0, 1) and half candidate Gaussians."""
    line, (hermite, weights) = np.linspace(-8, 8, 16001), standard_normal_quadrature()
    x, prior = [line], [0.5 * norm.pdf(line) * (line[1] - line[0])]
    for mean, std in zip(candidates.mean[:, 0].tolist(), candidates.std[:, 0].tolist(), strict=True):
        x.append(mean + std * hermite)
        prior.append(0.5 * weights / len(candidates.mean))
    x, prior = np.concatenate(x), np.concatenate(prior)
    terms = norm.logpdf(y, x[:, None] * loadings + offset, math.sqrt(0.3))
    mass = prior * np.exp(tempering * np.nansum(terms, axis=1))
    return math.log(mass.sum()), mass @ x / mass.sum()


@pytest.mark.parametrize("tempering", [1.0, 0.3, 0.0])
def test_posterior_matches_numerical_integration(tempering, generator):
    observed, functions = linear_observed((3, 2), generator)
    candidates = certain_candidates(1, generator)
    posterior = posterior_of(observed, candidates, tempering)
    of_candidates = posterior.candidate_weight @ candidates.mean
    mean = of_candidates + (posterior.mode_weight[:, :, None] * posterior.modes.mean).sum(dim=1)
    for n in range(N):
        y = np.concatenate([Y[n].numpy() for _, Y in observed])
        log_evidence, expectation = integrate(y, *functions, candidates, tempering)
        np.testing.assert_allclose(posterior.log_evidence[n].item(), log_evidence, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(mean[n].item(), expectation, rtol=0.0, atol=1e-7)


def test_evidence_of_one_column_includes_the_variance_of_candidates(generator):
    """For a single column the average over the Gaussian of a candidate is exact."""
    observed, functions = linear_observed((1,), generator)
    candidates = uncertain_candidates(1, generator)
    posterior = posterior_of(observed, candidates, 1.0)
    for n in range(1, N):
        log_evidence, _ = integrate(observed[0][1][n].numpy(), *functions, candidates, 1.0)
        np.testing.assert_allclose(posterior.log_evidence[n].item(), log_evidence, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("tempering", [1.0, 0.1, 0.0])
def test_mixture_weights_sum_to_one(tempering, generator):
    observed, candidates = draw_observed(2, generator, certain=False), certain_candidates(2, generator)
    posterior = posterior_of(observed, candidates, tempering)
    weights = torch.cat([posterior.candidate_weight, posterior.mode_weight], dim=1)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(N).double(), rtol=1e-12, atol=0.0)


def test_posterior_at_tempering_zero_is_the_prior(generator):
    observed, candidates = draw_observed(2, generator, certain=False), certain_candidates(2, generator)
    posterior = posterior_of(observed, candidates, 0.0)
    torch.testing.assert_close(
        posterior.candidate_weight, torch.full((N, A), 0.5 / A, dtype=torch.float64), rtol=1e-9, atol=0.0
    )
    best = posterior.mode_weight.argmax(dim=1)
    torch.testing.assert_close(
        posterior.mode_weight[range(N), best], torch.full((N,), 0.5).double(), rtol=1e-9, atol=0.0
    )
    torch.testing.assert_close(posterior.modes.mean[range(N), best], torch.zeros(N, 2).double(), rtol=0.0, atol=1e-9)
    torch.testing.assert_close(posterior.log_evidence, torch.zeros(N).double(), rtol=0.0, atol=1e-9)


def test_one_candidate_is_enough(generator):
    observed, functions = linear_observed((3,), generator)
    candidates = certain_candidates(1, generator, n_candidates=1)
    log_evidence = posterior_of(observed, candidates, 1.0).log_evidence
    for n in range(N):
        expected, _ = integrate(observed[0][1][n].numpy(), *functions, candidates, 1.0)
        np.testing.assert_allclose(log_evidence[n].item(), expected, rtol=0.0, atol=1e-9)


def multimodal_posterior(generator):
    """Return a posterior with several modes and candidates of considerable weight, and the candidates."""
    zero = torch.zeros((2, 2), dtype=torch.float64)
    function = quadratic_function(zero, torch.eye(2, dtype=torch.float64), zero[0], 1.0)
    candidates = uncertain_candidates(2, generator)
    posterior = posterior_of([(function, uniform(0.5, 2.0, (N, 2), generator))], candidates, 0.5)
    assert (torch.cat([posterior.candidate_weight, posterior.mode_weight], dim=1) > 0.01).sum(dim=1).min() > 3
    return posterior, candidates


def test_predictive_moments_are_those_of_the_mixture(generator):
    posterior, candidates = multimodal_posterior(generator)
    loadings, offset = normal((3, 2), generator), normal((3,), generator)
    function = linear_function(loadings, offset, 0.2)
    mean, variance = posterior_predictive(posterior, function, candidates.predict(function), corners(2))
    W, b = loadings.numpy(), offset.numpy()
    for n in range(N):
        components = [
            *zip(posterior.candidate_weight[n], candidates.mean, candidates.std, strict=True),
            *zip(posterior.mode_weight[n], posterior.modes.mean[n], posterior.modes.std[n], strict=True),
        ]
        first, second = np.zeros(3), np.zeros(3)
        for weight, center, std in components:
            at = W @ center.numpy() + b
            first += weight.item() * at
            second += weight.item() * (at**2 + W**2 @ std.numpy() ** 2)
        np.testing.assert_allclose(mean[n].numpy(), first, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(variance[n].numpy(), second - first**2, rtol=1e-10, atol=0.0)


def test_counts_are_averaged_over_the_mixture_on_their_own_scale(generator):
    """In every component E y = e^(m + v/2) and E y^2 = E y + e^(2 m + 2 v)."""
    posterior, candidates = multimodal_posterior(generator)
    loadings, offset = normal((3, 2), generator), normal((3,), generator)
    entries = ViewEntries(replace(linear_function(loadings, offset, 0.2), likelihood=Poisson()), include_noise=True)
    mean, variance = posterior_predictive(posterior, entries, candidates.predict(entries), corners(2))
    W, b = loadings.numpy(), offset.numpy()
    for n in range(N):
        components = [
            *zip(posterior.candidate_weight[n], candidates.mean, candidates.std, strict=True),
            *zip(posterior.mode_weight[n], posterior.modes.mean[n], posterior.modes.std[n], strict=True),
        ]
        first, second = np.zeros(3), np.zeros(3)
        for weight, center, std in components:
            m, v = W @ center.numpy() + b, W**2 @ std.numpy() ** 2
            first += weight.item() * np.exp(m + v / 2)
            second += weight.item() * (np.exp(m + v / 2) + np.exp(2 * m + 2 * v))
        np.testing.assert_allclose(mean[n].numpy(), first, rtol=1e-10)
        np.testing.assert_allclose(variance[n].numpy(), second - first**2, rtol=1e-9)


def test_predictive_moments_match_simulated_rows(generator):
    """For random features, whose variance is an average over draws."""
    posterior, candidates = multimodal_posterior(generator)
    function, n_rows = draw_function(2, 3, generator, certain=False), 4000
    eps = normal((400, 2), generator)
    at_candidates = function.predict(
        candidates.mean, candidates.std, [candidates.mean + candidates.std * e for e in eps]
    )
    mean, variance = posterior_predictive(posterior, function, at_candidates, eps)
    weights = torch.cat([posterior.candidate_weight[0], posterior.mode_weight[0]])
    centers, stds = (
        torch.cat([candidates.mean, posterior.modes.mean[0]]),
        torch.cat([candidates.std, posterior.modes.std[0]]),
    )
    which = torch.multinomial(weights, n_rows, replacement=True, generator=generator)
    at = function.linearise(centers[which] + stds[which] * normal((n_rows, 2), generator)).moments
    rows = at.mean + at.variance.sqrt() * normal((n_rows, 3), generator)
    assert_mean(rows, mean[0])
    deviations = (rows - mean[0]).square()
    error = deviations.std(dim=0) / n_rows**0.5
    # the prediction averages over 400 draws per component, the simulation over 4,000 in total
    assert ((deviations.mean(dim=0) - variance[0]).abs() < 4 * error * (1 + 10**0.5)).all()


def test_rows_do_not_depend_on_each_other(generator):
    observed, candidates = draw_observed(2, generator, certain=False), certain_candidates(2, generator)
    target, eps = draw_function(2, 3, generator, certain=False), normal((4, 2), generator)

    def results(rows):
        posterior = posterior_of([(function, Y[rows]) for function, Y in observed], candidates, 0.5)
        prediction = posterior_predictive(posterior, target, candidates.predict(target), eps)
        return [
            posterior.candidate_weight,
            *posterior.modes,
            posterior.mode_weight,
            posterior.log_evidence,
            *prediction,
        ]

    together = results(list(range(N)))
    for rows in [[n] for n in range(N)] + [list(reversed(range(N)))]:
        for alone, among_others in zip(results(rows), together, strict=True):
            torch.testing.assert_close(alone, among_others[rows], rtol=1e-10, atol=1e-10)


def test_candidates_are_the_latents_of_some_rows(generator):
    latent = GaussianLatent(normal((8, 2), generator).float(), 0.3)
    rows = torch.tensor([6, 0, 3])
    with torch.no_grad():
        posterior = candidate_latents(latent, rows, 2000, generator)
    assert torch.equal(posterior.mean, latent.mean.detach()[rows].double())
    assert torch.equal(posterior.std, latent.std.detach()[rows].double())
    draws = torch.stack(list(posterior.draws))[:1000]  # the others are antithetic
    assert draws.dtype == torch.float64
    assert_mean(draws, posterior.mean)
    assert_mean((draws - posterior.mean).square(), posterior.std.square())


def test_antithetic_draws_are_standard_normal_and_float64(generator):
    draws = antithetic_normals((4000, 2), normal((8, 2), generator).float(), generator)
    assert draws.dtype == torch.float64
    half = draws[:2000]
    assert torch.equal(draws[2000:], -half)
    assert_mean(half, torch.zeros(2))
    assert_mean(half[:, :, None] * half[:, None, :], torch.eye(2))


def test_initial_latents_are_the_best_candidates_and_the_origin(generator):
    mean = normal((6, 2), generator)
    posterior = CandidateLatents(mean, torch.ones_like(mean), [mean])
    initial = initial_latents(torch.tensor([[0.0, 5, 1, 2, 4, 3]], dtype=torch.float64), posterior)
    torch.testing.assert_close(initial[0], torch.cat([mean[[1, 4, 5, 3]], torch.zeros((1, 2))]), rtol=0.0, atol=0.0)


def test_rounding_does_not_make_variances_negative(generator):
    """With means of 1e9, a variance of 0.1 is lost in a difference of squares."""
    function = draw_function(2, 3, generator, certain=True)
    M = function.posteriors[0].mean.shape[1]
    at_candidates = Prediction(torch.full((3, M), 1e9).double(), torch.full((3, M), 0.1).double())
    modes = Modes(torch.zeros((2, 1, 2)).double(), torch.ones((2, 1, 2)).double(), torch.zeros((2, 1)).double())
    weight = torch.full((2, 3), 1 / 3).double()
    posterior = MixturePosterior(weight, modes, torch.zeros((2, 1)).double(), torch.zeros(2).double())
    prediction = posterior_predictive(posterior, function, at_candidates, normal((2, 2), generator))
    assert (prediction.variance >= 0).all()
