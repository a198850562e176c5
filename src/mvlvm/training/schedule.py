"""How long steps are: all the same until the bound is flat, then shorter and shorter.

At a rate that is held, the bound of a stochastic optimiser ends in a plateau; there it can be seen that nothing more is
learned. It still rises when the rate falls, because the parameters no longer shake, by an amount that no longer needs
to be waited for. A rate that falls from the first step on mixes the two, and leaves no plateau to stop at.
"""

import math

from mvlvm import defaults
from mvlvm.training.config import TrainConfig


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
    last = defaults.FINAL_LEARNING_RATE_SHARE
    return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * progress))
