from dataclasses import replace

import numpy as np
import pytest
import torch

from mvlvm.kernels import bivariate_sm_kernel, ngsm_kernel, sm_kernel
from mvlvm.spectral import BivariateMixture
from tests import oracles
from tests.kernels.matrices import assert_covariance, smallest_eigenvalue
from tests.mixtures import as_arrays, normal, random_mixture, random_stationary_mixture
from tests.oracles import ngsm_diagonal


@pytest.mark.parametrize("rho", [-1.0, -0.5, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("D", [1, 2, 3])
def test_kernel_is_a_covariance_for_every_correlation(rho, D, generator):
    density = random_mixture(3, D, generator)
    density = replace(density, rho=torch.full_like(density.rho, rho))
    X = normal((40, D), generator)
    assert_covariance(ngsm_kernel(X, X, density))


@pytest.mark.parametrize("D", [1, 2, 5])
def test_diagonal_matches_the_variance_of_a_modulated_wave(D, generator):
    density, X = random_mixture(3, D, generator), normal((10, D), generator)
    arrays = as_arrays(density)
    expected = [ngsm_diagonal(x, arrays) for x in X.numpy()]
    np.testing.assert_allclose(ngsm_kernel(X, X, density).diagonal().numpy(), expected, rtol=1e-12)


def test_variance_is_largest_at_the_origin_where_it_is_the_sum_of_weights(generator):
    density = random_mixture(3, 2, generator)
    origin, X = torch.zeros(1, 2, dtype=torch.float64), normal((200, 2), generator)
    total = density.alpha.sum()
    torch.testing.assert_close(ngsm_kernel(origin, origin, density)[0, 0], total, rtol=1e-14, atol=0.0)
    assert ngsm_kernel(X, X, density).diagonal().max() < total


@pytest.mark.parametrize("D", [1, 2, 5])
def test_kernel_of_a_tied_mixture_is_the_spectral_mixture_kernel(D, generator):
    density = random_stationary_mixture(3, D, generator)
    X1, X2 = normal((7, D), generator), normal((5, D), generator)
    torch.testing.assert_close(
        ngsm_kernel(X1, X2, density.as_bivariate()), sm_kernel(X1, X2, density), rtol=0.0, atol=1e-12
    )


def test_kernel_is_invariant_under_exchange_of_the_points(generator):
    density, X = random_mixture(2, 2, generator), normal((6, 2), generator)
    exchanged = BivariateMixture(density.alpha, density.mu2, density.mu1, density.sigma2, density.sigma1, density.rho)
    torch.testing.assert_close(ngsm_kernel(X, X, density), ngsm_kernel(X, X, exchanged), rtol=0.0, atol=1e-14)


def mixture_with_equal_stds(Q, D, generator, *, rho):
    density = random_mixture(Q, D, generator)
    return replace(density, sigma2=density.sigma1, rho=torch.full_like(density.rho, rho))


def printed_gram(X, density):
    arrays = as_arrays(density)
    return oracles.gram(lambda x, y: oracles.printed_bivariate_sm(x, y, arrays), X.numpy(), X.numpy())


@pytest.mark.parametrize("rho", [0.0, 0.6, 1.0])
def test_bivariate_kernel_is_a_quarter_of_the_printed_one(rho, generator):
    density, X = mixture_with_equal_stds(2, 2, generator, rho=rho), normal((6, 2), generator)
    np.testing.assert_allclose(
        bivariate_sm_kernel(X, X, density).numpy(), printed_gram(X, density) / 4, rtol=0.0, atol=1e-12
    )


def test_variance_of_the_bivariate_kernel_at_the_origin_is_the_sum_of_weights(generator):
    density, origin = mixture_with_equal_stds(3, 2, generator, rho=0.4), torch.zeros(1, 2, dtype=torch.float64)
    torch.testing.assert_close(
        bivariate_sm_kernel(origin, origin, density)[0, 0], density.alpha.sum(), rtol=1e-14, atol=0
    )


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_bivariate_kernel_is_a_covariance_for_non_negative_correlations(rho, generator):
    X = normal((40, 2), generator)
    assert_covariance(bivariate_sm_kernel(X, X, mixture_with_equal_stds(3, 2, generator, rho=rho)))


@pytest.mark.parametrize("rho", [-0.3, -0.9])
def test_printed_bivariate_kernel_is_not_a_covariance_for_negative_correlations(rho, generator):
    X = normal((40, 2), generator)
    assert smallest_eigenvalue(printed_gram(X, mixture_with_equal_stds(3, 2, generator, rho=rho))) < -1e-3


def test_printed_bivariate_kernel_is_not_symmetric_for_unequal_standard_deviations(generator):
    K = printed_gram(normal((6, 2), generator), random_mixture(2, 2, generator, rho=0.5))
    assert np.abs(K - K.T).max() > 0.1


def test_unequal_standard_deviations_raise_an_error(generator):
    X = normal((3, 2), generator)
    with pytest.raises(ValueError, match=r"symmetric only for equal standard deviations.*use ngsm_kernel"):
        bivariate_sm_kernel(X, X, random_mixture(2, 2, generator, rho=0.5))


def test_a_single_negative_correlation_raises_an_error(generator):
    X, density = normal((3, 2), generator), mixture_with_equal_stds(2, 2, generator, rho=0.5)
    density = replace(density, rho=torch.tensor([0.5, -0.5], dtype=torch.float64))
    with pytest.raises(ValueError, match=r"only for correlations in \[0, 1\].*Got rho = \[0.5, -0.5\]"):
        bivariate_sm_kernel(X, X, density)
