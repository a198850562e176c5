"""What is measured of one task, in a process of its own."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mvlvm.benchmarks import own
from mvlvm.benchmarks.curve import quality_curve
from mvlvm.benchmarks.data import LOW_RANK, Data, DataSpec, load_data
from mvlvm.benchmarks.fitted import Fitted, ViewArrays, standardised
from mvlvm.benchmarks.growth import seconds_per_step
from mvlvm.benchmarks.memory import peak_memory
from mvlvm.benchmarks.methods import METHODS
from mvlvm.benchmarks.parts import profile_step
from mvlvm.benchmarks.task import Task
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.records.machine import wait_for

Numbers = dict[str, Any]

# Steps of the first third do not count: pools of threads, caches and captured graphs come into being in them.
_WARM_UP_SHARE = 3
_HELD_OUT_SHARE = 5
_TRIAL = DataSpec(name=LOW_RANK, n_samples=120, n_columns=6)
_TRIAL_STEPS = 3


def measure(task: Task) -> Numbers:
    """Give the numbers of a task; "stopped" among them says whether it ended at its limit.

    Raises:
        ModuleNotFoundError: the method's package is not installed.
    """
    return _MEASURES[task.experiment](task)


def measure_steps(task: Task) -> Numbers:
    """Give the time of a step and the memory of a whole fit, from views as a user hands them over."""
    _try_out(task, own.fit_raw)
    data = load_data(task.data, task.seed)
    fitted, numbers = _timed(own.fit_raw, data.views, task)
    n_steps = len(fitted.step_ends)
    numbers["seconds_per_step"] = seconds_per_step(fitted.step_ends, warm_up=n_steps // _WARM_UP_SHARE)
    if fitted.bound is not None:
        numbers["bound"] = fitted.bound
    return numbers


def measure_quality(task: Task) -> Numbers:
    """Give the course of 1-NN accuracy over seconds, from views as a user hands them over."""
    _try_out(task, own.fit_raw)
    return quality_curve(load_data(task.data, task.seed), task)


def measure_fit(task: Task) -> Numbers:
    """Give time, memory and quality of a whole fit to scaled views, and of predictions for new rows."""
    method = METHODS[task.method]
    _try_out(task, method.fit)
    data = load_data(task.data, task.seed)
    views = standardised(data.views)
    fitted, numbers = _timed(method.fit, views, task)
    if data.labels is not None:
        numbers["accuracy"] = nearest_neighbour_accuracy(np.asarray(fitted.latents, dtype=np.float64), data.labels)
    if fitted.rebuilt is not None:
        errors = [np.mean((fitted.rebuilt[name] - Y) ** 2) for name, Y in views.items()]
        numbers["rmse"] = float(np.sqrt(np.mean(errors)))
    if task.experiment == "peers" and method.predict is not None and len(views) == 2 and not fitted.stopped:
        numbers.update(_predicted(Data(views, data.labels), task))
    return numbers


def measure_profile(task: Task) -> Numbers:
    """Give where the time of a step goes."""
    _try_out(task, own.fit_raw)
    return profile_step(load_data(task.data, task.seed).views, task)


def _try_out(task: Task, fit: Callable[[ViewArrays, Task], Fitted]) -> None:
    """Fit a few rows first: importing, compiling and starting a GPU are not what is measured."""
    if not task.warm_up:
        return
    fields = {**task.as_json(), "n_steps": _TRIAL_STEPS, "n_components": 2}
    fit(load_data(_TRIAL).views, Task.from_json(fields))
    wait_for(task.device)


def _timed(fit: Callable[[ViewArrays, Task], Fitted], views: ViewArrays, task: Task) -> tuple[Fitted, Numbers]:
    with peak_memory(task.device) as peak:
        begin = time.perf_counter()
        fitted = fit(views, task)
        wait_for(task.device)
        seconds = time.perf_counter() - begin
    numbers: Numbers = {"seconds": seconds, "peak_bytes": peak.n_bytes, "stopped": fitted.stopped}
    if fitted.n_steps is not None:
        numbers["n_steps"] = fitted.n_steps
    return fitted, numbers


def _predicted(data: Data, task: Task) -> Numbers:
    """Give the error of the second view of rows of which only the first is known, and the seconds it took."""
    predict = METHODS[task.method].predict
    assert predict is not None
    given, target = data.views
    new = np.arange(len(data.views[given])) % _HELD_OUT_SHARE == 0
    begin = time.perf_counter()
    found = predict({name: Y[~new] for name, Y in data.views.items()}, {given: data.views[given][new]}, task)
    seconds = time.perf_counter() - begin
    error = float(np.sqrt(np.mean((found - data.views[target][new]) ** 2)))
    return {"predict_rmse": error, "predict_seconds": seconds}


_MEASURES: dict[str, Callable[[Task], Numbers]] = {
    "steps": measure_steps,
    "accuracy": measure_steps,
    "growth": measure_steps,
    "quality": measure_quality,
    "peers": measure_fit,
    "walltime": measure_fit,
    "profile": measure_profile,
}
