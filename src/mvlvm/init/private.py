"""Where the latent means start if views have dimensions of their own."""

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
    """Give starts for shared and private dimensions, each scaled to unit variance.

    The shared ones are the directions that the views have most in common: every view gives as many leading principal
    components as it sees dimensions, all at the same length, and the shared start is what these have in common (the
    leading components of all of them side by side, known as MAXVAR canonical correlation). A view's own dimensions
    start at the principal components of what a straight line through the shared ones leaves of it.

    Args:
        Ys: centred views; NaN is missing.
        names: what the views are called.
        dimensions: which view sees which.
        shared: the start of the shared ones, if it is known already.

    Raises:
        ViewError: a view has fewer directions than it sees dimensions.
    """
    filled = complete_views(Ys, dimensions.total)
    if shared is None:
        leading = [_leading(Y, name, dimensions) for Y, name in zip(filled, names, strict=True)]
        shared = _common(torch.cat(leading, dim=1), dimensions.n_shared)
    line = torch.linalg.qr(shared - shared.mean(dim=0)).Q
    own = [
        _own(Y - line @ (line.T @ Y), name, dimensions.private[name])
        for Y, name in zip(filled, names, strict=True)
        if name in dimensions.private
    ]
    return torch.cat([shared, *own], dim=1)


def reduce_shared_dimensions(
    Ys: Sequence[Float[Tensor, "N _"]], names: Sequence[str], dimensions: Dimensions
) -> Dimensions:
    """Take away shared dimensions, one at least stays, until all views have directions left for their own.

    Args:
        Ys: centred views; NaN is missing.
        names: what the views are called.
        dimensions: which view sees which, with the most shared ones there may be.
    """
    for n_shared in range(dimensions.n_shared, 1, -1):
        fewer = replace(dimensions, n_shared=n_shared)
        try:
            private_init(Ys, names, fewer)
        except ViewError:
            continue
        return fewer
    return replace(dimensions, n_shared=1)


def _leading(Y: Float[Tensor, "N M"], name: str, dimensions: Dimensions) -> Float[Tensor, "N r"]:
    """Give as many leading components of a view as it sees dimensions, or as it has."""
    left, values = left_singular_vectors(Y, dimensions.n_shared + dimensions.private.get(name, 0))
    return left[:, values > RANK_TOLERANCE * values[0]]


def _common(leading: Float[Tensor, "N R"], n_shared: int) -> Float[Tensor, "N K"]:
    """Give what the views' leading components have in common."""
    left, values = left_singular_vectors(leading, n_shared)
    rank = int((values > RANK_TOLERANCE * values[0]).sum())
    if rank < n_shared:
        raise ViewError(
            f"n_components={n_shared} is too large for the PCA start: the views have only {rank} direction(s) to start "
            f"shared dimensions from. Give n_components <= {rank}, or pass an array as init."
        )
    return scale_to_unit_variance(left)


def _own(rest: Float[Tensor, "N M"], name: str, k: int) -> Float[Tensor, "N k"]:
    """Give the leading components of what the shared ones leave of a view."""
    left, values = left_singular_vectors(rest, k)
    # a view has unit norm, so what is left of it is measured against one
    rank = int((values > RANK_TOLERANCE).sum())
    if rank < k:
        raise ViewError(
            f"n_private={k} is too large for view '{name}': beside the shared dimensions it has {rank} direction(s) "
            f"left to start from. Give it at most {rank} private dimension(s), or fewer shared ones."
        )
    return scale_to_unit_variance(left)
