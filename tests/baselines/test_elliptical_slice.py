"""Slice sampling of rows leaves their posterior as it is."""

import numpy as np
from scipy import stats

from mvlvm.baselines.elliptical_slice import slice_rows

# Exceeded by chance once in 16,000 comparisons.
STANDARD_ERRORS = 4.0
N = 4000


def test_rows_of_a_gaussian_posterior_keep_its_mean_and_covariance():
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
        X = slice_rows(X, log_likelihood, rng)
    whitened = (X - means) @ np.linalg.inv(np.linalg.cholesky(C)).T
    products = np.column_stack([whitened, whitened[:, :1] * whitened[:, 1:], whitened**2 - 1])
    errors = products.std(axis=0) / np.sqrt(N)
    assert np.abs(products.mean(axis=0) / errors).max() < STANDARD_ERRORS


def test_rows_find_a_posterior_that_is_not_gaussian():
    # p(x) is proportional to N(x; 0, 1) for x > 0.7 and is nothing elsewhere
    rng = np.random.default_rng(1)
    X = np.full((N, 1), 2.5)
    for _ in range(30):
        X = slice_rows(X, lambda tried, rows: np.where(tried[:, 0] > 0.7, 0.0, -np.inf), rng)
    assert stats.kstest(X[:, 0], stats.truncnorm(0.7, np.inf).cdf).pvalue > 1e-4


def test_every_row_moves_by_its_own_likelihood():
    rng = np.random.default_rng(2)
    wanted = np.array([[-2.0], [0.0], [3.0]])
    X = np.zeros((3, 1))
    for _ in range(50):
        X = slice_rows(X, lambda tried, rows: -1e4 * ((tried - wanted[rows]) ** 2).sum(axis=1), rng)
    # standard deviations of 1 / sqrt(2e4 + 1) around 2e4 / (2e4 + 1) of what is wanted
    np.testing.assert_allclose(X, wanted, atol=STANDARD_ERRORS * 0.0071 + 3 / 2e4)


def test_a_row_that_no_other_place_suits_stays():
    X = np.array([[0.4, -0.2]])
    before = np.array([0.0])
    calls = []

    def log_likelihood(tried, rows):
        calls.append(1)
        return before if len(calls) == 1 else np.array([-np.inf])

    np.testing.assert_array_equal(slice_rows(X, log_likelihood, np.random.default_rng(0)), X)
