import numpy as np
import pytest
import torch

from mvlvm.kernels import exponential_lengthscale, gibbs_kernel, rbf_kernel, sm_kernel
from mvlvm.kernels.classical import squared_distance
from mvlvm.spectral import StationaryMixture
from tests import oracles
from tests.kernels.matrices import assert_covariance, smallest_eigenvalue
from tests.mixtures import normal, random_stationary_mixture


@pytest.mark.parametrize(("lengthscale", "variance"), [(1.0, 1.0), (0.4, 2.5)])
def test_rbf_kernel_matches_its_definition(lengthscale, variance, generator):
    X1, X2 = normal((4, 3), generator), normal((5, 3), generator)
    expected = oracles.gram(lambda x, y: oracles.rbf(x, y, lengthscale, variance), X1.numpy(), X2.numpy())
    K = rbf_kernel(X1, X2, lengthscale=lengthscale, variance=variance)
    np.testing.assert_allclose(K.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("D", [1, 3])
def test_spectral_mixture_kernel_matches_its_definition(D, generator):
    density = random_stationary_mixture(3, D, generator)
    X1, X2 = normal((4, D), generator), normal((5, D), generator)
    parts = [value.numpy() for value in vars(density).values()]
    expected = oracles.gram(lambda x, y: oracles.spectral_mixture(x, y, *parts), X1.numpy(), X2.numpy())
    np.testing.assert_allclose(sm_kernel(X1, X2, density).numpy(), expected, rtol=0.0, atol=1e-12)


def test_spectral_mixture_kernel_at_frequency_zero_is_the_rbf_kernel(generator):
    X1, X2 = normal((6, 2), generator), normal((5, 2), generator)
    alpha = torch.tensor([2.5], dtype=torch.float64)
    density = StationaryMixture(alpha, mu=torch.zeros(1, 2).double(), sigma=torch.full((1, 2), 1 / 0.4).double())
    torch.testing.assert_close(
        sm_kernel(X1, X2, density), rbf_kernel(X1, X2, lengthscale=0.4, variance=2.5), rtol=0.0, atol=1e-12
    )


def test_kernels_are_covariances(generator):
    X = normal((40, 2), generator)
    assert_covariance(rbf_kernel(X, X))
    assert_covariance(sm_kernel(X, X, random_stationary_mixture(3, 2, generator)))


def test_spectral_mixture_kernel_is_translation_invariant(generator):
    density, X = random_stationary_mixture(3, 2, generator), normal((6, 2), generator)
    torch.testing.assert_close(sm_kernel(X, X, density), sm_kernel(X + 3.0, X + 3.0, density), rtol=0.0, atol=1e-12)


def test_variance_in_float32_is_accurate_far_from_the_origin(generator):
    double = random_stationary_mixture(3, 2, generator)
    density = StationaryMixture(*(value.float() for value in vars(double).values()))
    X = 100 * normal((20, 2), generator).float()
    # each projection has a rounding error of order 100 eps, and the cosine of their difference the square of that
    torch.testing.assert_close(sm_kernel(X, X, density).diagonal(), density.alpha.sum().expand(20), rtol=1e-6, atol=0.0)


def test_distance_of_a_point_from_itself_is_zero_far_from_the_origin(generator):
    X = 1e8 + normal((5, 2), generator)
    assert torch.equal(squared_distance(X, X).diagonal(), torch.zeros(5, dtype=torch.float64))


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
