"""The training loop. It is independent of the model: it knows parameters, and a bound to maximise."""

from collections.abc import Callable, Hashable, Sequence

from mvlvm.training.cuda_graph import RecordedSteps
from mvlvm.training.history import History, StopReason
from mvlvm.training.progress import Callback, silent
from mvlvm.training.schedule import TrainConfig, rise_between_windows
from mvlvm.training.steps import EagerSteps, Objective, TrainState, ViewStates

# Number of steps between two refreshes of the views' states.
_REFRESH_EVERY = 50

# From the views' states and the number of steps so far to the states for the next steps, and what a recorded CUDA step
# depends on (None if steps cannot be recorded).
Refresh = Callable[[ViewStates, int], tuple[ViewStates, Hashable | None]]


def keep_states(view_states: ViewStates, n_steps: int) -> tuple[ViewStates, None]:
    """Return the states as they are, and record no steps."""
    return view_states, None


def train(
    state: TrainState,
    objective: Objective,
    config: TrainConfig,
    *,
    callback: Callback = silent,
    refresh: Refresh = keep_states,
) -> TrainState:
    """Maximise a stochastic bound with Adam at a constant learning rate until it converges, then decay the rate.

    The decay begins when the bound has converged, or when just enough steps are left for it. An interrupt (Ctrl-C) ends
    the loop and keeps the current parameters.

    Args:
        state: the state to start from; it is updated in place.
        objective: the bound.
        config: the settings.
        callback: called after every step, or every run of recorded steps, with the step and its bound.
        refresh: called every fifty steps, to make decisions that need not be made in every step.

    Returns:
        The same state after training.

    Raises:
        NumericalError: the bound is not finite.
    """
    eager = EagerSteps(state, objective, config)
    steps = RecordedSteps(eager) if state.generator.device.type == "cuda" else eager
    history, graph_key, refresh_at = state.history, None, 0
    n_constant, last = config.max_constant_steps, config.max_iter
    try:
        while state.step < last:
            if state.step == refresh_at:
                state.view_states, graph_key = refresh(state.view_states, state.step)
                refresh_at = state.step + _REFRESH_EVERY
            ends = (refresh_at, state.step + config.window - state.step % config.window, last)
            for record in steps.take(min(ends) - state.step, graph_key):
                history.record(
                    record.bound, record.parts, seconds=record.seconds, learning_rate=record.learning_rate
                )  # fmt: skip
                callback(len(history.bound), record.bound)
            if state.step < n_constant and _has_converged(history, config):
                history.stop_reason = StopReason.CONVERGED
                steps.start_decay()
                n_constant = state.step
                last = n_constant + config.n_decay_steps
    except KeyboardInterrupt:
        history.stop_reason = StopReason.INTERRUPTED
    history.last_rise = _last_rise(history.bound[:n_constant], config)
    return state


def _has_converged(history: History, config: TrainConfig) -> bool:
    """Check for convergence at the end of every window of steps."""
    if config.tol == 0 or len(history.bound) % config.window != 0:
        return False
    return rise_between_windows(history.bound, config.window) < config.tol


def _last_rise(bounds: Sequence[float], config: TrainConfig) -> float:
    """Return the increase over the last window; of a run of less than two windows, over its second half."""
    return rise_between_windows(bounds, min(config.window, len(bounds) // 2))
