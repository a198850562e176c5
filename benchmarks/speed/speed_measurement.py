"""Measurement of a cell: step time, peak memory, accuracy of a fit, accuracy against time, profile of a step."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import clone

from benchmarks.cells import Cell, Measurement
from benchmarks.provenance import wait_for
from benchmarks.speed.benchmark_data import BenchmarkData, load_benchmark_data, low_rank
from benchmarks.speed.methods import NAIVE, make_method
from benchmarks.speed.naive import NaiveModel, scaled_tensors
from benchmarks.speed.speed_plan import Sizes, checkpoints_of, n_steps_of
from benchmarks.speed.step_profile import profile_step, seconds_per_step
from mvlvm.baselines.base import PredictMixin, ReconstructMixin
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.time_limit import is_limit_reached
from mvlvm.views.scaling import fit_scaling

Metrics = dict[str, Any]
Point = dict[str, float | int]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_KILOBYTE = 1024
_RESET_PEAK = "5"
# The first third of the steps is discarded: thread pools, caches and CUDA graphs are created in it.
_WARM_UP_SHARE = 3
_WARM_UP_ROWS, _WARM_UP_COLUMNS = 120, 6
_HELD_OUT_SHARE = 5


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
    before = _memory_in_use()
    yield peak
    peak.n_bytes = max(0, _peak_memory() - before)


def _memory_in_use() -> int:
    """Return the memory in use, in bytes."""
    return _status("VmRSS") if _STATUS.exists() else _peak_memory()


def _peak_memory() -> int:
    """Return the peak memory since the last reset, in bytes."""
    if _STATUS.exists():
        return _status("VmHWM")
    import resource  # not on Windows

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * _KILOBYTE


def _status(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * _KILOBYTE


def measure_speed(cell: Cell) -> Measurement:
    """Measure a cell of the speed study.

    Raises:
        ModuleNotFoundError: the method's package is not installed.
    """
    warm_up(cell)
    return Measurement(_MEASURES[cell.settings["part"]](cell))


def warm_up(cell: Cell) -> None:
    """Fit a few rows first, to exclude imports, compilation and GPU initialisation from the measurement."""
    if not cell.is_quick:
        views = low_rank(_WARM_UP_ROWS, _WARM_UP_COLUMNS, 2, cell.seed).views
        make_method(cell.method, device=cell.device, seed=cell.seed, short=True).fit(views)
        wait_for(cell.device)
        if is_limit_reached():
            raise KeyboardInterrupt  # the measurement would exceed the limit


def cell_data(cell: Cell) -> BenchmarkData:
    """Load the data of a cell."""
    sizes = Sizes.of(cell)
    return load_benchmark_data(cell.data, sizes.N, n_columns=sizes.M, n_views=sizes.V, seed=cell.seed)


def spectral_estimator(cell: Cell, n_steps: int | None) -> Any:
    """Return NG-MVLVM or the naive implementation with the sizes and options of a cell.

    Args:
        cell: the cell.
        n_steps: exact number of steps; None for the stopping rule and the default maximum.
    """
    sizes = Sizes.of(cell)
    parameters: dict[str, Any] = {"n_components": sizes.D, "n_mixtures": sizes.Q, "n_points": sizes.P}
    parameters |= {name: cell.settings[name] for name in ("dtype", "init", "learning_rate") if name in cell.settings}
    if n_steps is not None:
        parameters |= {"max_iter": n_steps} if cell.method == NAIVE else {"max_iter": n_steps, "tol": 0.0}
    return make_method(cell.method, device=cell.device, seed=cell.seed, parameters=parameters)


def timed_fit(estimator: Any, views: Mapping[str, Float[np.ndarray, "N _"]], device: str) -> Metrics:
    """Fit a method to unscaled views, and measure the time and the peak memory beyond the data."""
    with peak_memory(device) as peak:
        begin = time.perf_counter()
        estimator.fit(dict(views))
        wait_for(device)
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "peak_bytes": peak.n_bytes}


@contextmanager
def kept_at_time_limit() -> Iterator[None]:
    """Suppress the interrupt of a time limit, so that the values measured before are kept."""
    try:
        yield
    except KeyboardInterrupt:
        if not is_limit_reached():
            raise


def _measure_steps(cell: Cell) -> Metrics:
    """Measure the step time and the peak memory of a complete fit, and the bound of NG-MVLVM."""
    estimator = spectral_estimator(cell, n_steps_of(cell))
    metrics = timed_fit(estimator, cell_data(cell).views, cell.device)
    ends = estimator.history_["seconds"].tolist()
    metrics |= {"n_steps": len(ends), "seconds_per_step": seconds_per_step(ends, warm_up=len(ends) // _WARM_UP_SHARE)}
    if isinstance(estimator, AbstractMultiViewLVM):
        metrics["bound"] = estimator.elbo_
    return metrics


def _measure_profile(cell: Cell) -> Metrics:
    """Measure the profile of a training step."""
    sizes, estimator = Sizes.of(cell), spectral_estimator(cell, 1)
    return profile_step(cell_data(cell).views, estimator, n_steps=n_steps_of(cell), n_features=2 * sizes.Q * sizes.P)


def _measure_peer(cell: Cell) -> Metrics:
    """Measure time, memory, accuracy and reconstruction error of a fit, and the prediction error of another one."""
    data, estimator = cell_data(cell), _peer_estimator(cell)
    metrics = timed_fit(estimator, data.views, cell.device) | accuracy_of(estimator, data)
    scalings = {name: fit_scaling(name, Y, "auto") for name, Y in data.views.items()}

    def rmse(name: str, predicted: Any, observed: Float[np.ndarray, "K _"]) -> float:
        """Return the root mean squared error in units of the scaled view."""
        scaling = scalings[name]
        return float(np.sqrt(np.mean((scaling.apply(np.asarray(predicted)) - scaling.apply(observed)) ** 2)))

    if isinstance(estimator, ReconstructMixin | AbstractMultiViewLVM):
        reconstructed = estimator.reconstruct()
        errors = [rmse(name, reconstructed[name], Y) ** 2 for name, Y in data.views.items()]
        metrics["rmse"] = float(np.sqrt(np.mean(errors)))
    can_predict = isinstance(estimator, PredictMixin | AbstractMultiViewLVM) and len(data.views) == 2
    if can_predict and not is_limit_reached():
        metrics |= _prediction(clone(estimator), data.views, rmse)
    return metrics


def _peer_estimator(cell: Cell) -> Any:
    return make_method(cell.method, device=cell.device, seed=cell.seed, short=cell.is_quick)


def _prediction(
    estimator: Any, views: Mapping[str, Float[np.ndarray, "N _"]], rmse: Callable[[str, Any, Any], float]
) -> Metrics:
    """Return the RMSE of the second view of held-out rows, predicted from the first, and the time of this.

    At the time limit there is no RMSE.
    """
    given, target = views
    new = np.arange(len(views[given])) % _HELD_OUT_SHARE == 0
    begin, metrics = time.perf_counter(), {}
    with kept_at_time_limit():
        estimator.fit({name: Y[~new] for name, Y in views.items()})
        if not is_limit_reached():
            predicted = estimator.predict({given: views[given][new]}, target=target)
            metrics["predict_rmse"] = rmse(target, predicted, views[target][new])
    return {**metrics, "predict_seconds": time.perf_counter() - begin}


def accuracy_of(estimator: Any, data: BenchmarkData) -> Metrics:
    """Return the 1-NN accuracy of the latents, if the data have labels."""
    if data.labels is None:
        return {}
    return {"accuracy": nearest_neighbour_accuracy(np.asarray(estimator.embedding_, dtype=np.float64), data.labels)}


def _measure_quality(cell: Cell) -> Metrics:
    """Measure the 1-NN accuracy at every checkpoint, until the target or the time limit is reached.

    The learning rate of NG-MVLVM decays until the last step, so every checkpoint is a separate fit with that number of
    steps; "seconds" is the time of the complete fit including the preparation of predictions, and "latent_seconds" the
    time until the latents are final. The naive implementation continues from one checkpoint to the next; its time
    includes scaling and initialisation, but not evaluation.
    """
    points: list[Point] = []
    with kept_at_time_limit():
        for point in (_naive_points if cell.method == NAIVE else _fit_points)(cell, cell_data(cell)):
            points.append(point)
            if point["quality"] >= cell.settings.get("target", np.inf):
                break
    if not points:
        raise KeyboardInterrupt  # the time limit was reached before the first point
    target = cell.settings.get("target")
    reached = None if target is None else first_to_reach(points, target)
    return {"curve": points, "reached": reached, "seconds": points[-1]["seconds"]}


def first_to_reach(points: Sequence[Point], quality: float | int, *, by: str = "seconds") -> Point | None:
    """Return the fastest point with at least the given accuracy, or None if there is none.

    Args:
        points: points of a curve.
        quality: the required accuracy.
        by: the time that counts; "seconds" is used for points that do not have it.
    """
    enough = [point for point in points if point["quality"] >= quality]
    return min(enough, key=lambda point: point.get(by, point["seconds"]), default=None)


def _fit_points(cell: Cell, data: BenchmarkData) -> Iterator[Point]:
    for n_steps in checkpoints_of(cell):
        begin = time.perf_counter()
        est = spectral_estimator(cell, n_steps or None).fit(data.views)
        wait_for(cell.device)
        seconds, training = time.perf_counter() - begin, float(est.history_["seconds"][-1])
        if is_limit_reached():
            return  # an unfinished fit is no point of the curve
        point = _point(est.n_iter_, seconds, training, est.embedding_, data)
        yield {**point, "latent_seconds": est.fit_seconds_["preparing"] + est.fit_seconds_["training"]}


def _naive_points(cell: Cell, data: BenchmarkData) -> Iterator[Point]:
    sizes, checkpoints, begin, not_counted = Sizes.of(cell), checkpoints_of(cell), time.perf_counter(), 0.0
    model = NaiveModel(
        scaled_tensors(data.views, cell.device), n_components=sizes.D, n_mixtures=sizes.Q, n_points=sizes.P,
        seed=cell.seed,
    )  # fmt: skip
    started = time.perf_counter()
    for step in range(1, max(checkpoints) + 1):
        with kept_at_time_limit():
            model.step()
        seconds = time.perf_counter() - begin - not_counted
        if step in checkpoints or is_limit_reached():
            wait_for(cell.device)
            now = time.perf_counter()
            yield _point(step, seconds, seconds - (started - begin), model.latents, data)
            not_counted += time.perf_counter() - now
        if is_limit_reached():
            return


def _point(
    n_steps: int, seconds: float, training: float, latents: Float[np.ndarray, "N D"], data: BenchmarkData
) -> Point:
    assert data.labels is not None
    quality = nearest_neighbour_accuracy(np.asarray(latents, dtype=np.float64), data.labels)
    return {"n_steps": n_steps, "seconds": seconds, "training_seconds": training, "quality": quality}


_MEASURES: dict[str, Callable[[Cell], Metrics]] = {
    "steps": _measure_steps,
    "accuracy": _measure_steps,
    "growth": _measure_steps,
    "quality": _measure_quality,
    "peers": _measure_peer,
    "profile": _measure_profile,
}
