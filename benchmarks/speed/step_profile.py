"""Step times: their scaling with the problem size, their profile by operator, and their arithmetic lower bound.

The profile of a step is the difference between the profiles of many and of a few steps, divided by the difference in
their number, so that one-off costs cancel.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch.profiler import ProfilerActivity, profile

from benchmarks.provenance import wait_for
from mvlvm.errors import ViewWarning
from mvlvm.estimators import NGMVLVM
from mvlvm.estimators.fit_state import FitState, Run
from mvlvm.estimators.initialization import initialize
from mvlvm.estimators.preprocessing import preprocess, validate
from mvlvm.estimators.problem import Problem
from mvlvm.estimators.train import run_training
from mvlvm.models.state import CompleteState
from mvlvm.randomness import seed_from
from mvlvm.training.history import History
from mvlvm.training.interrupts import Interrupts


def growth_exponent(sizes: Sequence[float | int], costs: Sequence[float | int]) -> float:
    """Return the exponent with which costs grow, by linear regression of their logarithms.

    Example:
        >>> round(growth_exponent([1, 10, 100], [3, 300, 30_000]), 6)
        2.0
    """
    if len(set(sizes)) < 2:
        raise ValueError(f"The exponent needs costs at two sizes or more. Got {len(set(sizes))}.")
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
OPERATORS = {
    "optimiser": ("adam", "_foreach", "addcdiv", "lerp", "optimizer"),
    "factorisations": ("cholesky", "triangular", "linalg", "potrf", "potri", "trsm", "trtri", "getrf", "syevd"),
    "products": ("::mm", "addmm", "bmm", "baddbmm", "matmul", "gemm", "syrk", "cutlass", "xmma", "::dot", "gemv",
                 "::mv", "addmv"),
    "features": ("cos", "sin", "triton", "fused", "features_kernel", "features_vjp"),
    "random numbers": ("normal", "rand", "philox", "distribution"),
    "copies": ("copy", "memcpy", "memset", "::to", "clone", "cat", "fill", "zero", "empty", "contiguous"),
}  # fmt: skip
_OTHER = "other operators"
_OUTSIDE = "outside PyTorch"
_SHORT = 2
_RATE_ROUNDS = 5


def part_of(operator: str) -> str:
    """Return the part of a step to which an operator or kernel belongs."""
    name = operator.lower()
    return next((part for part, words in OPERATORS.items() if any(word in name for word in words)), _OTHER)


def profile_step(
    views: Mapping[str, Float[np.ndarray, "N _"]], estimator: NGMVLVM, *, n_steps: int, n_features: int
) -> dict[str, Any]:
    """Profile a step: seconds of every part, operations of its products, and the rate of a matrix product.

    Args:
        views: the views.
        estimator: the unfitted estimator.
        n_steps: number of steps to average over.
        n_features: number of features per view, F.
    """
    device, (initial, train) = str(estimator.device), untrained(estimator, views)
    step = seconds_per_step(train(n_steps).seconds, warm_up=n_steps // 3)
    long, short = (_profiled(train, n, device) for n in (n_steps + _SHORT, _SHORT))
    parts = {part: max(0.0, long[part] - short[part]) / n_steps for part in long}
    parts[_OUTSIDE] = max(0.0, step - sum(parts.values()))
    states = initial.state.view_states.values()
    shapes = [state.target.Y.shape for state in states if isinstance(state, CompleteState)]
    return {
        "parts": parts, "seconds_per_step": step, "operations": product_operations(shapes, n_features),
        "product_rate": product_rate(len(next(iter(views.values()))), n_features, device),
    }  # fmt: skip


def untrained(
    estimator: NGMVLVM, views: Mapping[str, Float[np.ndarray, "N _"]]
) -> tuple[Run, Callable[[int], History]]:
    """Assemble a model as `fit` does; return it with a function that trains it for a number of steps."""
    options, validated = validate(estimator.get_params(deep=False), views)
    seed = seed_from(options.random_state)

    def begin() -> tuple[Problem, FitState]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ViewWarning)  # constant pixels
            return initialize(preprocess(validated, options), options, seed)

    def train(n_steps: int) -> History:
        problem, state = begin()
        run_training(problem, state.run, replace(options, max_iter=n_steps), Interrupts())
        return state.run.state.history

    return begin()[1].run, train


def product_operations(shapes: Sequence[tuple[int, ...]], n_features: int) -> float:
    """Return the minimal number of floating-point operations of the matrix products of one step.

    Forward half of Phi' Phi, and Phi' Y; backward Phi G and Y B', with two operations per multiply-add; and the
    factorisation and inverse of an F x F matrix.

    Args:
        shapes: shapes of the views after compression.
        n_features: number of features, F.
    """
    F = n_features
    return float(sum(N * F * (3 * F + 4 * r) + F**3 for N, r in shapes))


def product_rate(n_rows: int, n_features: int, device: str) -> float:
    """Measure the best rate, in operations per second, of a float32 product with the shape of the features."""
    Phi, times = torch.randn(n_rows, n_features, device=device), []
    for _ in range(_RATE_ROUNDS):
        wait_for(device)
        begin = time.perf_counter()
        torch.mm(Phi.T, Phi)
        wait_for(device)
        times.append(time.perf_counter() - begin)
    return 2 * n_rows * n_features**2 / min(times)


def _profiled(train: Callable[[int], History], n_steps: int, device: str) -> dict[str, float]:
    """Return the seconds of every part of `n_steps` steps."""
    on_gpu = device == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as found:
        train(n_steps)
        wait_for(device)
    seconds = dict.fromkeys([*OPERATORS, _OTHER], 0.0)
    for event in found.key_averages():
        spent = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        seconds[part_of(event.key)] += spent / 1e6
    return seconds
