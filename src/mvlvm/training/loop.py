"""The training loop. It knows no model: only parameters, and a bound to raise."""

from collections.abc import Callable, Hashable, Iterable, Sequence

import torch
from torch import nn

from mvlvm.training.cuda_graph import RecordedSteps
from mvlvm.training.history import History, StopReason
from mvlvm.training.progress import Watch, silent
from mvlvm.training.schedule import TrainConfig, rise_between_windows
from mvlvm.training.steps import EagerSteps, Objective

# Steps that are taken before anything is decided anew.
_RUN = 50

Settle = Callable[[int], Hashable | None]


def _nothing_to_settle(n_steps: int) -> None:
    """Decide nothing, and let no step be recorded."""


def train(
    parameters: Iterable[nn.Parameter],
    objective: Objective,
    config: TrainConfig,
    generator: torch.Generator,
    *,
    watch: Watch = silent,
    settle: Settle = _nothing_to_settle,
) -> History:
    """Raise a stochastic bound with Adam until it is flat, then let the learning rate fall.

    The rate is held until the bound is flat, or there are just enough steps left for it to fall along a cosine to a
    twentieth. An interrupt (Ctrl-C) ends the loop and keeps what was learned so far.

    Args:
        parameters: what is learned.
        objective: the bound.
        config: how to train.
        generator: source of draws, on the device of the parameters.
        watch: is told every step, or every run of steps, and its bound.
        settle: is called before every run of steps with the number of steps so far, to decide what is decided only now
            and then; gives what steps take for granted until then, or None if a GPU cannot record them.

    Raises:
        NumericalError: the bound is no longer finite.
    """
    eager = EagerSteps(parameters, objective, config, generator)
    steps = RecordedSteps(eager) if generator.device.type == "cuda" else eager
    history, setting, settled_for = History(), None, 0
    held, last = config.most_held, config.max_iter
    try:
        while len(history.bound) < last:
            n_taken = len(history.bound)
            if n_taken == settled_for:
                setting, settled_for = settle(n_taken), n_taken + _RUN
            ends = (settled_for, n_taken + config.window - n_taken % config.window, last)
            for taken in steps.take(min(ends) - n_taken, setting):
                history.record(
                    taken.bound, taken.parts, seconds=taken.seconds, learning_rate=taken.learning_rate
                )  # fmt: skip
                watch(len(history.bound), taken.bound)
            if len(history.bound) < held and _is_flat(history, config):
                history.stop_reason = StopReason.CONVERGED
                steps.cool()
                held = len(history.bound)
                last = held + config.n_cooling
    except KeyboardInterrupt:
        history.stop_reason = StopReason.INTERRUPTED
    history.last_rise = _last_rise(history.bound[:held], config)
    return history


def _is_flat(history: History, config: TrainConfig) -> bool:
    """Judge at the end of every window whether the bound has stopped rising."""
    if config.tol == 0 or len(history.bound) % config.window != 0:
        return False
    return rise_between_windows(history.bound, config.window) < config.tol


def _last_rise(bounds: Sequence[float], config: TrainConfig) -> float:
    """Give the rise over the last window; a run of less than two windows is judged by its halves."""
    return rise_between_windows(bounds, min(config.window, len(bounds) // 2))
