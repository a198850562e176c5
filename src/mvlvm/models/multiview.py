"""NG-MVLVM: views that share one latent (Alg. 1), and how its latent dimensions are divided among the views."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.evidence.elbo import Elbo
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.linalg.cuda import Workspace, run_concurrently
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import MIXTURES
from mvlvm.models.state import ViewState
from mvlvm.models.views import AbstractView, FeatureView, WeightView

ViewStates = tuple[ViewState, ...]


@dataclass(frozen=True)
class Dimensions:
    """The latent dimensions of a model: first the shared ones, then the private ones of every view.

    Attributes:
        n_shared: number of dimensions that all views share.
        private: view name -> number of its private dimensions, in order; only views that have some.
    """

    n_shared: int
    private: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of all dimensions, D."""
        return self.n_shared + sum(self.private.values())

    @property
    def shared(self) -> slice:
        """Positions of the shared dimensions."""
        return slice(0, self.n_shared)

    def private_to(self, name: str) -> slice:
        """Return the positions of a view's private dimensions."""
        before = self.n_shared
        for view, n in self.private.items():
            if view == name:
                return slice(before, before + n)
            before += n
        return slice(before, before)

    def used_by(self, name: str) -> Bool[Tensor, " D"]:
        """Return which dimensions a view depends on."""
        used = torch.zeros(self.total, dtype=torch.bool)
        used[self.shared] = True
        used[self.private_to(name)] = True
        return used

    def names(self) -> list[str]:
        """Return a name for every dimension: x0, x1, ... if shared, "view:0", "view:1", ... if private."""
        private = [f"{view}:{k}" for view, n in self.private.items() for k in range(n)]
        return [f"x{k}" for k in range(self.n_shared)] + private


class MultiViewLVM(nn.Module):
    """A latent posterior q(X) and one module per view [eq:Next-Gen SM in MV-GPLVM].

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
        """The view modules, with their type."""
        return [view for view in self.views if isinstance(view, AbstractView)]

    def elbo(
        self,
        data: Sequence[ViewData],
        states: ViewStates,
        generator: torch.Generator,
        *,
        n_draws: int = 1,
        detached: Collection[str] = (),
    ) -> tuple[Elbo, ViewStates]:
        """Estimate the evidence lower bound, the body of Alg. 1. No side effects.

        Args:
            data: the observations, in the order of the modules.
            states: the views' states.
            generator: source of the draws of X and W.
            n_draws: number of draws, the paper's I.
            detached: views whose evidence does not influence the latents.

        Returns:
            The bound, and the views' states after this step.
        """
        draws = []
        for _ in range(n_draws):
            X = self.latent.sample(generator)  # one draw, shared by all views
            terms = [
                partial(view.log_evidence, seen, state, X.detach() if view.name in detached else X, generator)
                for view, seen, state in zip(self.feature_views, data, states, strict=True)
            ]
            values, states = zip(*run_concurrently(terms, X.device), strict=True)
            draws.append(torch.stack(values))
        return Elbo(torch.stack(draws).mean(dim=0), self.latent.kl()), states

    def init_states(
        self,
        data: Sequence[ViewData],
        *,
        max_energy_share: float | None = None,
        memory_budget: float = defaults.MEMORY_BUDGET,
    ) -> ViewStates:
        """Return the states of all views before training; arguments as for `AbstractView.init_state`."""
        dtype, workspace = self.latent.mean.dtype, Workspace()
        return tuple(
            view.init_state(
                seen, dtype=dtype, max_energy_share=max_energy_share, memory_budget=memory_budget, workspace=workspace
            )
            for view, seen in zip(self.feature_views, data, strict=True)
        )

    def final_states(
        self, data: Sequence[ViewData], states: ViewStates, *, memory_budget: float = defaults.MEMORY_BUDGET
    ) -> ViewStates:
        """Return the states after training with all columns of compressed views."""
        whole = self.init_states(data, memory_budget=memory_budget)
        return tuple(
            replace(initial, imputed=state.imputed, weights=state.weights)
            for initial, state in zip(whole, states, strict=True)
        )

    def refresh(self, data: Sequence[ViewData], states: ViewStates, n_steps: int) -> ViewStates:
        """Return the states for the next steps, after `n_steps` steps of training."""
        triples = zip(self.feature_views, data, states, strict=True)
        return tuple(view.refresh(seen, state, n_steps) for view, seen, state in triples)


def graph_key(states: ViewStates) -> Hashable | None:
    """Return what a recorded CUDA step depends on; None if steps cannot be recorded."""
    keys = tuple(state.graph_key for state in states)
    return None if None in keys else keys


class ViewPlan(NamedTuple):
    """The parts of a view module.

    Attributes:
        kernel: the name of its kernel.
        n_mixtures: Q.
        likelihood: p(y | f); None for a Gaussian with the default initial noise.
    """

    kernel: str
    n_mixtures: int
    likelihood: AbstractLikelihood | None = None


def build_model(
    initial_mean: Float[Tensor, "N D"],
    plans: Mapping[str, ViewPlan],
    *,
    n_points: int,
    generator: torch.Generator,
    dimensions: Dimensions | None = None,
) -> MultiViewLVM:
    """Build an untrained model in the precision and on the device of the initial latents.

    Args:
        initial_mean: initial latent means.
        plans: view name -> its parts.
        n_points: spectral points per mixture.
        generator: draws the initial means of the mixtures, and the base draws of views that keep theirs.
        dimensions: which view depends on which latent dimensions; None if every view depends on all.
    """
    D = initial_mean.shape[1]
    views = [_build_view(name, plan, D, n_points, generator) for name, plan in plans.items()]
    if dimensions is not None:
        for view in views:
            view.mixture.use(dimensions.used_by(view.name))
    return MultiViewLVM(GaussianLatent(initial_mean, defaults.INITIAL_LATENT_STD), views).to(initial_mean)


def _build_view(name: str, plan: ViewPlan, D: int, n_points: int, generator: torch.Generator) -> AbstractView:
    mixture = MIXTURES[plan.kernel](plan.n_mixtures, D, generator)
    if plan.likelihood is None or isinstance(plan.likelihood, Gaussian):
        return FeatureView(name, mixture, n_points=n_points, noise_variance=defaults.INITIAL_NOISE_VARIANCE)
    return WeightView(name, mixture, plan.likelihood, n_points=n_points, generator=generator)
