"""Putting a model together before training."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.models.feature_view import FeatureView
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.private import Dimensions
from mvlvm.models.spectral_mixture import MIXTURES


def build_model(
    start: Float[Tensor, "N D"],
    mixtures: Mapping[str, tuple[str, int]],
    *,
    n_points: int,
    generator: torch.Generator,
    dimensions: Dimensions | None = None,
) -> MultiViewLVM:
    """Make an untrained model, in the precision and on the device of `start`.

    Args:
        start: where the latent means start.
        mixtures: view name -> kernel name and number of mixtures.
        n_points: spectral points per mixture.
        generator: draws the mixture means to start from.
        dimensions: which view sees which latent dimensions; None if all see all.
    """
    D = start.shape[1]
    views = [
        FeatureView(
            name, MIXTURES[kernel](n_mixtures, D, generator),
            n_points=n_points, noise_variance=defaults.START_NOISE_VARIANCE,
        )
        for name, (kernel, n_mixtures) in mixtures.items()
    ]  # fmt: skip
    if dimensions is not None:
        for view in views:
            view.mixture.see(dimensions.seen_by(view.name))
    return MultiViewLVM(GaussianLatent(start, defaults.START_LATENT_STD), views).to(start)
