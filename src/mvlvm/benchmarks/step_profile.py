"""Step times: their scaling with the problem size, their profile by operator, and their arithmetic lower bound.

The profile of a step is the difference between the profiles of many and of a few steps, divided by the difference in
their number, so that one-off costs cancel.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from mvlvm.benchmarks.ours import ready_to_train
from mvlvm.benchmarks.tasks import Task, ViewArrays
from mvlvm.records import wait_for
from mvlvm.training.history import History


def log_log_slope(sizes: Sequence[float | int], costs: Sequence[float | int]) -> float:
    """Return the exponent with which costs grow: the least-squares slope of their logarithms.

    Example:
        >>> round(log_log_slope([1, 10, 100], [3, 300, 30_000]), 6)
        2.0
    """
    if len(set(sizes)) < 2:
        raise ValueError(f"The slope needs costs at two sizes or more. Got {len(set(sizes))}.")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def seconds_per_step(elapsed: Sequence[float], *, warm_up: int, n_blocks: int = 7) -> float:
    """Return the time of a step, estimated from the times at which steps ended.

    The estimate is the median over blocks of the mean step time, because a GPU that works asynchronously records single
    steps late and a shared machine has outliers.

    Args:
        elapsed: seconds from the start of training to the end of every step.
        warm_up: number of initial steps to discard.
        n_blocks: number of blocks of the remaining steps.

    Example:
        >>> seconds_per_step([5.0, 6.0, 7.0, 8.0, 99.0], warm_up=1)
        1.0
    """
    if len(elapsed) < warm_up + 1:
        raise ValueError(f"There must be more steps than the {warm_up} discarded ones. Got {len(elapsed)}.")
    times = np.concatenate([[0.0], elapsed])[warm_up:]
    cuts = np.unique(np.linspace(0, len(times) - 1, min(n_blocks, len(times) - 1) + 1).astype(int))
    return float(np.median(np.diff(times[cuts]) / np.diff(cuts)))


# Substrings of the names of operators and kernels, in order of precedence.
PARTS = {
    "optimiser": ("adam", "_foreach", "addcdiv", "lerp", "optimizer"),
    "factorisations": ("cholesky", "triangular", "linalg", "potrf", "potri", "trsm", "trtri", "getrf", "syevd"),
    "products": ("::mm", "addmm", "bmm", "baddbmm", "matmul", "gemm", "syrk", "cutlass", "xmma", "::dot", "gemv",
                 "::mv", "addmv"),
    "features": ("cos", "sin", "triton", "fused", "features_kernel", "features_vjp"),
    "draws": ("normal", "rand", "philox", "distribution"),
    "copies": ("copy", "memcpy", "memset", "::to", "clone", "cat", "fill", "zero", "empty", "contiguous"),
}  # fmt: skip
_PASSES = "other passes"
_REST = "not in torch"
_SHORT = 2
_RATE_ROUNDS = 5


def part_of(operator: str) -> str:
    """Return the part of a step to which an operator or kernel belongs."""
    name = operator.lower()
    return next((part for part, words in PARTS.items() if any(word in name for word in words)), _PASSES)


def profile_step(views: ViewArrays, task: Task) -> dict[str, Any]:
    """Profile a step: seconds of every part, operations of its products, and the rate of a matrix product."""
    n_steps, (assembly, train) = task.n_steps or 20, ready_to_train(views, task)
    step = seconds_per_step(train(n_steps).seconds, warm_up=n_steps // 3)
    long, short = (_profiled(train, n, task.device) for n in (n_steps + _SHORT, _SHORT))
    parts = {part: max(0.0, long[part] - short[part]) / n_steps for part in long}
    parts[_REST] = max(0.0, step - sum(parts.values()))
    shapes = [state.target.Y.shape for state in assembly.states if state.target is not None]
    return {
        "parts": parts, "seconds_per_step": step, "operations": product_operations(shapes, task),
        "product_rate": product_rate(len(next(iter(views.values()))), task), "stopped": False,
    }  # fmt: skip


def product_operations(shapes: Sequence[tuple[int, ...]], task: Task) -> float:
    """Return the minimal number of floating-point operations of the matrix products of one step.

    Forward half of Phi' Phi, and Phi' Y; backward Phi G and Y B', with two operations per multiply-add; and the
    factorisation and inverse of an F x F matrix.

    Args:
        shapes: shapes of the views after compression.
        task: determines the number of features F.
    """
    F = 2 * task.n_mixtures * task.n_points
    return float(sum(N * F * (3 * F + 4 * r) + F**3 for N, r in shapes))


def product_rate(n_rows: int, task: Task) -> float:
    """Measure the best rate, in operations per second, of a float32 product with the shape of the features."""
    F = 2 * task.n_mixtures * task.n_points
    Phi, times = torch.randn(n_rows, F, device=task.device), []
    for _ in range(_RATE_ROUNDS):
        wait_for(task.device)
        begin = time.perf_counter()
        torch.mm(Phi.T, Phi)
        wait_for(task.device)
        times.append(time.perf_counter() - begin)
    return 2 * n_rows * F**2 / min(times)


def _profiled(train: Callable[[int], History], n_steps: int, device: str) -> Counter[str]:
    """Return the seconds of every part of `n_steps` steps."""
    on_gpu = device == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as found:
        train(n_steps)
        wait_for(device)
    seconds = Counter(dict.fromkeys([*PARTS, _PASSES], 0.0))
    for event in found.key_averages():
        spent = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        seconds[part_of(event.key)] += spent / 1e6
    return seconds
