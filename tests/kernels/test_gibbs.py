import numpy as np
import pytest
import torch

from mvlvm.kernels import exponential_lengthscale, gibbs_kernel, rbf_kernel
from tests import oracles
from tests.kernels.matrices import assert_covariance, smallest_eigenvalue
from tests.mixtures import normal


@pytest.mark.parametrize("D", [1, 2, 3])
def test_kernel_matches_its_definition_with_power_half_the_dimension(D, generator):
    X1, X2 = normal((4, D), generator), normal((5, D), generator)
    expected = oracles.gram(lambda x, y: oracles.gibbs(x, y, oracles.paper_lengthscale, D / 2), X1.numpy(), X2.numpy())
    np.testing.assert_allclose(gibbs_kernel(X1, X2).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("D", [1, 2, 3])
def test_kernel_is_a_covariance(D, generator):
    X = crowded_points(D, generator)
    assert_covariance(gibbs_kernel(X, X))


@pytest.mark.parametrize("D", [2, 3])
def test_printed_power_is_not_a_covariance_beyond_one_dimension(D, generator):
    X = crowded_points(D, generator).numpy()
    printed = oracles.gram(lambda x, y: oracles.gibbs(x, y, oracles.paper_lengthscale, 1 / 2), X, X)
    assert smallest_eigenvalue(printed) < -1e-3


@pytest.mark.parametrize("D", [1, 2, 3])
def test_constant_lengthscale_reduces_to_the_rbf_kernel(D, generator):
    X1, X2 = normal((4, D), generator), normal((5, D), generator)
    K = gibbs_kernel(X1, X2, lambda X: torch.full((len(X),), 0.7, dtype=X.dtype))
    torch.testing.assert_close(K, rbf_kernel(X1, X2, lengthscale=0.7), rtol=1e-12, atol=0.0)


def test_diagonal_is_one(generator):
    X = normal((10, 2), generator)
    torch.testing.assert_close(gibbs_kernel(X, X).diagonal(), torch.ones(10).double(), rtol=1e-14, atol=0.0)


def test_lengthscale_decreases_with_the_distance_from_the_origin():
    X = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    expected = torch.tensor([1.0, np.exp(-2.5)], dtype=torch.float64)
    torch.testing.assert_close(exponential_lengthscale(X), expected, rtol=1e-14, atol=0.0)


def crowded_points(D, generator):
    """Return points so close to each other that the kernel matrix is almost singular."""
    return 0.5 * normal((60, D), generator)
