"""NG-MVLVM: views that share one latent (Alg. 1)."""

from collections.abc import Collection, Hashable, Sequence
from functools import partial

import torch
from torch import nn

from mvlvm.evidence.elbo import Elbo
from mvlvm.linalg.side_by_side import side_by_side
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.view import AbstractView


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
            draws.append(torch.stack(side_by_side(terms, X.device)))
        return Elbo(torch.stack(draws).mean(dim=0), self.latent.kl())

    def settle(self, views: Sequence[ObservedView], n_steps: int) -> Hashable | None:
        """Choose how the bound is computed in the steps to come, after so many.

        Returns:
            What the bound takes for granted when a GPU records it; None if it cannot be recorded.
        """
        settings = [view.settle(seen, n_steps) for view, seen in zip(self.feature_views, views, strict=True)]
        return None if None in settings else tuple(settings)
