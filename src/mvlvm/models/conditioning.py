r"""The weights of a view's features where nothing is hidden, from sums over rows.

    B = A^{-1} E[Phi]' Y,        Sigma = s A^{-1},        A = E[Phi' Phi] + s I

Both expectations are over draws of the latents, and all that is kept of the rows are two sums: of phi phi' and of
phi y'. So rows come in blocks, and no feature of more than one block is in memory.

The weights of a view's features where single entries of the view are hidden.

Every column has rows of its own, so every column m has a system of its own,

    (E[Phi_m' Phi_m] + s I) b_m = E[Phi_m]' y_m,        Phi_m, y_m: the rows in which column m was seen

and forming all of them would take M times the work of a complete view. They are solved side by side by conjugate
gradients, which need products with Phi only; the system of an average column, which all resemble, makes them quick.

The covariance of the weights is kept for the average column. A column that was seen in fewer rows knows its weights
less well, in proportion; one that was seen in none counts as seen in one.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.linalg.cholesky import add_to_diagonal, factor
from mvlvm.linalg.conjugate_gradient import batched_conjugate_gradient
from mvlvm.linalg.gram import add_lower_gram
from mvlvm.models.data import ViewData
from mvlvm.models.spectral_mixture import FeatureMap
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# The noise of draws averages over rows, too: with so many pairs of row and draw it is as small as it need be.
_ENOUGH_ROWS_AND_DRAWS = 20_000


class Weights(NamedTuple):
    """Means and covariance of the weights; the covariance is that of every column."""

    mean: Float[Tensor, "F M"]
    covariance: Float[Tensor, "F F"]


def n_latent_draws_for(n_rows: int) -> int:
    """Give how many draws of the latents make sums over rows precise: fewer, the more rows there are.

    Example:
        >>> [n_latent_draws_for(n_rows) for n_rows in (1_000, 5_000, 70_000)]
        [8, 4, 1]
    """
    wanted = -(-_ENOUGH_ROWS_AND_DRAWS // max(1, n_rows))
    return min(defaults.N_LATENT_DRAWS, wanted)


def infer_weights_complete(
    seen: ViewData, features: FeatureMap, draws: Sequence[Float[Tensor, "R D"]], s: Scalar
) -> Weights:
    """Give the posterior of the weights for one feature map.

    Args:
        seen: the view, of which no entry is hidden; rows count by their weights.
        features: the feature map.
        draws: draws of the latents of the rows that the view has.
        s: the noise variance.

    Raises:
        NumericalError: A cannot be factored.
    """
    (N, M), F = seen.Y.shape, features.n_features
    gram, target = (s.new_zeros(shape, dtype=torch.float64) for shape in ((F, F), (F, M)))
    root = None if seen.sample_weight is None else seen.sample_weight.sqrt().double()[:, None]
    for rows in row_blocks(N, max(F, M)):
        mean_Phi = gram.new_zeros((len(seen.Y[rows]), F))
        for X in draws:
            Phi = features(X[rows]).double()
            Phi = Phi if root is None else Phi * root[rows]
            add_lower_gram(gram, Phi)  # a factorisation reads no more of it
            mean_Phi.add_(Phi, alpha=1 / len(draws))
        Y = seen.Y[rows].double()
        target.addmm_(mean_Phi.T, Y if root is None else Y * root[rows])
    # a saved model is read back in row-major order, and products depend on the order in their last bits
    inverse = factor(add_to_diagonal(gram / len(draws), s)).inverse().contiguous()
    return Weights(inverse @ target, s * inverse)


def infer_weights_missing(
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
    mean = batched_conjugate_gradient(apply, target, preconditioner=average_inverse).contiguous()
    return mean, s * average_inverse, share.mean() / share.clamp_min(1 / len(Y))
