"""Initial latents of models with shared and private dimensions."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import ViewError
from mvlvm.init.pca import RANK_TOLERANCE, complete_views, left_singular_vectors, scale_to_unit_variance
from mvlvm.models.multiview import Dimensions


def private_init(
    Ys: Sequence[Float[Tensor, "N _"]],
    names: Sequence[str],
    dimensions: Dimensions,
    shared: Float[Tensor, "N _"] | None = None,
) -> Float[Tensor, "N D"]:
    """Return initial latents of shared and private dimensions, (N, D), each scaled to unit variance.

    The shared dimensions are initialised by MAXVAR canonical correlation analysis: every view contributes as many
    leading principal components, whitened, as it has latent dimensions, and the leading components of all of these side
    by side are shared. The private dimensions of a view are the leading principal components of the residual of its
    linear regression on the shared ones.

    Args:
        Ys: centred views; NaN marks missing entries.
        names: the names of the views.
        dimensions: the latent dimensions of every view.
        shared: the initial latents of the shared dimensions; None computes them.

    Raises:
        ViewError: the rank of a view is less than its number of latent dimensions.
    """
    completed = complete_views(Ys, dimensions.total)
    if shared is None:
        leading = [_leading_components(Y, name, dimensions) for Y, name in zip(completed, names, strict=True)]
        shared = _shared_components(torch.cat(leading, dim=1), dimensions.n_shared)
    basis = torch.linalg.qr(shared - shared.mean(dim=0)).Q
    private = [
        _private_components(Y - basis @ (basis.T @ Y), name, dimensions.private[name])
        for Y, name in zip(completed, names, strict=True)
        if name in dimensions.private
    ]
    return torch.cat([shared, *private], dim=1)


def reduce_shared_dimensions(
    Ys: Sequence[Float[Tensor, "N _"]], names: Sequence[str], dimensions: Dimensions
) -> Dimensions:
    """Return dimensions with the largest number of shared ones, at least one, for which `private_init` succeeds.

    Args:
        Ys: centred views; NaN marks missing entries.
        names: the names of the views.
        dimensions: the private dimensions, and the maximum number of shared ones.
    """
    for n_shared in range(dimensions.n_shared, 1, -1):
        fewer = replace(dimensions, n_shared=n_shared)
        try:
            private_init(Ys, names, fewer)
        except ViewError:
            continue
        return fewer
    return replace(dimensions, n_shared=1)


def _leading_components(Y: Float[Tensor, "N M"], name: str, dimensions: Dimensions) -> Float[Tensor, "N r"]:
    """Return one leading component per latent dimension of the view, fewer if its rank is smaller."""
    left, values = left_singular_vectors(Y, dimensions.n_shared + dimensions.private.get(name, 0))
    return left[:, values > RANK_TOLERANCE * values[0]]


def _shared_components(leading: Float[Tensor, "N R"], n_shared: int) -> Float[Tensor, "N K"]:
    """Return the leading components of the views' whitened components, scaled to unit variance."""
    left, values = left_singular_vectors(leading, n_shared)
    rank = int((values > RANK_TOLERANCE * values[0]).sum())
    if rank < n_shared:
        raise ViewError(
            f"n_components={n_shared} is too large for the PCA initialisation: the leading components of the views "
            f"have only rank {rank}. Use n_components <= {rank}, or pass an array as init."
        )
    return scale_to_unit_variance(left)


def _private_components(residual: Float[Tensor, "N M"], name: str, k: int) -> Float[Tensor, "N k"]:
    """Return the leading components of a view's residual after regression on the shared ones, at unit variance."""
    left, values = left_singular_vectors(residual, k)
    # views have unit norm, so the tolerance is relative to one
    rank = int((values > RANK_TOLERANCE).sum())
    if rank < k:
        raise ViewError(
            f"n_private={k} is too large for view '{name}': after regression on the shared dimensions its residual has "
            f"rank {rank}. Give it at most {rank} private dimension(s), or use fewer shared ones."
        )
    return scale_to_unit_variance(left)
