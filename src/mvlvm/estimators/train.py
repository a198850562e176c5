"""The fourth stage of a fit: training, and pruning of latent dimensions that no view uses."""

import math
from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from mvlvm.errors import ConvergenceWarning, NumericalError, warn
from mvlvm.estimators.options import FitOptions
from mvlvm.evidence.elbo import WeightedElbo
from mvlvm.inference.view_function import ViewFunction
from mvlvm.models.data import ViewData
from mvlvm.models.diagnostics import ExpectedView, keep_dimensions, used_dimensions
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewStates, graph_key
from mvlvm.models.weight_posterior import n_latent_draws_for
from mvlvm.training.history import History, StopReason
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.loop import TrainConfig, train
from mvlvm.training.progress import progress_bar
from mvlvm.training.steps import TrainState, init_train_state


class Trained(NamedTuple):
    """The result of training.

    Attributes:
        history: of all rounds.
        last: the history of the last round.
        dimensions: those that were kept.
        states: imputed entries and q(weights) of the views.
    """

    history: History
    last: History
    dimensions: Dimensions
    states: ViewStates


def train_model(
    model: MultiViewLVM,
    data: Sequence[ViewData],
    states: ViewStates,
    options: FitOptions,
    generator: torch.Generator,
    interrupts: Interrupts | None = None,
) -> TrainState:
    """Train a model on scaled views and return the final training state.

    The tolerance applies per observed entry, so that it has the same meaning for large and small data sets.
    """
    # a view of weight zero learns its kernel and noise at full weight, but does not influence the latents
    detached = {name for name, view in options.views.items() if view.weight == 0}
    weights = torch.tensor(
        [view.weight or 1.0 for view in options.views.values()], dtype=torch.float64, device=options.device
    )

    def objective(states: ViewStates, generator: torch.Generator) -> tuple[WeightedElbo, ViewStates]:
        elbo, states = model.elbo(data, states, generator, n_draws=options.n_draws, detached=detached)
        return WeightedElbo(elbo, weights, options.latent_kl_weight), states

    def refresh(states: ViewStates, n_steps: int) -> tuple[ViewStates, Hashable | None]:
        states = model.refresh(data, states, n_steps)
        return states, graph_key(states)

    config = TrainConfig(
        max_iter=options.max_iter, learning_rate=options.learning_rate, tol=options.tol * count_entries(model, data)
    )  # fmt: skip
    state = init_train_state(model.parameters(), generator, states)
    with progress_bar(options.max_iter, "Training") if options.verbose else nullcontext() as callback:
        return train(state, objective, config, callback=callback, refresh=refresh, interrupts=interrupts)


def train_and_prune(
    model: MultiViewLVM,
    data: Sequence[ViewData],
    states: ViewStates,
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
    state = train_model(model, data, states, options, generator, interrupts)
    history, last, states = state.history, state.history, state.view_states
    try:
        while options.prune and last.stop_reason is not StopReason.INTERRUPTED:
            kept = _kept_dimensions(model, data, states, dimensions, generator)
            interrupts.raise_if_requested()
            if kept.all():
                break
            keep_dimensions(model, kept)
            dimensions = replace(dimensions, n_shared=int(kept[: dimensions.n_shared].sum()))
            # q(weights) belongs to features of all dimensions
            states = tuple(replace(view_state, weights=None) for view_state in states)
            state = train_model(model, data, states, options, generator, interrupts)
            last, states = state.history, state.view_states
            history.extend(last)
    except KeyboardInterrupt:  # between two rounds
        history.stop_reason = last.stop_reason = StopReason.INTERRUPTED
    return end_of_training(model, history, last, dimensions, states)


def end_of_training(
    model: MultiViewLVM, history: History, last: History, dimensions: Dimensions, states: ViewStates
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
    return Trained(history, last, dimensions, tuple(view_state.released() for view_state in states))


def count_entries(model: MultiViewLVM, data: Sequence[ViewData]) -> int:
    """Return the number of observed entries of all views; a label counts as one."""
    pairs = zip(model.feature_views, data, strict=True)
    return sum(view.likelihood.count_entries(seen.entries) for view, seen in pairs)


def _kept_dimensions(
    model: MultiViewLVM,
    data: Sequence[ViewData],
    states: ViewStates,
    dimensions: Dimensions,
    generator: torch.Generator,
) -> Bool[Tensor, " D"]:
    """Return which dimensions are kept: those that a view uses, at least one of them shared, and all private ones."""
    kept = used_dimensions(_expected_views(model, data, states, generator), model.latent, data)
    kept[dimensions.n_shared :] = True
    kept[0] |= not kept[: dimensions.n_shared].any()
    return kept


@torch.no_grad()
def _expected_views(
    model: MultiViewLVM, data: Sequence[ViewData], states: ViewStates, generator: torch.Generator
) -> list[ExpectedView]:
    """Return the expected entries of every view as functions of the latents, for one draw of its spectral points."""
    n_latent_draws = n_latent_draws_for(len(model.latent.mean))
    posteriors = [
        view.infer_weights(model.latent, seen, state, n_latent_draws=n_latent_draws, generator=generator)
        for view, seen, state in zip(model.feature_views, data, states, strict=True)
    ]
    return [
        ViewFunction((posterior,), view.likelihood).entries
        for view, posterior in zip(model.feature_views, posteriors, strict=True)
    ]


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
