"""K = Phi Phi' + s I, handled on its smaller side.

With A = Phi' Phi + s I (F x F):

    |K| = s^(N - F) |A|        K^-1 = (I - Phi A^-1 Phi') / s        K^-1 Phi = Phi A^-1
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import cholesky, log_det


class Inverted(NamedTuple):
    """A positive definite matrix, inverted: its log-determinant and its inverse."""

    log_det: Float[Tensor, ""]
    inverse: Float[Tensor, "F F"]


def invert(A: Float[Tensor, "F F"]) -> Inverted:
    """Invert a positive definite matrix through its Cholesky factor."""
    L = cholesky(A)
    return Inverted(log_det(L), torch.cholesky_inverse(L))


def add_to_diagonal(A: Float[Tensor, "F F"], s: Float[Tensor, ""]) -> Float[Tensor, "F F"]:
    """Give A + s I."""
    return A + torch.diag_embed(s.expand(len(A)))
