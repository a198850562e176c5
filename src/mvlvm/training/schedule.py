"""How to train.

How long steps are: all the same until the bound is flat, then shorter and shorter.

At a rate that is held, the bound of a stochastic optimiser ends in a plateau; there it can be seen that nothing more is
learned. It still rises when the rate falls, because the parameters no longer shake, by an amount that no longer needs
to be waited for. A rate that falls from the first step on mixes the two, and leaves no plateau to stop at.

When a bound is flat.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from mvlvm import defaults


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The settings of the loop.

    Args:
        max_iter: the most steps to take, the paper's T.
        learning_rate: of Adam, until it falls.
        tol: the bound is flat when it rises by less than this from one window of steps to the next; zero is never flat.
        betas: of Adam.
        window: steps over which the bound is averaged before it is compared.
        cooling: steps over which the learning rate falls at the end.
    """

    max_iter: int = defaults.MAX_ITER
    learning_rate: float = defaults.LEARNING_RATE
    tol: float = 0.0
    betas: tuple[float, float] = defaults.ADAM_BETAS
    window: int = defaults.STOPPING_WINDOW
    cooling: int = defaults.DECAY_STEPS

    @property
    def n_cooling(self) -> int:
        """Steps of cooling: no more than half of all."""
        return min(self.cooling, self.max_iter // 2)

    @property
    def most_held(self) -> int:
        """The most steps at the full learning rate."""
        return self.max_iter - self.n_cooling


def learning_rates(config: TrainConfig, cool_from: int) -> list[float]:
    """Give the rate of every step up to the last there may be.

    Args:
        config: the rate, and over how many steps it falls.
        cool_from: the first step at which it falls.
    """
    progress = [(step - cool_from) / max(1, config.n_cooling) for step in range(config.max_iter)]
    return [config.learning_rate * cosine_decay(min(1.0, max(0.0, part))) for part in progress]


def cosine_decay(progress: float) -> float:
    """Give the share of the learning rate that is left after a share `progress` of cooling."""
    last = defaults.FINAL_LEARNING_RATE_FRACTION
    return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * progress))


_SHORTEST_WINDOW = 2


def rise_between_windows(bounds: Sequence[float], window: int) -> float:
    """Compare the mean bound of the last window of steps with that of the window before.

    Anything is possible before two windows have passed, and in windows too short to average out their noise.
    """
    if window < _SHORTEST_WINDOW or len(bounds) < 2 * window:
        return math.inf
    return fmean(bounds[-window:]) - fmean(bounds[-2 * window : -window])
