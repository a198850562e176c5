r"""The weights of a view's features where single entries of the view are hidden.

Every column has rows of its own, so every column m has a system of its own,

    (E[Phi_m' Phi_m] + s I) b_m = E[Phi_m]' y_m,        Phi_m, y_m: the rows in which column m was seen

and forming all of them would take M times the work of a complete view. They are solved side by side by conjugate
gradients, which need products with Phi only; the system of an average column, which all resemble, makes them quick.

The covariance of the weights is kept for the average column. A column that was seen in fewer rows knows its weights
less well, in proportion; one that was seen in none counts as seen in one.
"""

from collections.abc import Sequence
from itertools import product

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.linalg.cholesky import factor
from mvlvm.linalg.conjugate import solve_side_by_side
from mvlvm.linalg.lowrank import add_to_diagonal
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar


def infer_with_gaps(
    Y: Float[Tensor, "N M"], seen: Bool[Tensor, "N M"], Phis: Sequence[Float[Tensor, "N F"]], s: Scalar
) -> tuple[Float[Tensor, "F M"], Float[Tensor, "F F"], Float[Tensor, " M"]]:
    """Give means, the covariance of an average column, and what to multiply it by in each column.

    Args:
        Y: the view; its hidden entries are not looked at.
        seen: where it was seen.
        Phis: features at several draws of the latents.
        s: the noise variance.
    """
    blocks = row_blocks(*Y.shape)
    share = sum((seen[rows].sum(dim=0) for rows in blocks), torch.zeros_like(seen[0], dtype=torch.int64)) / len(Y)
    gram = sum((Phi.T @ Phi for Phi in Phis[1:]), Phis[0].T @ Phis[0]) / len(Phis)
    average_inverse = factor(add_to_diagonal(share.mean() * gram, s)).inverse().contiguous()

    def apply(B: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        total = s * B
        for Phi, rows in product(Phis, blocks):
            total.addmm_(Phi[rows].T, (Phi[rows] @ B).mul_(seen[rows]), alpha=1 / len(Phis))
        return total

    target = Phis[0].new_zeros((Phis[0].shape[1], Y.shape[1]))
    for Phi, rows in product(Phis, blocks):
        target.addmm_(Phi[rows].T, Y[rows].double() * seen[rows], alpha=1 / len(Phis))
    mean = solve_side_by_side(apply, target, precondition=average_inverse).contiguous()
    return mean, s * average_inverse, share.mean() / share.clamp_min(1 / len(Y))
