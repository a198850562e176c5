"""Taking latent dimensions away that no view uses.

A dimension is used if some view would lose a fiftieth of its variance were the dimension held at its mean. The bound
itself sees to it that the others come near nothing: a dimension that does not help to explain any view costs
divergence from the prior, so training draws its latents towards the prior and its frequencies towards zero.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from mvlvm.models.explained import ExpectedView, explained_variance
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView

# Measured on 3, 5 and 8 factors: those that are there are worth 0.07 and more to a view; those that are not 0.015 after
# 200 steps, and 0.004 at most after 500. Where there is no number, as in mfeat, it is what bounds the search.
LEAST_SHARE = 0.02


def used_dimensions(
    functions: Sequence[ExpectedView], latent: GaussianLatent, views: Sequence[ObservedView]
) -> Bool[Tensor, " D"]:
    """Give whether some view uses each dimension; if none is used, the best of them counts as used.

    Args:
        functions: what is expected of every view at given latents.
        latent: where the training rows lie.
        views: what was seen.
    """
    lost = torch.stack(
        [explained_variance(f, latent, seen).by_dimension for f, seen in zip(functions, views, strict=True)]
    )
    most = lost.max(dim=0).values
    used = most >= LEAST_SHARE
    used[most.argmax()] = True
    return used


@torch.no_grad()
def keep_dimensions(model: MultiViewLVM, kept: Bool[Tensor, " D"]) -> None:
    """Take all other dimensions out of a model."""
    latent = model.latent
    latent.mean = nn.Parameter(latent.mean[:, kept].contiguous())
    latent.raw_std = nn.Parameter(latent.raw_std[:, kept].contiguous())
    for view in model.feature_views:
        view.keep_dimensions(kept)
