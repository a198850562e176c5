import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from mvlvm.evidence.row_density import pairwise_row_log_density, row_log_density
from tests.mixtures import normal, uniform

N, A, M = 7, 4, 5


def rows_with_gaps(generator):
    Y = normal((N, M), generator)
    Y[0, 1], Y[2, :3], Y[5] = torch.nan, torch.nan, torch.nan
    return Y


def predictions(n, generator):
    return normal((n, M), generator), uniform(0.01, 4.0, (n, M), generator)


def test_density_is_the_sum_over_what_was_seen(generator):
    Y, (mean, variance) = rows_with_gaps(generator), predictions(N, generator)
    expected = np.zeros(N)
    for n, row in enumerate(norm.logpdf(Y.numpy(), mean.numpy(), np.sqrt(variance.numpy()))):
        expected[n] = sum(term for term, y in zip(row, Y[n].tolist(), strict=True) if not math.isnan(y))
    np.testing.assert_allclose(row_log_density(Y, mean, variance).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_row_without_entries_has_density_one(generator):
    Y, (mean, variance) = rows_with_gaps(generator), predictions(N, generator)
    assert row_log_density(Y, mean, variance)[5] == 0
    assert (pairwise_row_log_density(Y, mean, variance)[5] == 0).all()


def test_pairs_are_all_rows_under_all_predictions(generator):
    Y, (mean, variance) = rows_with_gaps(generator), predictions(A, generator)
    pairs = pairwise_row_log_density(Y, mean, variance)
    assert pairs.shape == (N, A)
    for a in range(A):
        one = row_log_density(Y, mean[[a] * N], variance[[a] * N])
        # products of matrices expand the square (y - f)^2, whose parts reach 1e3 here
        torch.testing.assert_close(pairs[:, a], one, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("density", [row_log_density, pairwise_row_log_density])
def test_a_prediction_that_is_no_number_is_not_taken_for_a_gap(density, generator):
    Y, (mean, variance) = normal((N, M), generator), predictions(N, generator)
    mean[3, 2] = torch.nan
    assert density(Y, mean, variance)[3].isnan().any()
