"""Attach gradients that were computed together with a value, so that autograd need not differentiate its computation.

Integrals by quadrature and bounds by natural gradients obtain their gradients in the same pass as their values. Storing
only the gradients takes less memory and time than recording the pass for autograd.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def attach_gradients(
    value: Float[Tensor, "*v"], gradients: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Float[Tensor, "*v"]:
    """Return a copy of a value that autograd differentiates, once, with the given gradients.

    Args:
        value: computed from the inputs, and detached from them.
        gradients: the derivative of the value with respect to each input, in the input's shape. The leading axes are
            those of the value: an entry of an input influences only the entry of the value with the same leading
            indices.
        inputs: the tensors from which the value was computed.

    Returns:
        The value, in its own shape, connected to the inputs.
    """
    return _PrecomputedGradient.apply(value, tuple(gradients), *inputs)  # pyright: ignore[reportReturnType]


class _PrecomputedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, gradients: tuple[Tensor, ...], *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*gradients)
        return value.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_value: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, None, *(_broadcast(grad_value, gradient) * gradient for gradient in ctx.saved_tensors)


def _broadcast(grad_value: Tensor, gradient: Tensor) -> Tensor:
    """Append axes of length one until the number of axes matches the gradient's, in its dtype."""
    return grad_value.to(gradient).reshape((*grad_value.shape, *[1] * (gradient.ndim - grad_value.ndim)))
