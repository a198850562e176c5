"""Constraints: how an unconstrained `raw_` parameter becomes the quantity the equations use."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

# tanh reaches 1 in float32, where d sqrt(1 - rho^2) / d rho is infinite. This keeps training gradients finite.
_LARGEST_CORRELATION = 1 - 1e-6


def positive(raw: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Map the real line onto the positive numbers, log(1 + exp(raw))."""
    return softplus(raw)


def raw_positive(value: float) -> float:
    """Invert `positive`, log(exp(value) - 1)."""
    return value + math.log(-math.expm1(-value))


def correlation(raw: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Map the real line into (-1, 1)."""
    return _LARGEST_CORRELATION * torch.tanh(raw)
