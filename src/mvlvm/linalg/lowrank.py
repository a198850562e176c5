"""K = Phi Phi' + s I, factored on its smaller side.

With A = Phi' Phi + s I (F x F):

    |K| = s^(N - F) |A|        K^-1 = (I - Phi A^-1 Phi') / s        K^-1 Phi = Phi A^-1
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import Factor, factor


def factor_features_side(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> Factor:
    """Factor A = Phi' Phi + s I, the cheaper side when F < N."""
    return factor(add_to_diagonal(Phi.T @ Phi, s))


def factor_samples_side(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> Factor:
    """Factor K = Phi Phi' + s I itself."""
    return factor(add_to_diagonal(Phi @ Phi.T, s))


def add_to_diagonal(A: Float[Tensor, "F F"], s: Float[Tensor, ""]) -> Float[Tensor, "F F"]:
    """Give A + s I."""
    return A + torch.diag_embed(s.expand(len(A)))
