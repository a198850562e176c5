"""The fourth stage of a fit: training, and pruning of latent dimensions that no view uses."""

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from mvlvm.errors import ConvergenceWarning, NumericalError, warn
from mvlvm.estimators.options import FitOptions
from mvlvm.evidence.elbo import Objective
from mvlvm.inference.view_function import ViewFunction
from mvlvm.models.diagnostics import ExpectedView, keep_dimensions, used_dimensions
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import Dimensions, MultiViewLVM, graph_key, refreshed_states, states_of, with_states
from mvlvm.models.views import ModelView
from mvlvm.models.weight_posterior import n_latent_draws_for
from mvlvm.training.history import History, StopReason
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.loop import TrainConfig, as_callbacks, train
from mvlvm.training.progress import progress_bar
from mvlvm.training.steps import TrainState, ViewStates, init_train_state


class Trained(NamedTuple):
    """The result of training.

    Attributes:
        history: of all rounds.
        last: the history of the last round.
        dimensions: those that were kept.
        views: the views with their data, and with imputed entries and q(weights).
    """

    history: History
    last: History
    dimensions: Dimensions
    views: Mapping[str, ModelView]


def train_model(
    model: MultiViewLVM,
    views: Mapping[str, ModelView],
    options: FitOptions,
    generator: torch.Generator,
    interrupts: Interrupts | None = None,
) -> TrainState:
    """Train a model on scaled views and return the final training state.

    The tolerance applies per observed entry, so that it has the same meaning for large and small data sets.
    """
    # a view of weight zero learns its kernel and noise at full weight, but does not influence the latents
    weights = {name: view.weight or 1.0 for name, view in views.items()}

    def objective(states: ViewStates, generator: torch.Generator) -> tuple[Objective, ViewStates]:
        elbo, states = model.elbo(with_states(views, states), generator, n_draws=options.n_draws)
        return Objective(elbo, weights, options.latent_kl_weight), states

    def refresh(states: ViewStates, n_steps: int) -> ViewStates:
        return refreshed_states(with_states(views, states), n_steps)

    config = TrainConfig(
        max_iter=options.max_iter, learning_rate=options.learning_rate, tol=options.tol * count_entries(views)
    )  # fmt: skip
    state = init_train_state(model.parameters(), generator, states_of(views))
    with progress_bar(options.max_iter, "Training") if options.verbose else nullcontext() as show:
        return train(
            state, objective, config,
            callbacks=as_callbacks(show), refresh=refresh, graph_key=graph_key, interrupts=interrupts,
        )  # fmt: skip


def train_and_prune(
    model: MultiViewLVM,
    views: Mapping[str, ModelView],
    dimensions: Dimensions,
    options: FitOptions,
    generator: torch.Generator,
    interrupts: Interrupts,
) -> Trained:
    """Train a model; if requested, remove dimensions that no view uses and train again, until all are used.

    Private dimensions were requested explicitly, and are kept.

    Raises:
        NumericalError: training failed numerically.
        KeyboardInterrupt: there was an interrupt before the first step had ended.
    """
    state = train_model(model, views, options, generator, interrupts)
    history, last, views = state.history, state.history, with_states(views, state.view_states)
    try:
        while options.prune and last.stop_reason is not StopReason.INTERRUPTED:
            kept = _kept_dimensions(model, views, dimensions, generator)
            interrupts.raise_if_requested()
            if kept.all():
                break
            keep_dimensions(model, kept)
            dimensions = replace(dimensions, n_shared=int(kept[: dimensions.n_shared].sum()))
            views = with_states(views, {name: state.with_new_features() for name, state in state.view_states.items()})
            state = train_model(model, views, options, generator, interrupts)
            last, views = state.history, with_states(views, state.view_states)
            history.extend(last)
    except KeyboardInterrupt:  # between two rounds
        history.stop_reason = last.stop_reason = StopReason.INTERRUPTED
    return end_of_training(model, history, last, dimensions, views)


def end_of_training(
    model: MultiViewLVM, history: History, last: History, dimensions: Dimensions, views: Mapping[str, ModelView]
) -> Trained:
    """Return the result of training without scratch memory.

    Raises:
        NumericalError: a parameter is not finite.
    """
    if not all(torch.isfinite(parameter).all() for parameter in model.parameters()):
        raise NumericalError(
            "Training has diverged: a parameter is not finite after the last step. Lower learning_rate, or fit with "
            "dtype='float64'."
        )
    return Trained(history, last, dimensions, {name: view.released() for name, view in views.items()})


def count_entries(views: Mapping[str, ModelView]) -> int:
    """Return the number of observed entries of all views; a label counts as one."""
    return sum(view.module.likelihood.count_entries(view.data.entries) for view in views.values())


def _kept_dimensions(
    model: MultiViewLVM, views: Mapping[str, ModelView], dimensions: Dimensions, generator: torch.Generator
) -> Bool[Tensor, " D"]:
    """Return which dimensions are kept: those that a view uses, at least one of them shared, and all private ones."""
    kept = used_dimensions(_expected_views(model.latent, views, generator), model.latent, views)
    kept[dimensions.n_shared :] = True
    kept[0] |= not kept[: dimensions.n_shared].any()
    return kept


@torch.no_grad()
def _expected_views(
    latent: GaussianLatent, views: Mapping[str, ModelView], generator: torch.Generator
) -> dict[str, ExpectedView]:
    """Return the expected entries of every view as functions of the latents, for one draw of its spectral points."""
    n_latent_draws = n_latent_draws_for(len(latent.mean))
    posteriors = {
        name: view.infer_weights(latent, n_latent_draws=n_latent_draws, generator=generator)
        for name, view in views.items()
    }
    return {
        name: ViewFunction((posterior,), views[name].module.likelihood).entries
        for name, posterior in posteriors.items()
    }


def warn_if_not_converged(history: History, options: FitOptions, n_entries: int, *, interrupted: bool) -> None:
    """Warn that training ended before the bound had converged, or that there was an interrupt after it.

    Args:
        history: of the last round.
        options: of the fit.
        n_entries: number of observed entries.
        interrupted: whether there was an interrupt, during or after training.
    """
    steps, rise_per_entry = len(history.bound), history.last_rise / n_entries
    if history.stop_reason is StopReason.INTERRUPTED:
        warn(
            f"Training was interrupted after {steps} of {options.max_iter} steps. The model is kept in its current "
            "state and can be used.",
            ConvergenceWarning,
        )
    elif interrupted:
        warn(
            "There was an interrupt after training had ended. The fit is complete.",
            ConvergenceWarning,
        )
    elif history.stop_reason is StopReason.MAX_ITER and rise_per_entry > options.tol > 0:
        known = math.isfinite(rise_per_entry)
        reason = f"it last rose by {rise_per_entry:.2g} nats per entry" if known else "the run was too short to tell"
        warn(
            f"Training reached max_iter={options.max_iter} before the bound converged to tol={options.tol:g}: "
            f"{reason}. Raise max_iter, raise tol, or set tol=0 if this number of steps is intended.",
            ConvergenceWarning,
        )
