"""Measurement of one benchmark task: time, peak memory, accuracy against time, profile of a step.

`python -m mvlvm.benchmarks.measurement` is the worker process: it reads one task as JSON from standard input and prints
the outcome.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from mvlvm.benchmarks import ours
from mvlvm.benchmarks.naive import scaled_views
from mvlvm.benchmarks.ours import estimator, naive_model, quietly
from mvlvm.benchmarks.peers import METHODS
from mvlvm.benchmarks.step_profile import profile_step, seconds_per_step
from mvlvm.benchmarks.tasks import (
    ABSENT,
    DONE,
    FAILED,
    LOW_RANK,
    STOPPED,
    Data,
    DataSpec,
    Fitted,
    Task,
    ViewArrays,
    load_data,
    standardised,
)
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.records import wait_for

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_KILOBYTE = 1024
_RESET_PEAK = "5"


@dataclass
class Peak:
    """Result of `peak_memory` in bytes; zero until the block has ended."""

    n_bytes: int = 0


@contextmanager
def peak_memory(device: str) -> Iterator[Peak]:
    """Measure the peak memory of a block: of the process, or of torch's tensors on a GPU.

    Memory in use when the block begins, such as the data, is subtracted. Use a fresh process: memory that was freed
    before may be reused without being counted.
    """
    peak = Peak()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield peak
        peak.n_bytes = torch.cuda.max_memory_allocated() - before
        return
    with suppress(OSError):  # if the peak cannot be reset, that of the process lifetime is used
        _CLEAR.write_text(_RESET_PEAK)
    before = _now()
    yield peak
    peak.n_bytes = max(0, _highest() - before)


def _now() -> int:
    """Return the memory in use, in bytes."""
    return _status("VmRSS") if _STATUS.exists() else _highest()


def _highest() -> int:
    """Return the peak memory since the last reset, in bytes."""
    if _STATUS.exists():
        return _status("VmHWM")
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * _KILOBYTE


def _status(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * _KILOBYTE


Point = dict[str, float | int]


def quality_curve(data: Data, task: Task) -> dict[str, Any]:
    """Measure the 1-NN accuracy at every checkpoint, until the target or the time limit is reached.

    The learning rate of NG-MVLVM decays until the last step, so every checkpoint is a separate fit with that number of
    steps; "seconds" is the time of the complete fit including the preparation of predictions, and "latent_seconds" the
    time until the latents are final. The naive implementation continues from one checkpoint to the next; its time
    includes scaling and initialisation, but not evaluation.
    """
    points = _naive_points(data, task) if task.method == "naive" else _own_points(data, task)
    reached = first_to_reach(points, task.target) if task.target is not None else None
    stopped = task.target is not None and reached is None
    return {
        "curve": points,
        "reached": reached,
        "stopped": stopped,
        "seconds": points[-1]["seconds"] if points else 0.0,
    }


def first_to_reach(points: Sequence[Point], quality: float | int, *, by: str = "seconds") -> Point | None:
    """Return the fastest point with at least the given accuracy, or None if there is none.

    Args:
        points: points of a curve.
        quality: the required accuracy.
        by: the time that counts; "seconds" is used for points that do not have it.
    """
    enough = [point for point in points if point["quality"] >= quality]
    return min(enough, key=lambda point: point.get(by, point["seconds"]), default=None)


def _own_points(data: Data, task: Task) -> list[Point]:
    points: list[Point] = []
    for n_steps in task.checkpoints:
        begin = time.perf_counter()
        with quietly():
            est = estimator(task, n_steps or None).fit(data.views)
        wait_for(task.device)
        seconds, training = time.perf_counter() - begin, float(est.history_["seconds"][-1])
        point = _point(est.n_iter_, seconds, training, est.embedding_, data)
        points.append({**point, "latent_seconds": est.fit_seconds_["preparing"] + est.fit_seconds_["training"]})
        if _enough(points, task, sum(point["seconds"] for point in points)):
            break
    return points


def _naive_points(data: Data, task: Task) -> list[Point]:
    points, begin, not_counted = [], time.perf_counter(), 0.0
    model = naive_model(scaled_views(data.views, task.device), task)
    started = time.perf_counter()
    for step in range(1, max(task.checkpoints) + 1):
        model.step()
        seconds = time.perf_counter() - begin - not_counted
        late = seconds > task.limit_s
        if step in task.checkpoints or late:
            wait_for(task.device)
            now = time.perf_counter()
            points.append(_point(step, seconds, seconds - (started - begin), model.latents, data))
            not_counted += time.perf_counter() - now
        if late or _enough(points, task, seconds):
            break
    return points


def _point(n_steps: int, seconds: float, training: float, latents: Float[np.ndarray, "N D"], data: Data) -> Point:
    assert data.labels is not None
    quality = nearest_neighbour_accuracy(np.asarray(latents, dtype=np.float64), data.labels)
    return {"n_steps": n_steps, "seconds": seconds, "training_seconds": training, "quality": quality}


def _enough(points: Sequence[Point], task: Task, seconds: float) -> bool:
    reached = task.target is not None and bool(points) and points[-1]["quality"] >= task.target
    return reached or seconds > task.limit_s


Numbers = dict[str, Any]

# The first third of the steps is discarded: thread pools, caches and CUDA graphs are created in it.
_WARM_UP_SHARE = 3
_HELD_OUT_SHARE = 5
_TRIAL = DataSpec(name=LOW_RANK, n_samples=120, n_columns=6)
_TRIAL_STEPS = 3


def measure(task: Task) -> Numbers:
    """Measure a task; the returned "stopped" states whether it reached its time limit.

    Raises:
        ModuleNotFoundError: the method's package is not installed.
    """
    return _MEASURES[task.experiment](task)


def measure_steps(task: Task) -> Numbers:
    """Measure the step time and the peak memory of a complete fit to unscaled views."""
    _warm_up(task, ours.fit_raw)
    data = load_data(task.data, task.seed)
    fitted, numbers = _timed(ours.fit_raw, data.views, task)
    n_steps = len(fitted.step_ends)
    numbers["seconds_per_step"] = seconds_per_step(fitted.step_ends, warm_up=n_steps // _WARM_UP_SHARE)
    if fitted.bound is not None:
        numbers["bound"] = fitted.bound
    return numbers


def measure_quality(task: Task) -> Numbers:
    """Measure 1-NN accuracy against time, for fits to unscaled views."""
    _warm_up(task, ours.fit_raw)
    return quality_curve(load_data(task.data, task.seed), task)


def measure_fit(task: Task) -> Numbers:
    """Measure time, memory and accuracy of a complete fit to scaled views, and of predictions for new rows."""
    method = METHODS[task.method]
    _warm_up(task, method.fit)
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
    """Measure the profile of a training step."""
    _warm_up(task, ours.fit_raw)
    return profile_step(load_data(task.data, task.seed).views, task)


def _warm_up(task: Task, fit: Callable[[ViewArrays, Task], Fitted]) -> None:
    """Fit a few rows first, to exclude imports, compilation and GPU initialisation from the measurement."""
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
    """Return the RMSE of predicting the second view of held-out rows from the first, and the seconds it took."""
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


# Marks the line with the outcome among the output of other libraries.
MARK = "mvlvm bench outcome: "


def work(task: Task) -> dict[str, Any]:
    """Measure a task; return its status, numbers and note, also if it fails."""
    try:
        numbers = measure(task)
    except ModuleNotFoundError as error:
        return {"status": ABSENT, "numbers": {}, "note": str(error)}
    except Exception as error:
        return {"status": FAILED, "numbers": {}, "note": f"{type(error).__name__}: {error}"}
    stopped = bool(numbers.pop("stopped"))
    note = f"stopped after {numbers['seconds']:.0f} s" if stopped else ""
    return {"status": STOPPED if stopped else DONE, "numbers": numbers, "note": note}


if __name__ == "__main__":
    outcome = work(Task.from_json(json.load(sys.stdin)))
    print(f"\n{MARK}{json.dumps(outcome, allow_nan=False)}", flush=True)
