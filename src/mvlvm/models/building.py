"""Putting a model together before training."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.feature_view import FeatureView
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.private import Dimensions
from mvlvm.models.spectral_mixture import MIXTURES
from mvlvm.models.view import AbstractView
from mvlvm.models.weight_view import WeightView


class ViewPlan(NamedTuple):
    """What a view module is to be made of.

    Attributes:
        kernel: the name of its kernel.
        n_mixtures: Q.
        likelihood: how its entries are drawn; None for a Gaussian one at the default start.
    """

    kernel: str
    n_mixtures: int
    likelihood: AbstractLikelihood | None = None


def build_model(
    start: Float[Tensor, "N D"],
    plans: Mapping[str, ViewPlan],
    *,
    n_points: int,
    generator: torch.Generator,
    dimensions: Dimensions | None = None,
) -> MultiViewLVM:
    """Make an untrained model, in the precision and on the device of `start`.

    Args:
        start: where the latent means start.
        plans: view name -> what it is made of.
        n_points: spectral points per mixture.
        generator: draws the mixture means to start from, and the base draws of views that keep theirs.
        dimensions: which view sees which latent dimensions; None if all see all.
    """
    views = [_build_view(name, plan, start.shape[1], n_points, generator) for name, plan in plans.items()]
    if dimensions is not None:
        for view in views:
            view.mixture.see(dimensions.seen_by(view.name))
    return MultiViewLVM(GaussianLatent(start, defaults.START_LATENT_STD), views).to(start)


def _build_view(name: str, plan: ViewPlan, D: int, n_points: int, generator: torch.Generator) -> AbstractView:
    mixture = MIXTURES[plan.kernel](plan.n_mixtures, D, generator)
    if plan.likelihood is None or isinstance(plan.likelihood, Gaussian):
        return FeatureView(name, mixture, n_points=n_points, noise_variance=defaults.START_NOISE_VARIANCE)
    return WeightView(name, mixture, plan.likelihood, n_points=n_points, generator=generator)
