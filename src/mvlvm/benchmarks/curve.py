"""Quality against seconds: what is reached when."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.benchmarks.data import Data
from mvlvm.benchmarks.naive import scaled_views
from mvlvm.benchmarks.own import estimator, naive_model, quietly
from mvlvm.benchmarks.task import Task
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.records.machine import wait_for

Point = dict[str, float | int]


def quality_curve(data: Data, task: Task) -> dict[str, Any]:
    """Give 1-NN accuracy at every checkpoint, until the target or the limit is reached.

    Our learning rate falls to the last step, so that every checkpoint is a fit of its own with so many steps, and its
    seconds are those of the whole fit, from views to predictions; "latent_seconds" are those until the latents stand.
    The plain transcription goes on from one checkpoint to the next; scaling and starting count, evaluating does not.
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
    """Give the quickest point of at least this quality; None where there is none.

    Args:
        points: of a curve.
        quality: to be reached.
        by: which seconds count; where a point does not have them, those of the whole fit.
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
