"""A value whose slopes were found together with it, so that nothing is differentiated through how they were found."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def attach_gradients(
    value: Float[Tensor, "*v"], slopes: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Float[Tensor, "*v"]:
    """Give a value that can be differentiated once by its inputs.

    Args:
        value: computed from the inputs, and detached from them.
        slopes: its derivative by each input, of the input's shape; every entry belongs to the entry of the value with
            the same leading indices.
        inputs: what it was computed from.
    """
    return _KnownSlopes.apply(value, tuple(slopes), *inputs)  # pyright: ignore[reportReturnType]


class _KnownSlopes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, slopes: tuple[Tensor, ...], *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*slopes)
        return value.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, None, *(_spread(gradient, slope) * slope for slope in ctx.saved_tensors)


def _spread(gradient: Tensor, slope: Tensor) -> Tensor:
    """Give the gradient as many axes as the slope has, in its precision."""
    return gradient.to(slope).reshape((*gradient.shape, *[1] * (slope.ndim - gradient.ndim)))
