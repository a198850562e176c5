"""Where the latent means start."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import ViewError

# Singular values below this share of the largest are rounding.
_RANK_TOLERANCE = 1e-6
# A start need not be exact: gaps are filled until they change by less than a hundredth, and not for ever.
_COMPLETION_ROUNDS = 50
_COMPLETION_TOLERANCE = 1e-2


def pca_start(Ys: Sequence[Float[Tensor, "N _"]], n_components: int) -> Float[Tensor, "N D"]:
    """Give the leading principal components of all views side by side, each scaled to unit variance.

    Every view is first divided by its Frobenius norm, so that all weigh the same. The sign of a component is chosen
    so that its entry of largest magnitude is positive. Missing entries are those of the components themselves, found by
    turns.

    Args:
        Ys: centred views; NaN is missing.
        n_components: D.

    Raises:
        ViewError: the views together have fewer than D directions.
    """
    Z = torch.cat([Y / torch.linalg.matrix_norm(Y.nan_to_num(nan=0.0)) for Y in Ys], dim=1)
    left, singular_values = _leading_left_vectors(_completed(Z, n_components), n_components)
    rank = int((singular_values > _RANK_TOLERANCE * singular_values[0]).sum())
    if rank < n_components:
        raise ViewError(
            f"n_components={n_components} is too large for the PCA start: the centred views together have rank {rank}, "
            f"not counting directions below {_RANK_TOLERANCE:g} of the largest. "
            f"Give n_components <= {rank}, or pass an array as init."
        )
    sign = left.gather(0, left.abs().argmax(dim=0, keepdim=True)).sign()
    return left * sign * len(Z) ** 0.5


def _completed(Z: Float[Tensor, "N M"], rank: int) -> Float[Tensor, "N M"]:
    """Fill gaps with the best matrix of a given rank: from the column means, components and gaps in turns."""
    missing = torch.isnan(Z)
    if not missing.any():
        return Z
    filled = Z.nan_to_num(nan=0.0)
    for _ in range(_COMPLETION_ROUNDS):
        left, _ = _leading_left_vectors(filled, rank)
        before, filled = filled, torch.where(missing, left @ (left.T @ filled), Z)
        if torch.linalg.matrix_norm(filled - before) <= _COMPLETION_TOLERANCE * torch.linalg.matrix_norm(filled):
            break
    return filled


def _leading_left_vectors(Z: Float[Tensor, "N M"], n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
    """Give the first left singular vectors and values, from the smaller of the two Gram matrices."""
    N, M = Z.shape
    values, vectors = torch.linalg.eigh(Z @ Z.T if N <= M else Z.T @ Z)
    values, vectors = values.flip(0)[:n].clamp_min(0).sqrt(), vectors.flip(1)[:, :n]
    left = vectors if N <= M else Z @ vectors / values.clamp_min(torch.finfo(Z.dtype).tiny)
    return left, values
