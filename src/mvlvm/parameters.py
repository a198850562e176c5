"""Transformations from unconstrained `raw_` parameters to the constrained quantities in the equations."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

# Parameter -> gradient of a scalar with respect to it; parameters without influence may be left out.
Gradients = Mapping[nn.Parameter, Tensor]

# In float32 tanh reaches 1, where d sqrt(1 - rho^2) / d rho is infinite. The limit keeps gradients finite.
MAX_CORRELATION = 1 - 1e-6


def positive(raw: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Map real numbers to positive numbers, log(1 + exp(raw)), in the same shape."""
    return softplus(raw)


def positive_vjp(raw: Float[Tensor, "*shape"], gradient: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the gradient with respect to raw values from that with respect to `positive` of them."""
    return gradient * torch.sigmoid(raw)


def raw_positive(value: float) -> float:
    """Return the inverse of `positive`, log(exp(value) - 1)."""
    return value + math.log(-math.expm1(-value))


def raw_positive_values(value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the inverse of `positive` for every entry, in the same shape."""
    return value + torch.log(-torch.expm1(-value))


def in_unit(raw: Float[Tensor, "*shape"], unit: float) -> Float[Tensor, "*shape"]:
    """Return raw values for which `positive` is `unit` times as large; the same values for a unit of one."""
    if unit == 1.0:
        return raw
    return raw_positive_values(unit * positive(raw.double())).to(raw)


def correlation(raw: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Map real numbers to correlations in (-1, 1), in the same shape."""
    return MAX_CORRELATION * torch.tanh(raw)
