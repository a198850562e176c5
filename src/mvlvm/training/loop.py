"""The training loop, its learning-rate schedule (constant, then cosine decay) and its stopping rule.

The loop is independent of the model: it knows parameters, and a bound to maximise.

At a constant learning rate the bound of a stochastic optimiser reaches a plateau, at which convergence can be judged.
When the rate then decays, the bound still rises because gradient noise averages out; no convergence check is needed for
this gain. A rate that decays from the first step would mix the two and leave no plateau to stop at.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

from mvlvm import defaults
from mvlvm.training.cuda_graph import RecordedSteps
from mvlvm.training.history import StopReason
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.steps import EagerSteps, Objective, Schedule, TrainState, ViewStates

# Number of steps between two refreshes of the views' states.
_REFRESH_EVERY = 50

# Averages over shorter windows are dominated by noise.
_MIN_WINDOW = 2

# Called with the state after a step.
Callback = Callable[[TrainState], None]
# From the views' states and the number of steps so far to the states for the next steps.
Refresh = Callable[[ViewStates, int], ViewStates]
# From the views' states to those for the decay of the learning rate.
BeginDecay = Callable[[ViewStates], ViewStates]
# From the views' states to what a recorded CUDA step depends on; None if steps cannot be recorded.
GraphKey = Callable[[ViewStates], Hashable | None]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of the training loop.

    Args:
        max_iter: maximum number of steps, the paper's T.
        learning_rate: of Adam, before the decay.
        tol: the bound has converged when its mean over a window of steps exceeds that of the window before by less than
            this; zero disables the check.
        window: number of steps over which the bound is averaged.
        decay_steps: number of steps of the learning-rate decay, including those for which the rate is held.
        hold_steps: number of steps for which the rate is held at the beginning of the decay.
        final_fraction: fraction of the rate at the end of the decay.
    """

    max_iter: int = defaults.MAX_ITER
    learning_rate: float = defaults.LEARNING_RATE
    tol: float = 0.0
    window: int = defaults.STOPPING_WINDOW
    decay_steps: int = defaults.DECAY_STEPS
    hold_steps: int = 0
    final_fraction: float = defaults.FINAL_LEARNING_RATE_FRACTION

    @property
    def n_decay_steps(self) -> int:
        """The number of steps of the decay: at most half of all."""
        return min(self.decay_steps, self.max_iter // 2)

    @property
    def max_constant_steps(self) -> int:
        """The maximum number of steps at the full learning rate."""
        return self.max_iter - self.n_decay_steps


def learning_rates(config: TrainConfig, decay_from: int) -> list[float]:
    """Return the learning rate of every step up to `max_iter`.

    Args:
        config: the rate, and the number of steps of its decay.
        decay_from: the first step of the decay.
    """
    n_decay = config.n_decay_steps
    n_held = config.hold_steps * n_decay // max(1, config.decay_steps)  # fewer in a short run
    progress = [(step - decay_from - n_held) / max(1, n_decay - n_held) for step in range(config.max_iter)]
    factors = (cosine_decay(min(1.0, max(0.0, part)), config.final_fraction) for part in progress)
    return [config.learning_rate * factor for factor in factors]


def cosine_decay(progress: float, final_fraction: float = defaults.FINAL_LEARNING_RATE_FRACTION) -> float:
    """Return the factor of the learning rate after a fraction `progress` of the decay.

    Args:
        progress: from 0 to 1.
        final_fraction: the factor at the end.
    """
    return final_fraction + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * progress))


def as_callbacks(show: Callable[[int, float], None] | None) -> list[Callback]:
    """Return the callbacks that show the step and its bound in a progress bar, if there is one."""
    return [] if show is None else [lambda state: show(state.step, state.history.bound[-1])]


def keep_states(view_states: ViewStates, n_steps: int) -> ViewStates:
    """Return the states as they are."""
    return view_states


def same_states(view_states: ViewStates) -> ViewStates:
    """Return the states as they are."""
    return view_states


def never_record(view_states: ViewStates) -> None:
    """Record no steps."""


