"""Libraries that draw from NumPy's global generator, without a trace of it afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

# The global generator takes seeds of 32 bits.
_SEEDS = 2**32


def small_seed(seed: int) -> int:
    """Give a seed that every library takes, from one of up to 63 bits."""
    return seed % _SEEDS


@contextmanager
def global_draws(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator for a while, and put it back as it was."""
    before = np.random.get_state()
    np.random.seed(small_seed(seed))
    try:
        yield
    finally:
        np.random.set_state(before)
