import pytest
import torch

from mvlvm.kernels import ngsm_kernel
from tests import oracles
from tests.mixtures import as_arrays, normal, random_mixture


@pytest.mark.parametrize("rho", [-0.95, -0.3, 0.0, 0.6, 0.95])
def test_kernel_matches_the_expectation_of_four_cosines(rho, generator):
    density = random_mixture(2, 1, generator, rho=rho)
    X1, X2 = normal((4, 1), generator), normal((5, 1), generator)
    arrays = as_arrays(density)
    expected = oracles.gram(lambda x, y: oracles.ngsm_by_quadrature(x, y, arrays), X1[:, 0].numpy(), X2[:, 0].numpy())
    torch.testing.assert_close(ngsm_kernel(X1, X2, density), torch.as_tensor(expected), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("D", [1, 2, 5])
def test_kernel_matches_expected_cosines_of_normal_phases_in_any_dimension(D, generator):
    density = random_mixture(3, D, generator)
    X1, X2 = normal((4, D), generator) / D**0.5, normal((5, D), generator) / D**0.5
    arrays = as_arrays(density)
    expected = oracles.gram(lambda x, y: oracles.ngsm_by_projection(x, y, arrays), X1.numpy(), X2.numpy())
    torch.testing.assert_close(ngsm_kernel(X1, X2, density), torch.as_tensor(expected), rtol=0.0, atol=1e-12)


def test_both_oracles_agree(generator):
    arrays = as_arrays(random_mixture(2, 1, generator))
    for x in normal((5, 2), generator).numpy():
        projected = oracles.ngsm_by_projection(x[:1], x[1:], arrays)
        assert oracles.ngsm_by_quadrature(x[0], x[1], arrays) == pytest.approx(projected, abs=1e-12)
