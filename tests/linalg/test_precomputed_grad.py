import torch

from mvlvm.linalg.precomputed_grad import attach_gradients
from tests.mixtures import normal


def test_autograd_uses_the_attached_gradients(generator):
    """One value per row, with arbitrary gradients that are not those of any function."""
    x, y = (normal((4, 3), generator).requires_grad_() for _ in range(2))
    value, grad_x, grad_y = normal((4,), generator), normal((4, 3), generator), normal((4, 3), generator)
    attached = attach_gradients(value, (grad_x, grad_y), (x, y))
    assert torch.equal(attached, value)
    weight = normal((4,), generator)
    (weight * attached).sum().backward()
    torch.testing.assert_close(x.grad, weight[:, None] * grad_x, rtol=0.0, atol=0.0)
    torch.testing.assert_close(y.grad, weight[:, None] * grad_y, rtol=0.0, atol=0.0)
