"""From a user's `random_state` to torch generators, without touching any global generator."""

from typing import Protocol, runtime_checkable

import numpy as np
import torch

_SEED_BITS = 63


@runtime_checkable
class LegacyRandomState(Protocol):
    """What is used of `numpy.random.RandomState`."""

    def randint(self, low: int, high: int) -> int:
        """Draw an integer from [low, high)."""
        ...


RandomStateLike = int | np.integer | np.random.Generator | LegacyRandomState | None


def seed_from(random_state: RandomStateLike) -> int:
    """Give the integer seed that stands for `random_state`; None takes fresh entropy from the system."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**_SEED_BITS:
            raise ValueError(
                f"random_state must be an integer from 0 to 2**{_SEED_BITS} - 1. Got {random_state}. Give a smaller "
                "number that is not negative."
            )
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**_SEED_BITS))
    if isinstance(random_state, LegacyRandomState):
        return int(random_state.randint(0, 2**31 - 1))
    raise ValueError(
        "random_state must be None, an integer, a numpy Generator or a numpy RandomState. "
        f"Got {type(random_state).__name__}. Give an integer for a repeatable fit."
    )


def make_generator(seed: int, device: torch.device | str = "cpu") -> torch.Generator:
    """Make a generator of its own, so that draws depend on the seed alone."""
    return torch.Generator(device=device).manual_seed(seed)
