"""Which view sees which latent dimensions: first those that all share, then every view's own.

NG-MVLVM: views that share one latent (Alg. 1).

Putting a model together before training.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.evidence.elbo import Elbo
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.linalg.cuda import run_concurrently
from mvlvm.models.data import ObservedView
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import MIXTURES
from mvlvm.models.views import AbstractView, FeatureView, WeightView


@dataclass(frozen=True)
class Dimensions:
    """The latent dimensions of a model.

    Attributes:
        n_shared: how many all views share.
        private: view name -> how many of its own, in the order in which they follow; views that have some.
    """

    n_shared: int
    private: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All of them, D."""
        return self.n_shared + sum(self.private.values())

    @property
    def shared(self) -> slice:
        """Where the shared ones are."""
        return slice(0, self.n_shared)

    def of_view(self, name: str) -> slice:
        """Give the place of a view's own dimensions."""
        before = self.n_shared
        for view, n in self.private.items():
            if view == name:
                return slice(before, before + n)
            before += n
        return slice(before, before)

    def seen_by(self, name: str) -> Bool[Tensor, " D"]:
        """Give whether a view sees each dimension."""
        seen = torch.zeros(self.total, dtype=torch.bool)
        seen[self.shared] = True
        seen[self.of_view(name)] = True
        return seen

    def names(self) -> list[str]:
        """Give every dimension a name: x0, x1, ..., and the view's name with a number for its own."""
        own = [f"{view}:{k}" for view, n in self.private.items() for k in range(n)]
        return [f"x{k}" for k in range(self.n_shared)] + own


class MultiViewLVM(nn.Module):
    """A latent posterior and the views that look at it [eq:Next-Gen SM in MV-GPLVM].

    Args:
        latent: q(X).
        views: one module per view.
    """

    def __init__(self, latent: GaussianLatent, views: Sequence[AbstractView]) -> None:
        super().__init__()
        self.latent = latent
        self.views = nn.ModuleList(views)

    @property
    def feature_views(self) -> list[AbstractView]:
        """The views' modules, with their type."""
        return [view for view in self.views if isinstance(view, AbstractView)]

    def elbo(
        self,
        views: Sequence[ObservedView],
        generator: torch.Generator,
        *,
        n_draws: int = 1,
        mute: Collection[str] = (),
    ) -> Elbo:
        """Estimate the evidence lower bound, the body of Alg. 1.

        Args:
            views: what was seen, in the order of the modules.
            generator: source of the draws of X and W.
            n_draws: the paper's I.
            mute: views that learn from the latents, but have no say in where they are.
        """
        draws = []
        for _ in range(n_draws):
            X = self.latent.sample(generator)  # one draw, shared by all views
            terms = [
                partial(view.log_evidence, seen, X.detach() if view.name in mute else X, generator)
                for view, seen in zip(self.feature_views, views, strict=True)
            ]
            draws.append(torch.stack(run_concurrently(terms, X.device)))
        return Elbo(torch.stack(draws).mean(dim=0), self.latent.kl())

    def settle(self, views: Sequence[ObservedView], n_steps: int) -> Hashable | None:
        """Choose how the bound is computed in the steps to come, after so many.

        Returns:
            What the bound takes for granted when a GPU records it; None if it cannot be recorded.
        """
        settings = [view.settle(seen, n_steps) for view, seen in zip(self.feature_views, views, strict=True)]
        return None if None in settings else tuple(settings)


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
    return MultiViewLVM(GaussianLatent(start, defaults.INITIAL_LATENT_STD), views).to(start)


def _build_view(name: str, plan: ViewPlan, D: int, n_points: int, generator: torch.Generator) -> AbstractView:
    mixture = MIXTURES[plan.kernel](plan.n_mixtures, D, generator)
    if plan.likelihood is None or isinstance(plan.likelihood, Gaussian):
        return FeatureView(name, mixture, n_points=n_points, noise_variance=defaults.INITIAL_NOISE_VARIANCE)
    return WeightView(name, mixture, plan.likelihood, n_points=n_points, generator=generator)
