r"""Posterior of a view's feature weights, conditioned on the training rows.

Without missing entries,

    B = A^{-1} E[Phi]' Y,        Sigma = s A^{-1},        A = E[Phi' Phi] + s I

with expectations over draws of the latents. The sums of phi phi' and phi y' over rows are accumulated in blocks, so
that the features of only one block are in memory.

With missing entries, every column m has its own linear system over the rows in which it is observed,

    (E[Phi_m' Phi_m] + s I) b_m = E[Phi_m]' y_m

and forming all M systems would cost M times the work of a complete view. They are solved simultaneously by conjugate
gradients, which need only products with Phi, preconditioned by the system of an average column. The covariance is that
of the average column, scaled by the inverse fraction of observed entries in each column; a column without observed
entries counts as observed in one row.
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

# Monte Carlo noise also averages over rows: this product of rows and draws makes it negligible.
_ROWS_TIMES_DRAWS = 20_000


class WeightMoments(NamedTuple):
    """Means of the weights, and their covariance, which is the same for every column."""

    mean: Float[Tensor, "F M"]
    covariance: Float[Tensor, "F F"]


def n_latent_draws_for(n_rows: int) -> int:
    """Return the number of latent draws for sums over rows, which decreases with the number of rows.

    Example:
        >>> [n_latent_draws_for(n_rows) for n_rows in (1_000, 5_000, 70_000)]
        [8, 4, 1]
    """
    wanted = -(-_ROWS_TIMES_DRAWS // max(1, n_rows))
    return min(defaults.N_LATENT_DRAWS, wanted)


def infer_weights_complete(
    data: ViewData, features: FeatureMap, draws: Sequence[Float[Tensor, "R D"]], s: Scalar
) -> WeightMoments:
    """Return the posterior moments of the weights for one feature map, (F, M) and (F, F).

    Args:
        data: the view, without missing entries; rows are weighted by their sample weights.
        features: the feature map.
        draws: draws of the latents of the rows in which the view is observed.
        s: the noise variance.

    Raises:
        NumericalError: A cannot be factored.
    """
    (N, M), F = data.Y.shape, features.n_features
    gram, target = (s.new_zeros(shape, dtype=torch.float64) for shape in ((F, F), (F, M)))
    root_weight = None if data.sample_weight is None else data.sample_weight.sqrt().double()[:, None]
    for rows in row_blocks(N, max(F, M)):
        mean_Phi = gram.new_zeros((len(data.Y[rows]), F))
        for X in draws:
            Phi = features(X[rows]).double()
            Phi = Phi if root_weight is None else Phi * root_weight[rows]
            add_lower_gram(gram, Phi)  # the factorisation reads only the lower triangle
            mean_Phi.add_(Phi, alpha=1 / len(draws))
        Y = data.Y[rows].double()
        target.addmm_(mean_Phi.T, Y if root_weight is None else Y * root_weight[rows])
    # saved models are loaded in row-major order, and the last bits of products depend on the memory layout
    inverse = factor(add_to_diagonal(gram / len(draws), s)).inverse().contiguous()
    return WeightMoments(inverse @ target, s * inverse)


def infer_weights_missing(
    Y: Float[Tensor, "N M"], observed: Bool[Tensor, "N M"], Phis: Sequence[Float[Tensor, "N F"]], s: Scalar
) -> tuple[Float[Tensor, "F M"], Float[Tensor, "F F"], Float[Tensor, " M"]]:
    """Return means (F, M), the covariance of an average column (F, F), and its factor in each column (M,).

    Args:
        Y: the view; missing entries are ignored.
        observed: the mask of observed entries.
        Phis: features at several draws of the latents, each (N, F).
        s: the noise variance.
    """
    blocks = row_blocks(*Y.shape)
    fraction = sum(
        (observed[rows].sum(dim=0) for rows in blocks), torch.zeros_like(observed[0], dtype=torch.int64)
    ) / len(Y)
    gram = sum((Phi.T @ Phi for Phi in Phis[1:]), Phis[0].T @ Phis[0]) / len(Phis)
    average_inverse = factor(add_to_diagonal(fraction.mean() * gram, s)).inverse().contiguous()

    def apply(B: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        total = s * B
        for Phi, rows in product(Phis, blocks):
            total.addmm_(Phi[rows].T, (Phi[rows] @ B).mul_(observed[rows]), alpha=1 / len(Phis))
        return total

    target = Phis[0].new_zeros((Phis[0].shape[1], Y.shape[1]))
    for Phi, rows in product(Phis, blocks):
        target.addmm_(Phi[rows].T, Y[rows].double() * observed[rows], alpha=1 / len(Phis))
    mean = batched_conjugate_gradient(apply, target, preconditioner=average_inverse).contiguous()
    return mean, s * average_inverse, fraction.mean() / fraction.clamp_min(1 / len(Y))