def train(
    state: TrainState,
    objective: Objective,
    config: TrainConfig,
    *,
    callbacks: Sequence[Callback] = (),
    refresh: Refresh = keep_states,
    begin_decay: BeginDecay = same_states,
    graph_key: GraphKey = never_record,
    interrupts: Interrupts | None = None,
    until: int | None = None,
) -> TrainState:
    """Maximise a stochastic bound with Adam at a constant learning rate until it converges, then decay the rate.

    The decay begins when the bound has converged, or when just enough steps are left for it. An interrupt (Ctrl-C) ends
    the loop after the current step and keeps the parameters; if it cannot be deferred, those of the step before.

    Everything that changes is in the state, so a run that continues from the state after any step takes the same steps
    as one without a break.

    Args:
        state: the state to start from, before the first step or after any; it is updated in place.
        objective: the bound.
        config: the settings.
        callbacks: called after every step, or every run of recorded steps, with the state.
        refresh: called every fifty steps, to make decisions that need not be made in every step.
        begin_decay: called before the first step of the decay.
        graph_key: returns what a recorded CUDA step depends on.
        interrupts: defers Ctrl-C to the end of a step; None leaves it as it is.
        until: number of steps after which the loop pauses; None runs it to its end.

    Returns:
        The same state after training.

    Raises:
        NumericalError: the bound is not finite.
        KeyboardInterrupt: there was an interrupt during the first step.
    """
    interrupts = interrupts or Interrupts()
    interrupts.defer()
    history, schedule = state.history, state.schedule
    eager = EagerSteps(state, objective, learning_rates(config, _decay_from(schedule, config)))
    steps = RecordedSteps(eager) if state.generator.device.type == "cuda" else eager
    try:
        while state.step < _last_step(schedule, config, until):
            if not schedule.decays and state.step >= _decay_from(schedule, config):
                state.view_states, schedule.decays = begin_decay(state.view_states), True
            if state.step == schedule.next_refresh:
                state.view_states = refresh(state.view_states, state.step)
                schedule.next_refresh = state.step + _REFRESH_EVERY
            n_steps = _steps_without_decisions(state, config, until)
            for record in steps.take(n_steps, graph_key(state.view_states)):
                history.record(
                    record.bound, record.parts, seconds=record.seconds, learning_rate=record.learning_rate
                )  # fmt: skip
            state.seconds = eager.seconds
            if _has_converged(state, config):
                history.stop_reason = StopReason.CONVERGED
                schedule.decay_from = state.step
                steps.set_learning_rates(learning_rates(config, state.step))
            for callback in callbacks:
                callback(state)
            if interrupts.requested:
                history.stop_reason = StopReason.INTERRUPTED
                break
    except KeyboardInterrupt:
        history.drop_incomplete_step()
        if not history.bound:
            raise
        history.stop_reason = StopReason.INTERRUPTED
    history.last_rise = _last_rise(history.bound[: _decay_from(schedule, config)], config)
    return state


def _decay_from(schedule: Schedule, config: TrainConfig) -> int:
    """Return the first step of the decay: at convergence, or when just enough steps are left for it."""
    return config.max_constant_steps if schedule.decay_from is None else schedule.decay_from


def _last_step(schedule: Schedule, config: TrainConfig, until: int | None) -> int:
    """Return the number of steps at the end of the decay, or at the pause before it."""
    end = _decay_from(schedule, config) + config.n_decay_steps
    return end if until is None else min(end, until)


def _steps_without_decisions(state: TrainState, config: TrainConfig, until: int | None) -> int:
    """Return the number of steps until the next refresh, the next check for convergence or the end."""
    last = _last_step(state.schedule, config, until)
    end_of_window = state.step + config.window - state.step % config.window
    return min(state.schedule.next_refresh, end_of_window, last) - state.step


def _has_converged(state: TrainState, config: TrainConfig) -> bool:
    """Check for convergence at the end of every window of steps before the decay."""
    if config.tol == 0 or state.step % config.window != 0 or state.step >= _decay_from(state.schedule, config):
        return False
    return rise_between_windows(state.history.bound, config.window) < config.tol


def _last_rise(bounds: Sequence[float], config: TrainConfig) -> float:
    """Return the increase over the last window; of a run of less than two windows, over its second half."""
    return rise_between_windows(bounds, min(config.window, len(bounds) // 2))


def rise_between_windows(bounds: Sequence[float], window: int) -> float:
    """Return the mean bound of the last window of steps minus that of the window before.

    Infinite before two windows have passed, and for windows too short to average out the noise.
    """
    if window < _MIN_WINDOW or len(bounds) < 2 * window:
        return math.inf
    return fmean(bounds[-window:]) - fmean(bounds[-2 * window : -window])
