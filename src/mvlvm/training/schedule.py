"""The learning-rate schedule (constant, then cosine decay) and the stopping rule.

At a constant learning rate the bound of a stochastic optimiser reaches a plateau, at which convergence can be judged.
When the rate then decays, the bound still rises because gradient noise averages out; no convergence check is needed for
this gain. A rate that decays from the first step would mix the two and leave no plateau to stop at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from mvlvm import defaults

# Averages over shorter windows are dominated by noise.
_MIN_WINDOW = 2


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of the training loop.

    Args:
        max_iter: maximum number of steps, the paper's T.
        learning_rate: of Adam, before the decay.
        tol: the bound has converged when its mean over a window of steps exceeds that of the window before by less than
            this; zero disables the check.
        betas: of Adam.
        window: number of steps over which the bound is averaged.
        cooling: number of steps of the learning-rate decay.
    """

    max_iter: int = defaults.MAX_ITER
    learning_rate: float = defaults.LEARNING_RATE
    tol: float = 0.0
    betas: tuple[float, float] = defaults.ADAM_BETAS
    window: int = defaults.STOPPING_WINDOW
    cooling: int = defaults.DECAY_STEPS

    @property
    def n_decay_steps(self) -> int:
        """The number of steps of the decay: at most half of all."""
        return min(self.cooling, self.max_iter // 2)

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
    progress = [(step - decay_from) / max(1, config.n_decay_steps) for step in range(config.max_iter)]
    return [config.learning_rate * cosine_decay(min(1.0, max(0.0, part))) for part in progress]


def cosine_decay(progress: float) -> float:
    """Return the factor of the learning rate after a fraction `progress` of the decay."""
    last = defaults.FINAL_LEARNING_RATE_FRACTION
    return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * progress))


def rise_between_windows(bounds: Sequence[float], window: int) -> float:
    """Return the mean bound of the last window of steps minus that of the window before.

    Infinite before two windows have passed, and for windows too short to average out the noise.
    """
    if window < _MIN_WINDOW or len(bounds) < 2 * window:
        return math.inf
    return fmean(bounds[-window:]) - fmean(bounds[-2 * window : -window])
