"""When to stop."""

from collections.abc import Sequence


def rise_per_window(bounds: Sequence[float], window: int) -> float:
    """Give the rise of the mean bound from the last but one window of steps to the last one.

    A single bound is a noisy estimate, because every step draws anew; its mean over a window is not.
    Infinite before two windows have passed.
    """
    if len(bounds) < 2 * window:
        return float("inf")
    last, before = bounds[-window:], bounds[-2 * window : -window]
    return (sum(last) - sum(before)) / window
