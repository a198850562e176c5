"""Our own fits, and those of the plain transcription, in the form in which peers are measured."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.benchmarks.fitted import Fitted, NewViews, ViewArrays
from mvlvm.benchmarks.naive import NaiveModel, scaled_views
from mvlvm.benchmarks.task import Task
from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.estimators import NGMVLVM


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing of constant pixels, nor of fits that end by their number of steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViewWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def estimator(task: Task, n_steps: int | None, *, scale: Any = "auto") -> NGMVLVM:
    """Make our estimator for a task; without a number of steps it ends by itself."""
    return NGMVLVM(
        n_components=task.n_components, n_mixtures=task.n_mixtures, n_points=task.n_points,
        max_iter=n_steps or defaults.MAX_ITER, tol=0.0 if n_steps else defaults.TOL, scale=scale,
        learning_rate=task.learning_rate or defaults.LEARNING_RATE, init=task.init,
        device=task.device, dtype=task.dtype, random_state=task.seed,
    )  # fmt: skip


def naive_model(Ys: list[torch.Tensor], task: Task) -> NaiveModel:
    """Make the plain transcription for a task."""
    return NaiveModel(
        Ys, n_components=task.n_components, n_mixtures=task.n_mixtures, n_points=task.n_points, seed=task.seed
    )


def fit_raw(views: ViewArrays, task: Task) -> Fitted:
    """Fit our model, or the plain one, to views as they come: scaling is part of the work."""
    if task.method == "naive":
        return _train_naive(scaled_views(views, task.device), task)
    with quietly():
        est = estimator(task, task.n_steps).fit(views)
    return Fitted(
        latents=est.embedding_, n_steps=est.n_iter_, step_ends=est.history_["seconds"].tolist(), bound=est.elbo_
    )


def fit_ours(views: ViewArrays, task: Task) -> Fitted:
    """Fit our model to scaled views."""
    with quietly():
        est = estimator(task, task.n_steps, scale=None).fit(dict(views))
    rebuilt: dict[str, np.ndarray] = est.reconstruct()
    return Fitted(latents=est.embedding_, n_steps=est.n_iter_, rebuilt=rebuilt, bound=est.elbo_)


def predict_ours(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Give one view of new rows from the other."""
    (target,) = set(views) - set(given)
    with quietly():
        return estimator(task, task.n_steps, scale=None).fit(dict(views)).predict(dict(given), target=target)


def fit_naive(views: ViewArrays, task: Task) -> Fitted:
    """Fit the plain transcription to scaled views."""
    Ys = [torch.as_tensor(Y, dtype=torch.float64, device=task.device) for Y in views.values()]
    return _train_naive(Ys, task)


def _train_naive(Ys: list[torch.Tensor], task: Task) -> Fitted:
    """Take as many steps as our own fits do at most, or as there is time for."""
    begin, step_ends = time.perf_counter(), []
    model = naive_model(Ys, task)
    for _ in range(task.n_steps or defaults.MAX_ITER):
        if time.perf_counter() - begin > task.limit_s:
            break
        model.step()
        step_ends.append(time.perf_counter() - begin)
    stopped = len(step_ends) < (task.n_steps or defaults.MAX_ITER)
    return Fitted(latents=model.latents, n_steps=len(step_ends), step_ends=step_ends, stopped=stopped)
