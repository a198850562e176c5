import torch

from mvlvm.linalg.precomputed_grad import attach_gradients
from tests.mixtures import normal


def test_the_gradient_is_that_of_the_slopes_handed_over(generator):
    """A value for every row, and slopes that are not those of any function."""
    x, y = (normal((4, 3), generator).requires_grad_() for _ in range(2))
    value, by_x, by_y = normal((4,), generator), normal((4, 3), generator), normal((4, 3), generator)
    joined = attach_gradients(value, (by_x, by_y), (x, y))
    assert torch.equal(joined, value)
    weight = normal((4,), generator)
    (weight * joined).sum().backward()
    torch.testing.assert_close(x.grad, weight[:, None] * by_x, rtol=0.0, atol=0.0)
    torch.testing.assert_close(y.grad, weight[:, None] * by_y, rtol=0.0, atol=0.0)
