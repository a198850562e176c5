"""Products of a matrix with its own transpose, of which only the lower half is needed."""

import torch
from jaxtyping import Float
from torch import Tensor

# A processor gains from skipping the upper half, stripe by stripe; a GPU loses more by small products than it saves.
_STRIPES = 2
_NARROWEST = 32


def add_lower_gram(total: Float[Tensor, "F F"], Phi: Float[Tensor, "N F"]) -> None:
    """Add Phi' Phi to the lower half of `total`; the upper half is left undefined."""
    F = Phi.shape[1]
    width = F if Phi.is_cuda else max(_NARROWEST, -(-F // _STRIPES))
    for first in range(0, F, width):
        last = min(first + width, F)
        torch.addmm(total[first:last, :last], Phi[:, first:last].T, Phi[:, :last], out=total[first:last, :last])


def lower_gram(Phi: Float[Tensor, "N F"]) -> Float[Tensor, "F F"]:
    """Give the lower half of Phi' Phi; the upper half is left undefined."""
    total = Phi.new_zeros((Phi.shape[1], Phi.shape[1]))
    add_lower_gram(total, Phi)
    return total
