"""When a bound is flat."""

import math
from collections.abc import Sequence
from statistics import fmean

_SHORTEST_WINDOW = 2


def rise_between_windows(bounds: Sequence[float], window: int) -> float:
    """Compare the mean bound of the last window of steps with that of the window before.

    Anything is possible before two windows have passed, and in windows too short to average out their noise.
    """
    if window < _SHORTEST_WINDOW or len(bounds) < 2 * window:
        return math.inf
    return fmean(bounds[-window:]) - fmean(bounds[-2 * window : -window])
