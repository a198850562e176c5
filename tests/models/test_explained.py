import numpy as np
import pytest
import torch

from mvlvm.models.explained import explained_variance
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from tests.mixtures import normal


def linear(W):
    return lambda mean, std: mean @ W


def test_a_linear_function_loses_the_variance_along_the_dimension(generator):
    X, W = normal((40, 3), generator), normal((3, 5), generator)
    W[1] = 0.0
    Y = X @ W + 0.1 * normal((40, 5), generator)
    explained = explained_variance(linear(W), GaussianLatent(X, 0.1), ObservedView(Y))
    y, x, w = Y.numpy(), X.numpy(), W.numpy()
    total = ((y - y.mean(axis=0)) ** 2).sum()
    assert explained.total == pytest.approx(1 - ((y - x @ w) ** 2).sum() / total)
    for d in range(3):
        held = x.copy()
        held[:, d] = x[:, d].mean()
        without = 1 - ((y - held @ w) ** 2).sum() / total
        assert explained.by_dimension[d].item() == pytest.approx(explained.total - without, abs=1e-12)
    assert explained.by_dimension[1].item() == 0
    assert explained.by_dimension[[0, 2]].min() > 0.1


def test_only_observed_entries_count(generator):
    X, W = normal((40, 2), generator), normal((2, 5), generator)
    Y = X @ W + 0.1 * normal((40, 5), generator)
    Y[normal((40, 5), generator) > 1] = torch.nan
    Y[7] = torch.nan
    explained = explained_variance(linear(W), GaussianLatent(X, 0.1), ObservedView(Y))
    y, f = Y.numpy(), (X @ W).numpy()
    assert explained.total == pytest.approx(1 - np.nansum((y - f) ** 2) / np.nansum((y - np.nanmean(y, axis=0)) ** 2))


def test_a_dimension_that_is_held_is_known(generator):
    latent = GaussianLatent(normal((10, 2), generator), 0.3)
    asked = []

    def expected(mean, std):
        asked.append(std.detach().clone())
        return mean

    explained_variance(expected, latent, ObservedView(normal((10, 2), generator)))
    assert [(std == 0).all(dim=0).tolist() for std in asked] == [[False, False], [True, False], [False, True]]


def test_a_row_of_weight_a_counts_like_a_copies(generator):
    X, W = normal((10, 2), generator), normal((2, 3), generator)
    Y = X @ W + normal((10, 3), generator)
    Y[2, 1] = torch.nan
    copies = torch.tensor([1, 2, 3, 1, 1, 5, 1, 1, 2, 1])
    weighed = explained_variance(linear(W), GaussianLatent(X, 0.1), ObservedView(Y, copies.double()))
    rows = torch.arange(10).repeat_interleave(copies)
    repeated = explained_variance(linear(W), GaussianLatent(X[rows], 0.1), ObservedView(Y[rows]))
    assert weighed.total == pytest.approx(repeated.total, rel=1e-10)
