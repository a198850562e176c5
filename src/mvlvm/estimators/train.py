"""The fourth stage of a fit: trials of initialisations, training, and pruning of dimensions that no view uses."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from mvlvm.errors import ConvergenceWarning, NumericalError, warn
from mvlvm.estimators.fit_state import FitState, Run, begin_run, next_round, trained_views
from mvlvm.estimators.options import FitOptions
from mvlvm.estimators.problem import Problem
from mvlvm.evidence.elbo import Objective
from mvlvm.inference.view_function import ViewFunction
from mvlvm.models.diagnostics import ExpectedView, keep_dimensions, used_dimensions
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import (
    Dimensions,
    MultiViewLVM,
    graph_key,
    refreshed_states,
    total_gradients,
    with_points,
    with_states,
)
from mvlvm.models.views import ModelView
from mvlvm.models.weight_posterior import n_latent_draws_for
from mvlvm.training.history import History, StopReason
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.loop import Callback, TrainConfig, as_callbacks, never_record, train
from mvlvm.training.progress import progress_bar
from mvlvm.training.steps import Evaluation, ViewStates

# Steps of all trials, and those of the best ones in total; at most so many last steps enter the bound of a trial.
TRIAL_STEPS = (50, 100)
_N_FINALISTS = 2
_AVERAGED_STEPS = 20

# Called with the problem and the state of a fit after a step.
FitCallback = Callable[[Problem, FitState], None]


class Trained(NamedTuple):
    """The result of training.

    Attributes:
        model: the trained modules.
        views: the views with their data, and with imputed entries and q(weights).
        dimensions: those that were kept.
        init: name of the initialisation.
        history: of all rounds.
        last: the history of the last round.
    """

    model: MultiViewLVM
    views: Mapping[str, ModelView]
    dimensions: Dimensions
    init: str
    history: History
    last: History


def train_model(
    problem: Problem, state: FitState, interrupts: Interrupts, callbacks: Sequence[FitCallback] = ()
) -> Trained:
    """Train a model from any state of a fit to the end; the state is updated in place.

    If there are several initialisations, a model is first trained for some steps from each, and the one with the best
    bound goes on. If requested, dimensions that no view uses are removed after training, and the model is trained
    again, until all are used.

    Args:
        problem: the model to train.
        state: the state to start from.
        interrupts: an interrupt ends the training, and the best model so far is returned.
        callbacks: called after every step, or every run of recorded steps on a GPU, with the state.

    Raises:
        NumericalError: training failed numerically.
        KeyboardInterrupt: there was an interrupt before the first step had ended.
    """
    if not state.is_trial or choose_init(problem, state, interrupts, callbacks):
        _train_rounds(problem, state, interrupts, callbacks)
    return _end_of_training(problem, state)


def run_training(
    problem: Problem, run: Run, options: FitOptions, interrupts: Interrupts, callbacks: Sequence[Callback] = (),
    *, until: int | None = None,
) -> None:  # fmt: skip
    """Run the training loop to its end, or up to a number of steps.

    The tolerance applies per observed entry, so that it has the same meaning for large and small data sets.
    """
    model, views = run.model, problem.views(run.model)
    # a view of weight zero learns its kernel and noise at full weight, but does not influence the latents
    view_weights = {name: view.weight or 1.0 for name, view in views.items()}
    term_weights = {name: term.weight for name, term in problem.terms.items()}

    def objective(states: ViewStates, generator: torch.Generator) -> Evaluation:
        elbo, gradients, states = model.elbo_gradients(
            with_states(views, states), generator, view_weights=view_weights,
            latent_kl_weight=options.latent_kl_weight, n_draws=options.n_draws,
        )  # fmt: skip
        terms = {}
        for name, term in problem.terms.items():
            terms[name], of_term = term.evaluate(model)
            gradients = total_gradients(gradients, of_term, term.weight)
        total = Objective(elbo, view_weights, options.latent_kl_weight, terms, term_weights)
        return Evaluation(total, gradients, states)

    def refresh(states: ViewStates, n_steps: int) -> ViewStates:
        return refreshed_states(with_states(views, states), n_steps)

    schedule = options.schedule
    config = TrainConfig(
        max_iter=options.max_iter, learning_rate=schedule.rate, tol=options.tol * problem.n_entries,
        hold_steps=schedule.hold_steps, final_fraction=schedule.final_fraction,
    )  # fmt: skip
    with progress_bar(options.max_iter, "Training") if options.verbose else nullcontext() as show:
        train(
            run.state, objective, config, callbacks=[*as_callbacks(show), *callbacks],
            refresh=refresh, begin_decay=with_points, interrupts=interrupts,
            graph_key=graph_key if all(term.can_be_recorded for term in problem.terms.values()) else never_record,
            until=until,
        )  # fmt: skip


def choose_init(
    problem: Problem, state: FitState, interrupts: Interrupts, callbacks: Sequence[FitCallback] = ()
) -> bool:
    """Train from several initialisations by successive halving, and go on with the one of the best bound.

    All are trained for a few steps, and the best two for some more. The steps are those of the fit itself, which goes
    on from the last step of the winner: it equals the fit with this initialisation.

    Args:
        problem: the model to train.
        state: the state of the fit, in the first or any trial.
        interrupts: an interrupt ends the trials; the current run is then the best trial.
        callbacks: called after every step.

    Returns:
        Whether training is to go on: it is not after an interrupt.

    Raises:
        KeyboardInterrupt: there was an interrupt before the first step of a trial had ended.
    """
    options, interrupted = replace(problem.options, verbose=0), False
    try:
        while (n_steps := _begin_next_trial(problem, state)) is not None:
            interrupts.raise_if_requested()
            name, history = state.run.init, state.run.state.history
            progress = _bound_callbacks(callbacks, problem, state)
            try:
                run_training(problem, state.run, options, interrupts, progress, until=n_steps)
            except NumericalError:  # another initialisation may succeed; if none does, training raises the error
                state.bounds[name] = -math.inf
                continue
            n_averaged = min(_AVERAGED_STEPS, max(1, len(history.bound) // 5))
            state.bounds[name] = fmean(_weighted_bounds(problem, history)[-n_averaged:]) / problem.n_entries
            if history.stop_reason is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        interrupted = True
        if all(math.isinf(bound) for bound in state.bounds.values()):
            raise
    _adopt_winner(problem, state)
    if interrupted:
        state.run.state.history.stop_reason = StopReason.INTERRUPTED
    return not interrupted


def _weighted_bounds(problem: Problem, history: History) -> list[float]:
    """Return the objective of every step without the further terms, by which initialisations are compared."""
    bounds = history.bound
    for name, term in problem.terms.items():
        bounds = [bound - term.weight * value for bound, value in zip(bounds, history.parts[name], strict=True)]
    return bounds


def _begin_next_trial(problem: Problem, state: FitState) -> int | None:
    """Make the next trial the current run, and return the number of steps at which it ends; None after the last one."""
    few, many = (min(n_steps, problem.options.max_iter) for n_steps in TRIAL_STEPS)
    for name, mean in state.latents.items():
        if name not in state.trials:
            state.trials[name] = begin_run(problem, name, mean, state.initial_states)
        if name not in state.bounds:
            state.run = state.trials[name]
            return few
    if not state.finalists:
        state.finalists = sorted(state.latents, key=lambda name: -state.bounds[name])[:_N_FINALISTS]
    for name in state.finalists:
        if state.trials[name].state.step < many and math.isfinite(state.bounds[name]):
            state.run = state.trials[name]
            return many
    return None


def _adopt_winner(problem: Problem, state: FitState) -> None:
    """End the trials: the current run is that of the best bound, or begins anew if all have failed."""
    tried = {name: bound for name, bound in state.bounds.items() if math.isfinite(bound)}
    candidates = {name: bound for name, bound in tried.items() if name in state.finalists} or tried
    if candidates:
        state.run = state.trials[max(candidates, key=lambda name: candidates[name])]
    else:
        first, mean = next(iter(state.latents.items()))
        state.run = begin_run(problem, first, mean, state.initial_states)
    if problem.options.verbose:
        steps = {name: len(run.state.history.bound) for name, run in state.trials.items()}
        bounds = ", ".join(f"{name} {bound:.4g} after {steps[name]} steps" for name, bound in tried.items())
        print(f"Initialisation: {state.run.init} (bound in nats per entry: {bounds})")
    state.latents, state.initial_states, state.trials, state.finalists = {}, {}, {}, []


def _train_rounds(problem: Problem, state: FitState, interrupts: Interrupts, callbacks: Sequence[FitCallback]) -> None:
    """Train; if requested, remove dimensions that no view uses and train again, until all are used.

    Private dimensions were requested explicitly, and are kept.
    """
    while True:
        run = state.run
        try:
            run_training(problem, run, problem.options, interrupts, _bound_callbacks(callbacks, problem, state))
        except KeyboardInterrupt:  # in the first step of a later round, the result of the round before is kept
            if not state.earlier.bound:
                raise
            run.state.history.stop_reason = StopReason.INTERRUPTED
        if not problem.options.prune or run.state.history.stop_reason is StopReason.INTERRUPTED:
            return
        try:
            kept = _kept_dimensions(problem, run)
            interrupts.raise_if_requested()
        except KeyboardInterrupt:
            run.state.history.stop_reason = StopReason.INTERRUPTED
            return
        if kept.all():
            return
        keep_dimensions(run.model, kept)
        n_shared = int(kept[: run.dimensions.n_shared].sum())
        state.earlier.extend(run.state.history)
        state.run = next_round(problem, run, replace(run.dimensions, n_shared=n_shared))


def _bound_callbacks(callbacks: Sequence[FitCallback], problem: Problem, state: FitState) -> list[Callback]:
    return [lambda _, callback=callback: callback(problem, state) for callback in callbacks]


def _end_of_training(problem: Problem, state: FitState) -> Trained:
    """Return the result of training without scratch memory.

    Raises:
        NumericalError: a parameter is not finite.
    """
    run, last = state.run, state.run.state.history
    run.model.absorb_units()
    if not all(torch.isfinite(parameter).all() for parameter in run.model.parameters()):
        raise NumericalError(
            "Training has diverged: a parameter is not finite after the last step. Lower learning_rate, or fit with "
            "dtype='float64'."
        )
    run.state.view_states = with_points(run.state.view_states)  # if training was interrupted before the decay
    views = {name: view.released() for name, view in trained_views(problem, run).items()}
    history = state.earlier
    history.extend(last)
    return Trained(run.model, views, run.dimensions, run.init, history, last)


def _kept_dimensions(problem: Problem, run: Run) -> Bool[Tensor, " D"]:
    """Return which dimensions are kept: those that a view uses, at least one of them shared, and all private ones."""
    latent, views, n_shared = run.model.latent, trained_views(problem, run), run.dimensions.n_shared
    kept = used_dimensions(_expected_views(latent, views, run.state.generator), latent, views)
    kept[n_shared:] = True
    kept[0] |= not kept[:n_shared].any()
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
