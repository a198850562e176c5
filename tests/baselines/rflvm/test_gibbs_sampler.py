"""Conditionals of the Gibbs sampler compared with NumPy and SciPy.

Elliptical slice sampling leaves the posterior invariant.
"""

import numpy as np
import pytest
from scipy import integrate, stats

from mvlvm.baselines.rflvm.dirichlet_mixture import GammaPrior, MixtureSample
from mvlvm.baselines.rflvm.gibbs_sampler import (
    ViewSample,
    draw_latents,
    draw_noise,
    draw_points,
    draw_weights,
    elliptical_slice_step,
    features,
    log_evidence,
    sufficient_statistics,
    weight_posterior,
)

STANDARD_ERRORS = 4.0


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_features_are_cosines_and_sines_of_unit_norm(rng):
    X, W = rng.standard_normal((5, 2)), rng.standard_normal((3, 2))
    Phi = features(X, W)
    expected = [[f(w @ x) / np.sqrt(3) for f in (np.cos, np.sin) for w in W] for x in X]
    np.testing.assert_allclose(Phi, expected, rtol=1e-12)
    # their inner products are the kernel with these spectral points
    kernel = np.mean([np.cos((X[:, None] - X[None]) @ w) for w in W], axis=0)
    np.testing.assert_allclose(Phi @ Phi.T, kernel, atol=1e-12)


def test_differences_of_log_evidence_match_gaussian_marginal(rng):
    Y, s = rng.standard_normal((6, 3)), 0.3
    Phis = [features(rng.standard_normal((6, 2)), rng.standard_normal((2, 2))) for _ in range(2)]
    ours = [log_evidence(sufficient_statistics(Y, Phi), s) for Phi in Phis]
    exact = [stats.multivariate_normal.logpdf(Y.T, cov=Phi @ Phi.T + s * np.eye(6)).sum() for Phi in Phis]
    np.testing.assert_allclose(ours[1] - ours[0], exact[1] - exact[0], rtol=1e-10)


def test_weight_samples_match_bayesian_regression(rng):
    X, W, Y, s = rng.standard_normal((7, 2)), rng.standard_normal((2, 2)), rng.standard_normal((7, 2)), 0.4
    Phi = features(X, W)
    precision = np.eye(4) + Phi.T @ Phi / s
    expected = np.linalg.inv(precision) @ Phi.T @ Y / s
    mean, L = weight_posterior(Y, Phi, s)
    np.testing.assert_allclose(mean, expected, rtol=1e-10)
    np.testing.assert_allclose(L @ L.T / s, precision, rtol=1e-10)
    draws = np.array([draw_weights(Y, Phi, s, rng) for _ in range(4000)]) - expected
    outer = np.einsum("nim,njm->mnij", draws, draws)
    for found, exact in [(draws, 0.0), *((products, np.linalg.inv(precision)) for products in outer)]:
        errors = found.std(axis=0) / np.sqrt(len(found))
        assert np.abs((found.mean(axis=0) - exact) / errors).max() < STANDARD_ERRORS


def test_noise_variance_samples_are_inverse_gamma(rng):
    residual, prior = rng.standard_normal((4, 3)), GammaPrior(2.0, 0.7)
    exact = stats.invgamma(2.0 + 12 / 2, scale=0.7 + (residual**2).sum() / 2)
    draws = np.array([draw_noise(residual, prior, rng) for _ in range(5000)])
    assert abs(draws.mean() - exact.mean()) < STANDARD_ERRORS * exact.std() / np.sqrt(len(draws))
    assert stats.kstest(draws, exact.cdf).pvalue > 1e-4


def test_spectral_point_samples_match_posterior(rng):
    # one point in one dimension: the posterior by quadrature
    X, s = np.linspace(-1.5, 1.5, 5)[:, None], 0.3
    Y = np.sin(2 * X) + 0.3 * rng.standard_normal((5, 1))
    mixture = MixtureSample(np.array([0]), np.array([[0.5]]), np.array([[[1.7]]]), 1.0)

    def density(w):
        Phi = features(X, np.array([[w]]))
        evidence = stats.multivariate_normal.pdf(Y[:, 0], cov=Phi @ Phi.T + s * np.eye(5))
        return evidence * stats.norm.pdf(w, 0.5, np.sqrt(1.7))

    total, mean, square = (integrate.quad(lambda w, k=k: w**k * density(w), -9, 9, limit=200)[0] for k in range(3))
    W, found = np.array([[0.5]]), []
    for _ in range(3000):
        W = draw_points(Y, X, W, mixture, s, rng)
        found.append([W[0, 0], W[0, 0] ** 2])
    batches = np.reshape(found, (60, -1, 2)).mean(axis=1)
    errors = batches.std(axis=0) / np.sqrt(len(batches))
    assert np.abs((batches.mean(axis=0) - [mean / total, square / total]) / errors).max() < STANDARD_ERRORS
    assert abs(mean / total - 0.5) > 0.2  # otherwise the data would not be informative


