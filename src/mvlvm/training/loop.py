"""The training loop. It knows no model: only parameters, and a bound to raise."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import torch
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.training.config import TrainConfig
from mvlvm.training.history import History, StopReason
from mvlvm.training.progress import Watch, silent
from mvlvm.training.stopping import rise_between_windows


class Bound(Protocol):
    """What the loop raises: a scalar, with named parts for the history."""

    @property
    def value(self) -> Tensor:
        """The number to raise."""
        ...

    def parts(self) -> dict[str, Tensor]:
        """Give what the number is made of."""
        ...


def train(
    parameters: Iterable[nn.Parameter],
    objective: Callable[[torch.Generator], Bound],
    config: TrainConfig,
    generator: torch.Generator,
    *,
    watch: Watch = silent,
) -> History:
    """Raise a stochastic bound with Adam until it is flat, `max_iter` is reached, or the user interrupts.

    The learning rate falls along a cosine to a twentieth of its start. An interrupt (Ctrl-C) ends the loop and keeps
    what was learned so far.

    Raises:
        NumericalError: the bound is no longer finite.
    """
    optimiser = torch.optim.Adam(list(parameters), lr=config.learning_rate, betas=config.betas)
    history, start = History(), time.perf_counter()
    try:
        for step in range(config.max_iter):
            learning_rate = config.learning_rate * cosine_decay(step / config.max_iter)
            for group in optimiser.param_groups:
                group["lr"] = learning_rate
            optimiser.zero_grad(set_to_none=True)
            bound = objective(generator)
            _check_finite(bound.value, step)
            (-bound.value).backward()
            optimiser.step()
            history.record(
                bound.value.item(), {name: part.item() for name, part in bound.parts().items()},
                seconds=time.perf_counter() - start, learning_rate=learning_rate,
            )  # fmt: skip
            watch(step + 1, history.bound[-1])
            if _is_flat(history, config):
                history.stop_reason = StopReason.CONVERGED
                break
    except KeyboardInterrupt:
        history.stop_reason = StopReason.INTERRUPTED
    history.last_rise = _last_rise(history, config)
    return history


def cosine_decay(progress: float) -> float:
    """Give the share of the first learning rate that is left after a share `progress` of all steps."""
    last = defaults.FINAL_LEARNING_RATE_SHARE
    return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * progress))


def _is_flat(history: History, config: TrainConfig) -> bool:
    """Judge at the end of every window whether the bound has stopped rising."""
    if config.tol == 0 or len(history.bound) % config.window != 0:
        return False
    return rise_between_windows(history.bound, config.window).at_most < config.tol


def _last_rise(history: History, config: TrainConfig) -> float:
    """Give the rise over the last window; a run of less than two windows is judged by its halves."""
    window = min(config.window, len(history.bound) // 2)
    return rise_between_windows(history.bound, window).estimate


def _check_finite(bound: Tensor, step: int) -> None:
    if not torch.isfinite(bound):
        raise NumericalError(
            f"The bound is {bound.item()} at step {step}; it must stay finite. "
            "Lower learning_rate, or fit with dtype='float64'."
        )
