import pytest
import torch

from mvlvm.linalg.triangular import inverse_of_lower
from tests.mixtures import normal


@pytest.mark.parametrize(("F", "n_leaves"), [(1, None), (7, None), (12, 1), (12, 2), (12, 4), (64, 8)])
def test_a_triangle_times_its_inverse_is_the_identity(F, n_leaves, generator):
    L = normal((F, F), generator).tril() + 3 * torch.eye(F, dtype=torch.float64)
    inverse = inverse_of_lower(L, n_leaves)
    torch.testing.assert_close(inverse @ L, torch.eye(F, dtype=torch.float64), rtol=0.0, atol=1e-9)
    assert torch.equal(inverse, inverse.tril())
