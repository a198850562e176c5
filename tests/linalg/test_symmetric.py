import pytest
import torch

from mvlvm.linalg.symmetric import add_lower_gram, lower_gram
from tests.mixtures import normal


@pytest.mark.parametrize("F", [1, 7, 33, 130, 200])
def test_the_lower_half_is_that_of_the_whole_product(F, generator):
    Phi, total = normal((50, F), generator), normal((F, F), generator)
    expected = (total + Phi.T @ Phi).tril()
    add_lower_gram(total, Phi)
    torch.testing.assert_close(total.tril(), expected, rtol=1e-12, atol=1e-12)


def test_the_lower_half_alone(generator):
    Phi = normal((50, 130), generator)
    torch.testing.assert_close(lower_gram(Phi).tril(), (Phi.T @ Phi).tril(), rtol=1e-12, atol=1e-12)
