"""Initial latents of models with shared and private dimensions."""

from collections.abc import Mapping, Sequence
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
    completed = dict(zip(names, complete_views(Ys, dimensions.total), strict=True))
    if shared is None:
        components, rank = _shared_components(completed, dimensions)
        if rank < dimensions.n_shared:
            raise ViewError(
                f"n_components={dimensions.n_shared} is too large for the PCA initialisation: the leading components "
                f"of the views have only rank {rank}. Use n_components <= {rank}, or pass an array as init."
            )
        shared = scale_to_unit_variance(components)
    private = [shared]
    for name, k in dimensions.private.items():
        components, rank = _private_components(completed[name], shared, k)
        if rank < k:
            raise ViewError(
                f"n_private={k} is too large for view '{name}': after regression on the shared dimensions its residual "
                f"has rank {rank}. Give it at most {rank} private dimension(s), or use fewer shared ones."
            )
        private.append(scale_to_unit_variance(components))
    return torch.cat(private, dim=1)


def reduce_shared_dimensions(
    Ys: Sequence[Float[Tensor, "N _"]], names: Sequence[str], dimensions: Dimensions
) -> Dimensions:
    """Return dimensions with the largest number of shared ones, at least one, for which `private_init` succeeds.

    Args:
        Ys: centred views; NaN marks missing entries.
        names: the names of the views.
        dimensions: the private dimensions, and the maximum number of shared ones.
    """
    completed = dict(zip(names, complete_views(Ys, dimensions.total), strict=True))
    for n_shared in range(dimensions.n_shared, 1, -1):
        fewer = replace(dimensions, n_shared=n_shared)
        shared, rank = _shared_components(completed, fewer)
        if rank == n_shared and all(
            _private_components(completed[name], shared, k)[1] == k for name, k in dimensions.private.items()
        ):
            return fewer
    return replace(dimensions, n_shared=1)


def _shared_components(
    completed: Mapping[str, Float[Tensor, "N _"]], dimensions: Dimensions
) -> tuple[Float[Tensor, "N K"], int]:
    """Return the leading components of the views' whitened components, and their rank."""
    leading = []
    for name, Y in completed.items():
        left, values = left_singular_vectors(Y, dimensions.n_shared + dimensions.private.get(name, 0))
        leading.append(left[:, values > RANK_TOLERANCE * values[0]])
    left, values = left_singular_vectors(torch.cat(leading, dim=1), dimensions.n_shared)
    return left, int((values > RANK_TOLERANCE * values[0]).sum())


def _private_components(
    Y: Float[Tensor, "N M"], shared: Float[Tensor, "N K"], k: int
) -> tuple[Float[Tensor, "N k"], int]:
    """Return the leading components of a view's residual after regression on the shared ones, and their rank."""
    basis = torch.linalg.qr(shared - shared.mean(dim=0)).Q
    left, values = left_singular_vectors(Y - basis @ (basis.T @ Y), k)
    return left, int((values > RANK_TOLERANCE).sum())  # views have unit norm, so the tolerance is relative to one
