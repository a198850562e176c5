import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import norm

from mvlvm import row_blocks
from mvlvm.inference.row_likelihood import (
    RowLikelihood,
    pairwise_log_likelihood,
    pairwise_row_log_density,
    row_log_density,
    row_log_likelihood,
)
from mvlvm.inference.view_function import ViewFunction
from mvlvm.likelihoods import Categorical
from mvlvm.models.weight_posterior import Prediction
from tests.inference.observed_views import draw_function
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


# With five points and two mixture components there are 20 features: views that are narrower and wider than that.
OBSERVED_WIDTHS = {"narrow": 3, "wide": 31}


def single_draw(M, generator):
    function = draw_function(2, M, generator, certain=False)
    return ViewFunction(function.posteriors[:1], function.likelihood)


def observed_view(M, generator):
    """Return a view of one spectral draw: complete rows, a row with some missing entries, and one without entries."""
    Y = normal((N_ROWS, M), generator)
    Y[1, 0], Y[3] = torch.nan, torch.nan
    return single_draw(M, generator), Y


def reference_value(observed, X, rows):
    """Return the log likelihood from the densities of all entries."""
    total = np.zeros(len(X))
    for function, Y in observed:
        mean, variance = (part.numpy() for part in function.linearise(X).moments)
        std = np.sqrt(variance + function.likelihood.noise_variance.item())
        total += np.nansum(norm.logpdf(Y[rows].numpy(), mean, std), axis=1)
    return total


@pytest.mark.parametrize("numbers", [2_000_000, 100], ids=["one block", "many blocks"])
@pytest.mark.parametrize("widths", [("narrow",), ("wide",), ("narrow", "wide")], ids="+".join)
def test_likelihood_of_rows_is_that_of_their_entries_with_its_gradient(widths, numbers, generator, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", numbers)
    observed = [observed_view(OBSERVED_WIDTHS[width], generator) for width in widths]
    rows = torch.tensor([0, 1, 1, 2, 3, 6, 0])  # rows may have several latents, and need not have any
    X, step = normal((len(rows), 2), generator), 1e-5
    value, gradient, neg_hessian = RowLikelihood(observed)(X, rows)
    np.testing.assert_allclose(value.numpy(), reference_value(observed, X, rows), rtol=1e-11, atol=1e-11)
    for d, direction in enumerate(torch.eye(2, dtype=torch.float64)):
        ahead, behind = (reference_value(observed, X + sign * step * direction, rows) for sign in (1, -1))
        np.testing.assert_allclose(gradient[:, d].numpy(), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-6)
    # the Gauss-Newton approximation: J' J over the predictive variances of the observed entries
    expected = torch.zeros_like(neg_hessian)
    for function, Y in observed:
        around = function.linearise(X)
        precision = 1 / (around.moments.variance + function.likelihood.noise_variance)
        weighted = around.mean_jacobian() * precision.masked_fill(Y[rows].isnan(), 0.0)[:, None]
        expected += weighted @ around.mean_jacobian().transpose(1, 2)
    torch.testing.assert_close(neg_hessian, expected.detach(), rtol=1e-10, atol=1e-10)
    no_entries = (rows == 3).nonzero()
    assert (value[no_entries] == 0).all()
    assert (neg_hessian[no_entries] == 0).all()


def test_columns_with_different_variances_are_not_treated_as_one(generator):
    function, Y = single_draw(3, generator), normal((N_ROWS, 3), generator)
    (posterior,) = function.posteriors
    factors = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    function = ViewFunction((replace(posterior, inflation=factors),), function.likelihood)
    X, rows = normal((N_ROWS, 2), generator), torch.arange(N_ROWS)
    value = RowLikelihood([(function, Y)])(X, rows).value
    np.testing.assert_allclose(value.numpy(), reference_value([(function, Y)], X, rows), rtol=1e-11)


def test_jacobians_in_float32_leave_values_in_float64(generator):
    observed = [observed_view(M, generator) for M in OBSERVED_WIDTHS.values()]
    X, rows = normal((N_ROWS, 2), generator), torch.arange(N_ROWS)
    exact, rounded = (RowLikelihood(observed, dtype)(X, rows) for dtype in (torch.float64, torch.float32))
    assert torch.equal(exact.value, rounded.value)
    for part, expected in zip(rounded[1:], exact[1:], strict=True):
        assert part.dtype == torch.float64
        torch.testing.assert_close(part, expected, rtol=0.0, atol=1e-5 * expected.abs().max().item())
