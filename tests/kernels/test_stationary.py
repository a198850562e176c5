import numpy as np
import pytest
import torch

from mvlvm.kernels import rbf_kernel, sm_kernel
from mvlvm.kernels.stationary import squared_distance
from mvlvm.spectral import StationaryMixture
from tests import oracles
from tests.kernels.matrices import assert_covariance
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
