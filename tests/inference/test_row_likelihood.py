""" """

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import norm

from mvlvm.inference.row_likelihood import (
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
    """A likelihood, rows with gaps, and a prediction for each; counts are such that e^f can reach them."""
    case = ALL[name]
    likelihood, Y = case.make().double(), case.Y.clone().clamp(max=60)
    mean, variance = case.mean_and_variance(generator)
    if name == "categorical":
        Y[2] = torch.nan
    else:
        Y[0, 1], Y[4, :3] = torch.nan, torch.nan
    return likelihood, Y, Prediction(mean, 0.1 + variance)


@pytest.mark.parametrize("name", sorted(ALL))
def test_slopes_are_those_of_finite_differences(name, generator):
    likelihood, Y, predicted = rows_of(name, generator)
    slopes, step = row_log_likelihood(likelihood, Y, predicted), 1e-4

    def values(by_mean, by_variance):
        moved = Prediction(predicted.mean + by_mean, predicted.variance + by_variance)
        return row_log_likelihood(likelihood, Y, moved).value

    for m in range(M):
        one = step * torch.eye(M, dtype=torch.float64)[m]
        by_mean = (values(one, 0) - values(-one, 0)) / (2 * step)
        by_variance = (values(0, one) - values(0, -one)) / (2 * step)
        # central differences are off by the square of the step times third derivatives, which are about e^f of counts
        torch.testing.assert_close(slopes.by_mean[:, m], by_mean, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(slopes.by_variance[:, m], by_variance, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted(ALL))
def test_curvature_is_that_by_the_mean_and_never_negative(name, generator):
    """A Gaussian has that of the predictive density; else it is exact where the density is log-concave."""
    likelihood, Y, predicted = rows_of(name, generator)
    step = 1e-3
    curvature = row_log_likelihood(likelihood, Y, predicted).curvature
    assert (curvature >= 0).all()
    if name == "student-t":
        return
    for m in range(M):
        one = step * torch.eye(M, dtype=torch.float64)[m]
        ahead, behind = (
            row_log_likelihood(likelihood, Y, Prediction(predicted.mean + sign * one, predicted.variance)).by_mean[:, m]
            for sign in (1, -1)
        )
        torch.testing.assert_close(curvature[:, m], (behind - ahead) / (2 * step), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", sorted(ALL))
def test_missing_entries_add_nothing(name, generator):
    likelihood, Y, predicted = rows_of(name, generator)
    elsewhere = Prediction(*(torch.where(torch.isnan(Y), values + 0.5, values) for values in predicted))
    missing = torch.isnan(Y)
    slopes, others = row_log_likelihood(likelihood, Y, predicted), row_log_likelihood(likelihood, Y, elsewhere)
    torch.testing.assert_close(slopes.value, others.value, rtol=0.0, atol=0.0)
    for part in (slopes.by_mean, slopes.by_variance, slopes.curvature):
        assert (part[missing] == 0).all()


@pytest.mark.parametrize("name", sorted(ALL))
def test_pairs_of_rows_and_places_have_the_values_of_single_rows(name, generator):
    likelihood, Y, predicted = rows_of(name, generator)
    pairs = pairwise_log_likelihood(likelihood, Y, predicted)
    for a in range(N):
        at_a = Prediction(*(values[a].expand(N, M).contiguous() for values in predicted))
        torch.testing.assert_close(pairs[:, a], row_log_likelihood(likelihood, Y, at_a).value, rtol=1e-8, atol=1e-8)


def test_gaussian_rows_have_the_density_of_their_entries(generator):
    likelihood, Y, (mean, variance) = rows_of("gaussian", generator)
    expected = stats.norm.logpdf(Y.numpy(), mean.numpy(), np.sqrt(variance.numpy() + NOISE_VARIANCE))
    value = row_log_likelihood(likelihood, Y, Prediction(mean, variance)).value
    np.testing.assert_allclose(value.detach().numpy(), np.nansum(expected, axis=1), rtol=1e-6)


def test_other_rows_have_the_expected_log_density(generator):
    likelihood, Y, (mean, variance) = rows_of("poisson", generator)
    # E log Poisson(y; e^f) = y m - e^(m + v / 2) - log y!
    expected = Y * mean - (mean + variance / 2).exp() - torch.lgamma(Y + 1)
    value = row_log_likelihood(likelihood, Y, Prediction(mean, variance)).value
    torch.testing.assert_close(value, expected.nansum(dim=1), rtol=1e-12, atol=1e-10)


N_row_density, A, M_row_density = 7, 4, 5


def rows_with_gaps(generator):
    Y = normal((N_row_density, M_row_density), generator)
    Y[0, 1], Y[2, :3], Y[5] = torch.nan, torch.nan, torch.nan
    return Y


def predictions(n, generator):
    return normal((n, M_row_density), generator), uniform(0.01, 4.0, (n, M_row_density), generator)


def test_density_is_the_sum_over_what_was_seen(generator):
    Y, (mean, variance) = rows_with_gaps(generator), predictions(N_row_density, generator)
    expected = np.zeros(N_row_density)
    for n, row in enumerate(norm.logpdf(Y.numpy(), mean.numpy(), np.sqrt(variance.numpy()))):
        expected[n] = sum(term for term, y in zip(row, Y[n].tolist(), strict=True) if not math.isnan(y))
    np.testing.assert_allclose(row_log_density(Y, mean, variance).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_row_without_entries_has_density_one(generator):
    Y, (mean, variance) = rows_with_gaps(generator), predictions(N_row_density, generator)
    assert row_log_density(Y, mean, variance)[5] == 0
    assert (pairwise_row_log_density(Y, mean, variance)[5] == 0).all()


def test_pairs_are_all_rows_under_all_predictions(generator):
    Y, (mean, variance) = rows_with_gaps(generator), predictions(A, generator)
    pairs = pairwise_row_log_density(Y, mean, variance)
    assert pairs.shape == (N_row_density, A)
    for a in range(A):
        one = row_log_density(Y, mean[[a] * N_row_density], variance[[a] * N_row_density])
        # products of matrices expand the square (y - f)^2, whose parts reach 1e3 here
        torch.testing.assert_close(pairs[:, a], one, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("density", [row_log_density, pairwise_row_log_density])
def test_a_prediction_that_is_no_number_is_not_taken_for_a_gap(density, generator):
    Y, (mean, variance) = normal((N_row_density, M_row_density), generator), predictions(N_row_density, generator)
    mean[3, 2] = torch.nan
    assert density(Y, mean, variance)[3].isnan().any()
