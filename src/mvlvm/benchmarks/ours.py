"""Fits of NG-MVLVM and of the naive implementation, in the form in which all methods are measured."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.benchmarks.naive import NaiveModel, scaled_views
from mvlvm.benchmarks.tasks import Fitted, NewViews, Task, ViewArrays
from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.estimators import NGMVLVM
from mvlvm.estimators.initialization import InitialModel, initialize
from mvlvm.estimators.preprocessing import preprocess, validate
from mvlvm.estimators.train import train_model
from mvlvm.randomness import Stream, make_generator, seed_from
from mvlvm.training.history import History


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings about constant columns and about reaching the maximal number of steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViewWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def estimator(task: Task, n_steps: int | None, *, scale: Any = "auto") -> NGMVLVM:
    """Return the estimator of a task; without `n_steps` it stops at convergence."""
    return NGMVLVM(
        n_components=task.n_components, n_mixtures=task.n_mixtures, n_points=task.n_points,
        max_iter=n_steps or defaults.MAX_ITER, tol=0.0 if n_steps else defaults.TOL, scale=scale,
        learning_rate=task.learning_rate or defaults.LEARNING_RATE, init=task.init,
        device=task.device, dtype=task.dtype, random_state=task.seed,
    )  # fmt: skip


def naive_model(Ys: list[torch.Tensor], task: Task) -> NaiveModel:
    """Return the naive implementation for a task."""
    return NaiveModel(
        Ys, n_components=task.n_components, n_mixtures=task.n_mixtures, n_points=task.n_points, seed=task.seed
    )


def fit_raw(views: ViewArrays, task: Task) -> Fitted:
    """Fit NG-MVLVM or the naive implementation to unscaled views; scaling is part of the measured work."""
    if task.method == "naive":
        return _train_naive(scaled_views(views, task.device), task)
    with quietly():
        est = estimator(task, task.n_steps).fit(views)
    return Fitted(
        latents=est.embedding_, n_steps=est.n_iter_, step_ends=est.history_["seconds"].tolist(), bound=est.elbo_
    )


def fit_ours(views: ViewArrays, task: Task) -> Fitted:
    """Fit NG-MVLVM to scaled views."""
    with quietly():
        est = estimator(task, task.n_steps, scale=None).fit(dict(views))
    rebuilt: dict[str, np.ndarray] = est.reconstruct()
    return Fitted(latents=est.embedding_, n_steps=est.n_iter_, rebuilt=rebuilt, bound=est.elbo_)


def predict_ours(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Predict one view of new rows from the other with NG-MVLVM; shape (K, M)."""
    (target,) = set(views) - set(given)
    with quietly():
        return estimator(task, task.n_steps, scale=None).fit(dict(views)).predict(dict(given), target=target)


def fit_naive(views: ViewArrays, task: Task) -> Fitted:
    """Fit the naive implementation to scaled views."""
    Ys = [torch.as_tensor(Y, dtype=torch.float64, device=task.device) for Y in views.values()]
    return _train_naive(Ys, task)


def _train_naive(Ys: list[torch.Tensor], task: Task) -> Fitted:
    """Train up to the maximal number of steps of NG-MVLVM or to the time limit."""
    begin, step_ends = time.perf_counter(), []
    model = naive_model(Ys, task)
    for _ in range(task.n_steps or defaults.MAX_ITER):
        if time.perf_counter() - begin > task.limit_s:
            break
        model.step()
        step_ends.append(time.perf_counter() - begin)
    stopped = len(step_ends) < (task.n_steps or defaults.MAX_ITER)
    return Fitted(latents=model.latents, n_steps=len(step_ends), step_ends=step_ends, stopped=stopped)


def untrained(est: NGMVLVM, views: ViewArrays) -> tuple[InitialModel, Callable[[int], History]]:
    """Assemble a model as `fit` does; return it with a function that trains it for a number of steps."""
    options, validated = validate(est.get_params(deep=False), views)
    generator = make_generator(seed_from(options.random_state), Stream.TRAINING, options.device)
    with quietly():
        initial = initialize(preprocess(validated, options), options, generator)

    def train(n_steps: int) -> History:
        wanted = replace(options, max_iter=n_steps)
        return train_model(initial.model, initial.data, initial.states, wanted, generator).history

    return initial, train


def ready_to_train(views: ViewArrays, task: Task) -> tuple[InitialModel, Callable[[int], History]]:
    """Return the model of a task, and a function that trains it for a number of steps."""
    return untrained(estimator(task, 1), views)
