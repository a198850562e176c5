"""From a user's `random_state` to torch generators, without touching any global generator."""

from enum import IntEnum

import numpy as np
import torch

_SEED_BITS = 63
# 2^64 over the golden ratio: steps of this size keep the streams of different seeds from meeting.
_STREAM_STEP = 0x9E3779B97F4A7C15

RandomStateLike = int | np.integer | np.random.Generator | np.random.RandomState | None


class Stream(IntEnum):
    """What draws are for. Streams of one seed are independent of each other."""

    TRAINING = 0
    WEIGHTS = 1
    BOUND = 2
    RECONSTRUCTION = 3
    SAMPLES = 4
    KERNEL = 5
    TEMPERING = 6
    NEW_ROWS = 7
    INITIALISATION = 8


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
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    raise ValueError(
        "random_state must be None, an integer, a numpy Generator or a numpy RandomState. "
        f"Got {type(random_state).__name__}. Give an integer for a repeatable fit."
    )


def make_generator(seed: int, stream: Stream, device: torch.device | str = "cpu") -> torch.Generator:
    """Make a generator of its own, so that draws depend on the seed and their purpose alone."""
    return torch.Generator(device=device).manual_seed((seed + stream * _STREAM_STEP) % 2**_SEED_BITS)
