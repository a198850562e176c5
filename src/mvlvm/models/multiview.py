"""NG-MVLVM: views that share one latent (Alg. 1), and how its latent dimensions are divided among the views."""

import copy
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.evidence.elbo import Elbo
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.linalg.cuda import run_concurrently
from mvlvm.models.gaussian_views import CompleteGaussianView, IncompleteGaussianView
from mvlvm.models.latent import GaussianLatent, draw_latent, latent_gradients
from mvlvm.models.spectral_mixture import MIXTURES, absorb_unit
from mvlvm.models.state import StateSettings, ViewState
from mvlvm.models.variational_view import VariationalView
from mvlvm.models.views import AbstractView, ModelView
from mvlvm.parameters import Gradients


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

    def __init__(self, latent: GaussianLatent, views: Iterable[AbstractView]) -> None:
        super().__init__()
        self.latent = latent
        self.views = nn.ModuleList(views)

    @property
    def modules_by_view(self) -> dict[str, AbstractView]:
        """View name -> its module."""
        return {view.name: view for view in self.views if isinstance(view, AbstractView)}

    def absorb_units(self) -> None:
        """Set the units of all parameters to one; the values of noise and kernels stay the same."""
        for view in self.modules_by_view.values():
            absorb_unit(view.mixture)
            view.likelihood.absorb_unit()

    def elbo(
        self, views: Mapping[str, ModelView], generator: torch.Generator, *, n_draws: int = 1
    ) -> tuple[Elbo, dict[str, ViewState]]:
        """Estimate the evidence lower bound, the body of Alg. 1. No side effects.

        Args:
            views: view name -> module, observations and state.
            generator: source of the draws of X and W.
            n_draws: number of draws, the paper's I.

        Returns:
            The bound, and the views' states after this step.
        """
        states, draws = states_of(views), []
        for _ in range(n_draws):
            X = self.latent.sample(generator)  # one draw, shared by all views
            evidences = [
                partial(view.module.log_evidence, view.data, states[name], X if view.weight else X.detach(), generator)
                for name, view in views.items()
            ]
            values, after = zip(*run_concurrently(evidences, X.device), strict=True)
            draws.append(torch.stack(values))
            states = dict(zip(views, after, strict=True))
        evidence = torch.stack(draws).mean(dim=0).unbind()
        return Elbo(dict(zip(views, evidence, strict=True)), self.latent.kl()), states

    @torch.no_grad()
    def elbo_gradients(
        self,
        views: Mapping[str, ModelView],
        generator: torch.Generator,
        *,
        view_weights: Mapping[str, float],
        latent_kl_weight: float = 1.0,
        n_draws: int = 1,
    ) -> tuple[Elbo, Gradients, dict[str, ViewState]]:
        """Estimate the evidence lower bound, and the gradients of its weighted terms. No side effects.

        The draws are those of `elbo`.

        Args:
            views: view name -> module, observations and state.
            generator: source of the draws of X and W.
            view_weights: view name -> weight of its expected log evidence.
            latent_kl_weight: weight of the KL divergence.
            n_draws: number of draws, the paper's I.

        Returns:
            The bound, the gradients of the objective, and the views' states after this step.
        """
        states, values = states_of(views), []
        gradients: Gradients = {}
        for _ in range(n_draws):
            draw = draw_latent(self.latent, generator)  # one draw, shared by all views
            calls = [
                partial(view.module.evaluate, view.data, states[name], draw.X, generator)
                for name, view in views.items()
            ]
            found = dict(zip(views, run_concurrently(calls, draw.X.device), strict=True))
            grad_X = torch.zeros_like(draw.X)
            for name, view in views.items():
                factor = view_weights[name] / n_draws
                gradients = total_gradients(gradients, found[name].parameters, factor)
                if view.weight:
                    grad_X.add_(found[name].X, alpha=factor)
            of_latent = latent_gradients(self.latent, draw, grad_X, kl_weight=latent_kl_weight / n_draws)
            gradients = total_gradients(gradients, of_latent)
            values.append([found[name].value for name in views])
            states = {name: found[name].state for name in views}
        evidence = {
            name: sum(of_draws) / n_draws for name, of_draws in zip(views, zip(*values, strict=True), strict=True)
        }
        kl = self.latent.kl()
        return Elbo(evidence, kl if kl.is_cuda else kl.item()), gradients, states


def total_gradients(total: Gradients, gradients: Gradients, weight: float = 1.0) -> Gradients:
    """Return the sum of gradients and weighted further gradients."""
    weighted = {p: gradient if weight == 1.0 else weight * gradient for p, gradient in gradients.items()}
    return {**total, **{p: total[p] + gradient if p in total else gradient for p, gradient in weighted.items()}}


def states_of(views: Mapping[str, ModelView]) -> dict[str, ViewState]:
    """Return view name -> its state."""
    return {name: view.state for name, view in views.items() if view.state is not None}


def with_states(views: Mapping[str, ModelView], states: Mapping[str, ViewState | None]) -> dict[str, ModelView]:
    """Return views with other states."""
    return {name: replace(view, state=states[name]) for name, view in views.items()}


def init_states(views: Mapping[str, ModelView], settings: StateSettings) -> dict[str, ModelView]:
    """Return views with the states before training, which share their scratch memory."""
    return {name: view.initialised(settings) for name, view in views.items()}


def refreshed_states(views: Mapping[str, ModelView], n_steps: int) -> dict[str, ViewState]:
    """Return the states of views for the next steps, after `n_steps` steps of training."""
    return {name: view.module.refresh(view.state, n_steps) for name, view in views.items()}


def with_points(states: Mapping[str, ViewState], n_points: int | None = None) -> dict[str, ViewState]:
    """Return the states of views for some number of spectral points; None stands for all."""
    return {name: state.with_points(n_points) for name, state in states.items()}


def final_views(views: Mapping[str, ModelView], settings: StateSettings) -> dict[str, ModelView]:
    """Return trained views with all columns of those that were compressed in training."""
    return {name: view.initialised(settings) if view.state is None else view for name, view in views.items()}


def graph_key(states: Mapping[str, ViewState]) -> Hashable | None:
    """Return what a recorded CUDA step depends on; None if steps cannot be recorded."""
    keys = tuple(state.graph_key for state in states.values())
    return None if None in keys else keys


class ViewPlan(NamedTuple):
    """The parts of a view module.

    Attributes:
        kernel: the name of its kernel.
        n_mixtures: Q.
        likelihood: p(y | f) with its initial parameters.
        complete: whether the view has no missing entries.
    """

    kernel: str
    n_mixtures: int
    likelihood: AbstractLikelihood
    complete: bool = True


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
    # a copy, because several models may be built from a plan, and each learns its own parameters
    likelihood = copy.deepcopy(plan.likelihood)
    if not likelihood.collapses:
        return VariationalView(name, mixture, likelihood, n_points=n_points, generator=generator)
    kind = CompleteGaussianView if plan.complete else IncompleteGaussianView
    gaussian = cast(Gaussian, likelihood)  # the only likelihood that collapses
    mixture.unit = gaussian.unit
    return kind(name, mixture, gaussian, n_points=n_points)
