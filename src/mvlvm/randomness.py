"""Conversion of `random_state` to seeded torch generators, without using or changing global generators."""

from enum import IntEnum

import numpy as np
import torch

_SEED_BITS = 63
# 2^64 divided by the golden ratio: offsets of this size keep the streams of small seeds distinct.
_STREAM_STEP = 0x9E3779B97F4A7C15

RandomStateLike = int | np.integer | np.random.Generator | np.random.RandomState | None


class Stream(IntEnum):
    """The purpose of random numbers. The streams of one seed are independent of each other."""

    TRAINING = 0
    WEIGHTS = 1
    BOUND = 2
    RECONSTRUCTION = 3
    SAMPLES = 4
    KERNEL = 5
    TEMPERING = 6
    NEW_ROWS = 7
    INITIALISATION = 8
    BALANCE = 9
    CONDITIONAL = 10


def seed_from(random_state: RandomStateLike) -> int:
    """Return the integer seed for a `random_state`.

    An integer is its own seed, a NumPy generator is advanced to draw one, and None draws one from the operating system.

    Raises:
        ValueError: `random_state` has another type or is out of range.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**_SEED_BITS:
            raise ValueError(
                f"random_state must be an integer from 0 to 2**{_SEED_BITS} - 1. Got {random_state}. Use a "
                "non-negative integer in this range."
            )
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**_SEED_BITS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    raise ValueError(
        "random_state must be None, an integer, a numpy Generator or a numpy RandomState. "
        f"Got {type(random_state).__name__}. Use an integer for reproducible results."
    )


def make_generator(seed: int, stream: Stream, device: torch.device | str = "cpu") -> torch.Generator:
    """Return a generator whose random numbers depend on the seed and the stream only."""
    return torch.Generator(device=device).manual_seed((seed + stream * _STREAM_STEP) % 2**_SEED_BITS)
