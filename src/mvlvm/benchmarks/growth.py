"""How cost grows with size."""

from collections.abc import Sequence

import numpy as np


def log_log_slope(sizes: Sequence[float | int], costs: Sequence[float | int]) -> float:
    """Give the power with which costs grow: the slope of their logarithms, by least squares.

    Example:
        >>> round(log_log_slope([1, 10, 100], [3, 300, 30_000]), 6)
        2.0
    """
    if len(set(sizes)) < 2:
        raise ValueError(f"A slope needs costs at two sizes at least. Got {len(set(sizes))}.")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def seconds_per_step(elapsed: Sequence[float], *, warm_up: int, n_blocks: int = 7) -> float:
    """Give the time of a step from the times at which steps had ended.

    It is the median over blocks of steps of their mean: single steps may be recorded late where a GPU works on its own,
    and a machine that others use has hiccups.

    Args:
        elapsed: seconds from the start to the end of every step.
        warm_up: steps that do not count.
        n_blocks: into how many blocks the rest is cut.

    Example:
        >>> seconds_per_step([5.0, 6.0, 7.0, 8.0, 99.0], warm_up=1)
        1.0
    """
    if len(elapsed) < warm_up + 1:
        raise ValueError(f"{warm_up} steps do not count, so there must be more. Got {len(elapsed)}.")
    times = np.concatenate([[0.0], elapsed])[warm_up:]
    cuts = np.unique(np.linspace(0, len(times) - 1, min(n_blocks, len(times) - 1) + 1).astype(int))
    return float(np.median(np.diff(times[cuts]) / np.diff(cuts)))
