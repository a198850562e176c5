import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import norm

from mvlvm.inference.view_function import (
    pairwise_log_likelihood,
    pairwise_row_log_density,
    row_log_density,
    row_log_likelihood,
)
from mvlvm.likelihoods import Categorical
from mvlvm.models.weight_posterior import Prediction
from tests.likelihoods.cases import CLASSES, ENTRYWISE, NOISE_VARIANCE, Case, M, N, softmax_log_density
from tests.mixtures import normal, uniform

ALL = {**ENTRYWISE, "categorical": Case(Categorical, CLASSES, softmax_log_density)}


def rows_of(name, generator):
    """Return a likelihood, rows with missing entries, and a prediction for each; counts are within reach of e^f."""
    case = ALL[name]
    likelihood, Y = case.make().double(), case.Y.clone().clamp(max=60)
    mean, variance = case.mean_and_variance(generator)
    if name == "categorical":
        Y[2] = torch.nan
    else:
        Y[0, 1], Y[4, :3] = torch.nan, torch.nan
    return likelihood, Y, Prediction(mean, 0.1 + variance)


@pytest.mark.parametrize("name", sorted(ALL))
def test_gradients_match_finite_differences(name, generator):
    likelihood, Y, predicted = rows_of(name, generator)
    result, step = row_log_likelihood(likelihood, Y, predicted), 1e-4

    def values(mean_step, variance_step):
        moved = Prediction(predicted.mean + mean_step, predicted.variance + variance_step)
        return row_log_likelihood(likelihood, Y, moved).value

    for m in range(M):
        one = step * torch.eye(M, dtype=torch.float64)[m]
        grad_mean = (values(one, 0) - values(-one, 0)) / (2 * step)
        grad_variance = (values(0, one) - values(0, -one)) / (2 * step)
        # the error of central differences is the squared step times third derivatives, about e^f for counts
        torch.testing.assert_close(result.grad_mean[:, m], grad_mean, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(result.grad_variance[:, m], grad_variance, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted(ALL))
def test_negative_hessian_matches_finite_differences_and_is_not_negative(name, generator):
    """A Gaussian has that of its predictive density; for the others it is exact where the density is log-concave."""
    likelihood, Y, predicted = rows_of(name, generator)
    step = 1e-3
    neg_hessian = row_log_likelihood(likelihood, Y, predicted).neg_hessian
    assert (neg_hessian >= 0).all()
    if name == "student-t":
        return
    for m in range(M):
        one = step * torch.eye(M, dtype=torch.float64)[m]
        ahead, behind = (
            row_log_likelihood(likelihood, Y, Prediction(predicted.mean + sign * one, predicted.variance)).grad_mean[
                :, m
            ]
            for sign in (1, -1)
        )
        torch.testing.assert_close(neg_hessian[:, m], (behind - ahead) / (2 * step), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", sorted(ALL))
def test_missing_entries_do_not_contribute(name, generator):
    likelihood, Y, predicted = rows_of(name, generator)
    elsewhere = Prediction(*(torch.where(torch.isnan(Y), values + 0.5, values) for values in predicted))
    missing = torch.isnan(Y)
    result, others = row_log_likelihood(likelihood, Y, predicted), row_log_likelihood(likelihood, Y, elsewhere)
    torch.testing.assert_close(result.value, others.value, rtol=0.0, atol=0.0)
    for part in (result.grad_mean, result.grad_variance, result.neg_hessian):
        assert (part[missing] == 0).all()


@pytest.mark.parametrize("name", sorted(ALL))
def test_pairwise_values_equal_those_of_single_rows(name, generator):
    likelihood, Y, predicted = rows_of(name, generator)
    pairs = pairwise_log_likelihood(likelihood, Y, predicted)
    for a in range(N):
        at_a = Prediction(*(values[a].expand(N, M).contiguous() for values in predicted))
        torch.testing.assert_close(pairs[:, a], row_log_likelihood(likelihood, Y, at_a).value, rtol=1e-8, atol=1e-8)


def test_gaussian_log_likelihood_is_the_predictive_log_density(generator):
    likelihood, Y, (mean, variance) = rows_of("gaussian", generator)
    expected = stats.norm.logpdf(Y.numpy(), mean.numpy(), np.sqrt(variance.numpy() + NOISE_VARIANCE))
    value = row_log_likelihood(likelihood, Y, Prediction(mean, variance)).value
    np.testing.assert_allclose(value.detach().numpy(), np.nansum(expected, axis=1), rtol=1e-6)


def test_other_likelihoods_use_the_expected_log_density(generator):
    likelihood, Y, (mean, variance) = rows_of("poisson", generator)
    # E log Poisson(y; e^f) = y m - e^(m + v / 2) - log y!
    expected = Y * mean - (mean + variance / 2).exp() - torch.lgamma(Y + 1)
    value = row_log_likelihood(likelihood, Y, Prediction(mean, variance)).value
    torch.testing.assert_close(value, expected.nansum(dim=1), rtol=1e-12, atol=1e-10)


N_ROWS, A, N_COLUMNS = 7, 4, 5


def rows_with_missing_entries(generator):
    Y = normal((N_ROWS, N_COLUMNS), generator)
    Y[0, 1], Y[2, :3], Y[5] = torch.nan, torch.nan, torch.nan
    return Y


def predictions(n, generator):
    return normal((n, N_COLUMNS), generator), uniform(0.01, 4.0, (n, N_COLUMNS), generator)


def test_log_density_is_a_sum_over_observed_entries(generator):
    Y, (mean, variance) = rows_with_missing_entries(generator), predictions(N_ROWS, generator)
    expected = np.zeros(N_ROWS)
    for n, row in enumerate(norm.logpdf(Y.numpy(), mean.numpy(), np.sqrt(variance.numpy()))):
        expected[n] = sum(term for term, y in zip(row, Y[n].tolist(), strict=True) if not math.isnan(y))
    np.testing.assert_allclose(row_log_density(Y, mean, variance).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_row_without_entries_has_log_density_zero(generator):
    Y, (mean, variance) = rows_with_missing_entries(generator), predictions(N_ROWS, generator)
    assert row_log_density(Y, mean, variance)[5] == 0
    assert (pairwise_row_log_density(Y, mean, variance)[5] == 0).all()


def test_pairwise_density_equals_that_of_every_pair(generator):
    Y, (mean, variance) = rows_with_missing_entries(generator), predictions(A, generator)
    pairs = pairwise_row_log_density(Y, mean, variance)
    assert pairs.shape == (N_ROWS, A)
    for a in range(A):
        one = row_log_density(Y, mean[[a] * N_ROWS], variance[[a] * N_ROWS])
        # matrix products expand (y - f)^2, whose terms reach 1e3 here
        torch.testing.assert_close(pairs[:, a], one, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("density", [row_log_density, pairwise_row_log_density])
def test_nan_predictions_are_not_treated_as_missing_entries(density, generator):
    Y, (mean, variance) = normal((N_ROWS, N_COLUMNS), generator), predictions(N_ROWS, generator)
    mean[3, 2] = torch.nan
    assert density(Y, mean, variance)[3].isnan().any()
