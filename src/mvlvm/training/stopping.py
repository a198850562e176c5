"""When to stop."""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

# A rise is told from noise at this many standard errors.
_STANDARD_ERRORS = 2.0
_SHORTEST_WINDOW = 2


class Rise(NamedTuple):
    """By how much the bound rose, and by how much at most, given that every step's bound is a noisy estimate."""

    estimate: float
    at_most: float


def rise_between_windows(bounds: Sequence[float], window: int) -> Rise:
    """Compare the mean bound of the last window of steps with that of the window before.

    Anything is possible before two windows have passed, and in windows too short to show their noise.
    """
    if window < _SHORTEST_WINDOW or len(bounds) < 2 * window:
        return Rise(math.inf, math.inf)
    last, before = bounds[-window:], bounds[-2 * window : -window]
    rise = fmean(last) - fmean(before)
    margin = _STANDARD_ERRORS * math.sqrt((variance(last) + variance(before)) / window)
    return Rise(rise, rise + margin)
