"""The training loop. It knows no model: only parameters, and a bound to raise."""

from collections.abc import Iterable

import torch
from torch import nn

from mvlvm.training.config import TrainConfig
from mvlvm.training.history import History, StopReason
from mvlvm.training.progress import Watch, silent
from mvlvm.training.recorded_steps import RecordedSteps, Setting
from mvlvm.training.steps import EagerSteps, Objective
from mvlvm.training.stopping import rise_between_windows


def train(
    parameters: Iterable[nn.Parameter],
    objective: Objective,
    config: TrainConfig,
    generator: torch.Generator,
    *,
    watch: Watch = silent,
    setting: Setting | None = None,
) -> History:
    """Raise a stochastic bound with Adam until it is flat, `max_iter` is reached, or the user interrupts.

    The learning rate falls along a cosine to a twentieth of its start. An interrupt (Ctrl-C) ends the loop and keeps
    what was learned so far.

    Args:
        parameters: what is learned.
        objective: the bound.
        config: how to train.
        generator: source of draws, on the device of the parameters.
        watch: is told every step, or every run of steps, and its bound.
        setting: what a recorded step takes for granted; on a GPU, steps are then recorded and repeated.

    Raises:
        NumericalError: the bound is no longer finite.
    """
    eager = EagerSteps(parameters, objective, config, generator)
    record = setting is not None and generator.device.type == "cuda"
    steps = RecordedSteps(eager, setting) if record else eager
    history = History()
    try:
        while len(history.bound) < config.max_iter:
            until_judged = config.window - len(history.bound) % config.window
            for taken in steps.take(min(until_judged, config.max_iter - len(history.bound))):
                history.record(
                    taken.bound, taken.parts, seconds=taken.seconds, learning_rate=taken.learning_rate
                )  # fmt: skip
                watch(len(history.bound), taken.bound)
            if _is_flat(history, config):
                history.stop_reason = StopReason.CONVERGED
                break
    except KeyboardInterrupt:
        history.stop_reason = StopReason.INTERRUPTED
    history.last_rise = _last_rise(history, config)
    return history


def _is_flat(history: History, config: TrainConfig) -> bool:
    """Judge at the end of every window whether the bound has stopped rising."""
    if config.tol == 0 or len(history.bound) % config.window != 0:
        return False
    return rise_between_windows(history.bound, config.window).at_most < config.tol


def _last_rise(history: History, config: TrainConfig) -> float:
    """Give the rise over the last window; a run of less than two windows is judged by its halves."""
    window = min(config.window, len(history.bound) // 2)
    return rise_between_windows(history.bound, window).estimate