def test_proposals_are_drawn_from_mixture_component(rng):
    # without data every proposal is accepted
    mixture = MixtureSample(np.array([1, 0, 1]), np.array([[-5.0], [5.0]]), np.full((2, 1, 1), 0.01), 1.0)
    W = draw_points(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((3, 1)), mixture, 1.0, rng)
    np.testing.assert_allclose(W[:, 0], [5, -5, 5], atol=0.5)


def test_latent_samples_match_posterior_given_all_views(rng):
    # many identical rows in one dimension: the posterior by quadrature
    n_rows = 4000
    one = MixtureSample(np.zeros(2, dtype=int), np.zeros((1, 1)), np.ones((1, 1, 1)), 1.0)
    views = [
        ViewSample(rng.standard_normal((2, 1)), one, rng.standard_normal((4, M)), s) for M, s in ((2, 0.5), (1, 0.2))
    ]
    rows = [rng.standard_normal((1, 2)), rng.standard_normal((1, 1))]

    def density(x):
        value = stats.norm.pdf(x)
        for y, view in zip(rows, views, strict=True):
            fit = features(np.array([[x]]), view.points) @ view.weights
            value *= stats.norm.pdf(y - fit, scale=np.sqrt(view.noise_variance)).prod()
        return value

    total, mean, square = (integrate.quad(lambda x, k=k: x**k * density(x), -8, 8, limit=200)[0] for k in range(3))
    X = rng.standard_normal((n_rows, 1))
    Ys = [np.tile(y, (n_rows, 1)) for y in rows]
    for _ in range(40):
        X = draw_latents(Ys, X, views, rng)
    found = np.column_stack([X, X**2])
    errors = found.std(axis=0) / np.sqrt(n_rows)
    assert np.abs((found.mean(axis=0) - [mean / total, square / total]) / errors).max() < STANDARD_ERRORS


# Exceeded by chance in one of 16,000 comparisons.
N = 4000


def test_elliptical_slice_step_preserves_gaussian_posterior():
    # x ~ N(0, I) and y | x ~ N(H x, s I), so that x | y ~ N(C H' y / s, C) with C = (I + H' H / s)^-1
    rng = np.random.default_rng(0)
    H, s = np.array([[1.0, 0.5], [0.0, 2.0], [0.3, -1.0]]), 0.5
    Y = rng.standard_normal((N, 3))
    C = np.linalg.inv(np.eye(2) + H.T @ H / s)
    means = Y @ H @ C / s
    X = means + rng.standard_normal((N, 2)) @ np.linalg.cholesky(C).T

    def log_likelihood(tried, rows):
        return -((Y[rows] - tried @ H.T) ** 2).sum(axis=1) / (2 * s)

    for _ in range(5):
        X = elliptical_slice_step(X, log_likelihood, rng)
    whitened = (X - means) @ np.linalg.inv(np.linalg.cholesky(C)).T
    products = np.column_stack([whitened, whitened[:, :1] * whitened[:, 1:], whitened**2 - 1])
    errors = products.std(axis=0) / np.sqrt(N)
    assert np.abs(products.mean(axis=0) / errors).max() < STANDARD_ERRORS


def test_elliptical_slice_samples_non_gaussian_posterior():
    # p(x) is proportional to N(x; 0, 1) for x > 0.7 and zero elsewhere
    rng = np.random.default_rng(1)
    X = np.full((N, 1), 2.5)
    for _ in range(30):
        X = elliptical_slice_step(X, lambda tried, rows: np.where(tried[:, 0] > 0.7, 0.0, -np.inf), rng)
    assert stats.kstest(X[:, 0], stats.truncnorm(0.7, np.inf).cdf).pvalue > 1e-4


def test_rows_use_their_respective_likelihoods():
    rng = np.random.default_rng(2)
    wanted = np.array([[-2.0], [0.0], [3.0]])
    X = np.zeros((3, 1))
    for _ in range(50):
        X = elliptical_slice_step(X, lambda tried, rows: -1e4 * ((tried - wanted[rows]) ** 2).sum(axis=1), rng)
    # standard deviations of 1 / sqrt(2e4 + 1) around 2e4 / (2e4 + 1) times the target
    np.testing.assert_allclose(X, wanted, atol=STANDARD_ERRORS * 0.0071 + 3 / 2e4)


def test_row_keeps_value_if_no_proposal_is_accepted():
    X = np.array([[0.4, -0.2]])
    before = np.array([0.0])
    calls = []

    def log_likelihood(tried, rows):
        calls.append(1)
        return before if len(calls) == 1 else np.array([-np.inf])

    np.testing.assert_array_equal(elliptical_slice_step(X, log_likelihood, np.random.default_rng(0)), X)
