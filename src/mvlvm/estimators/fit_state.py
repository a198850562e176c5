"""The state of a fit during training, from the first trial of an initialisation to the last round of pruning."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.estimators.problem import Problem
from mvlvm.models.multiview import Dimensions, MultiViewLVM, init_states, states_of, with_points
from mvlvm.models.state import ViewState
from mvlvm.models.views import ModelView
from mvlvm.training.history import History
from mvlvm.training.steps import TrainState, init_train_state


@dataclass
class Run:
    """One run of the training loop: a trial of an initialisation, or a round between two selections of dimensions.

    Attributes:
        init: name of the initialisation.
        dimensions: which view depends on which latent dimensions.
        model: the modules with their parameters.
        state: the training state.
    """

    init: str
    dimensions: Dimensions
    model: MultiViewLVM
    state: TrainState


@dataclass
class FitState:
    """The state of a fit during training. It is owned by the training stage, and updated in place.

    Attributes:
        run: the current run.
        latents: initialisation -> initial latents, as long as initialisations are tried; then empty.
        initial_states: the views' states before training, the same for all trials; empty after them.
        trials: initialisation -> its run, of trials that have begun; then empty.
        finalists: the initialisations whose trials go on after the first stage; empty before.
        bounds: initialisation -> its bound in nats per entry at the end of its last stage.
        earlier: the history of the rounds before the current one.
    """

    run: Run
    latents: Mapping[str, Float[Tensor, "N D"]] = field(default_factory=dict)
    initial_states: Mapping[str, ViewState] = field(default_factory=dict)
    trials: dict[str, Run] = field(default_factory=dict)
    finalists: list[str] = field(default_factory=list)
    bounds: dict[str, float] = field(default_factory=dict)
    earlier: History = field(default_factory=History)

    @property
    def is_trial(self) -> bool:
        """Whether the current run is a trial of an initialisation."""
        return bool(self.latents)


def initial_states(problem: Problem, model: MultiViewLVM) -> dict[str, ViewState]:
    """Return the states of the views before training."""
    return states_of(init_states(problem.views(model), problem.settings()))


def begin_run(
    problem: Problem, init: str, mean: Float[Tensor, "N D"], states: Mapping[str, ViewState] | None = None,
) -> Run:  # fmt: skip
    """Return a run before its first step.

    All runs of a problem make the same draws: a fit that chooses an initialisation equals the fit with this one.

    Args:
        problem: the model to train.
        init: name of the initialisation.
        mean: initial latent means.
        states: the views' states before training; None computes them.
    """
    generator = problem.generator()
    model = problem.model(mean, problem.dimensions, generator)
    states = with_points(states or initial_states(problem, model), n_first_points(problem))
    return Run(init, problem.dimensions, model, init_train_state(model.parameters(), generator, states))


def n_first_points(problem: Problem) -> int | None:
    """Return the number of spectral points per mixture at the beginning of a run; None stands for all."""
    return problem.options.schedule.n_first_points


def begin_fit(problem: Problem, latents: Mapping[str, Float[Tensor, "N D"]]) -> FitState:
    """Return the state of a fit before its first step; it begins with trials if there are several initial latents."""
    init, mean = next(iter(latents.items()))
    if len(latents) == 1:
        return FitState(begin_run(problem, init, mean))
    run = begin_run(problem, init, mean)
    return FitState(run, latents, with_points(run.state.view_states), {init: run})


def trained_views(problem: Problem, run: Run) -> dict[str, ModelView]:
    """Return the views of a run with their current states."""
    return problem.views(run.model, run.state.view_states)


def next_round(problem: Problem, run: Run, dimensions: Dimensions) -> Run:
    """Return the round after dimensions were removed from the model; it has a new optimiser."""
    generator: torch.Generator = run.state.generator
    states = {name: state.with_new_features() for name, state in run.state.view_states.items()}
    states = with_points(states, n_first_points(problem))
    return Run(run.init, dimensions, run.model, init_train_state(run.model.parameters(), generator, states))
