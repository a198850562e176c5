r"""The weights of a view's features where nothing is hidden, from sums over rows.

    B = A^{-1} E[Phi]' Y,        Sigma = s A^{-1},        A = E[Phi' Phi] + s I

Both expectations are over draws of the latents, and all that is kept of the rows are two sums: of phi phi' and of
phi y'. So rows come in blocks, and no feature of more than one block is in memory.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.linalg.cholesky import factor
from mvlvm.linalg.lowrank import add_to_diagonal
from mvlvm.linalg.symmetric import add_lower_gram
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.observed import ObservedView
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


def infer_complete(
    seen: ObservedView, features: FeatureMap, draws: Sequence[Float[Tensor, "R D"]], s: Scalar
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
    root = None if seen.weight is None else seen.weight.sqrt().double()[:, None]
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
