"""Accuracy and calibration of cross-view prediction: every view of held-out rows from all other views.

One fit per data set and seed gives three predictions: by the conditional layer, by the latents alone, and by the same
layer without the latents, F = 0, so that it is plain what the model contributes. Columns are standardised by the
training rows.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.cross_view import ridge
from benchmarks.quality.fit_comparison import MULTI_VIEW_SETS, load_rows
from benchmarks.quality.prediction_scores import QUICK_STEPS, ColumnUnits, Metrics, reduced, rmse
from mvlvm import defaults
from mvlvm.datasets import load
from mvlvm.estimators import NGMVLVM
from mvlvm.evaluation import coverage, log_density
from mvlvm.inference.conditional import KnownRows, choose_layer, condition_layer

OURS, RIDGE, NEIGHBOURS = "NG-MVLVM", "ridge", "10-NN"
KERNEL_RIDGE, FOREST = "kernel ridge", "random forest"
# Prefixes of the scores of our other predictions.
BY_LATENTS, WITHOUT_LATENTS = "latents alone", "without latents"
N_COMPONENTS = 10
_N_TREES, _LEAF_ROWS = 100, 3
_PENALTIES, _INVERSE_RANGES = np.logspace(-3, 1, 5), np.logspace(-1.5, 0.5, 5)

Matrix = Float[np.ndarray, "_ _"]


def load_views(cell: Cell) -> dict[str, Matrix]:
    """Return the views of a data set; images are divided into an upper and a lower half."""
    if cell.data in MULTI_VIEW_SETS:
        return {name: np.asarray(Y, dtype=float) for name, Y in load_rows(cell).items()}
    images = np.asarray(next(iter(reduced(cell, load(cell.data.removesuffix("-halves"))).values())), dtype=float)
    middle = images.shape[1] // 2
    return {"upper": images[:, :middle], "lower": images[:, middle:]}


@dataclass(frozen=True)
class Task:
    """A view of held-out rows that is predicted from all others.

    Attributes:
        target: name of the view.
        given: the other views of the training rows that have all views, side by side in standardised columns.
        truth: the standardised target of these rows.
        new_given: the other views of the held-out rows that have all views.
        new_truth: their target.
        view_of: the view of every given column.
        units: units of the target.
        new_views: the other views of these rows by name, in the units of the data.
    """

    target: str
    given: Matrix
    truth: Matrix
    new_given: Matrix
    new_truth: Matrix
    view_of: Int[np.ndarray, " C"]
    units: ColumnUnits
    new_views: Mapping[str, Matrix]

    def scores(self, mean: Matrix, std: Matrix) -> Metrics:
        """Return RMSE, coverage of 95 % intervals and mean log density of a prediction in standardised columns."""
        return {
            "RMSE": rmse(self.new_truth, mean),
            "coverage": coverage(self.new_truth, mean, std, level=0.95),
            "log density": log_density(self.new_truth, mean, std),
        }

    def scores_in_data_units(self, mean: Any, std: Any) -> Metrics:
        """Return the scores of a prediction in the units of the data."""
        return self.scores(self.units.apply(np.asarray(mean)), self.units.apply_to_std(np.asarray(std)))


@dataclass(frozen=True)
class Split:
    """Training rows, and held-out rows, a fifth of all."""

    old: Mapping[str, Matrix]
    new: Mapping[str, Matrix]

    @classmethod
    def of(cls, cell: Cell) -> "Split":
        """Draw the rows by the seed."""
        views = load_views(cell)
        order = np.random.default_rng(cell.seed + 1).permutation(len(next(iter(views.values()))))
        new, old = np.split(order, [len(order) // 5])
        return cls({name: Y[old] for name, Y in views.items()}, {name: Y[new] for name, Y in views.items()})

    def tasks(self) -> Iterator[Task]:
        """Yield a task for every view."""
        old, new = (_complete_views(views) for views in (self.old, self.new))
        units = {name: ColumnUnits.of(Y) for name, Y in old.items()}
        scaled, new_scaled = ({name: units[name].apply(Y) for name, Y in views.items()} for views in (old, new))
        for target in self.old:
            others = [name for name in self.old if name != target]
            yield Task(
                target, np.hstack([scaled[name] for name in others]), scaled[target],
                np.hstack([new_scaled[name] for name in others]), new_scaled[target],
                np.repeat(np.arange(len(others)), [scaled[name].shape[1] for name in others]), units[target],
                {name: new[name] for name in others},
            )  # fmt: skip


def _complete_views(views: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """Return the rows that have all entries of all views."""
    complete: Bool[np.ndarray, " N"] = ~np.any([np.isnan(Y).any(axis=1) for Y in views.values()], axis=0)
    return {name: Y[complete] for name, Y in views.items()}


def measure_model(cell: Cell) -> Metrics:
    """Fit once, and predict every view with the conditional layer, by the latents alone, and without the latents."""
    split = Split.of(cell)
    max_iter = QUICK_STEPS if cell.is_quick else defaults.MAX_ITER
    est = NGMVLVM(n_components=N_COMPONENTS, max_iter=max_iter, random_state=cell.seed, device=cell.device)
    est.fit(split.old)
    metrics: Metrics = {}
    for task in split.tasks():
        for kind, conditional in (("", "auto"), (BY_LATENTS, "latent")):
            begin = time.perf_counter()
            pair = est.predict(task.new_views, target=task.target, return_std=True, conditional=conditional)
            seconds = time.perf_counter() - begin
            metrics |= named({**task.scores_in_data_units(*pair), "seconds": seconds}, task, kind)
        metrics |= named(dict(est.prediction_sources(task.target)), task)
        metrics |= named(without_latents(task, cell.seed), task, WITHOUT_LATENTS)
    return metrics


def without_latents(task: Task, seed: int) -> Metrics:
    """Return the scores of the layer with F = 0, which ignores the latents."""
    old, new = (
        KnownRows(given, *np.zeros((2, len(given), task.truth.shape[1]))) for given in (task.given, task.new_given)
    )
    choice = choose_layer(old, task.view_of, task.truth, torch.Generator().manual_seed(seed))
    layer = condition_layer(old, task.truth, choice)
    predicted = layer.predict(new)
    return task.scores(predicted.mean, np.sqrt(predicted.variance))


def measure_regression(cell: Cell) -> Metrics:
    """Predict every view with a regression; ridge regression has homoscedastic error bars from leave-one-out errors."""
    metrics: Metrics = {}
    for task in Split.of(cell).tasks():
        regression = REGRESSIONS[cell.method](task, cell.seed).fit(task.given, task.truth)
        mean = np.asarray(regression.predict(task.new_given)).reshape(task.new_truth.shape)
        found: Metrics = {"RMSE": rmse(task.new_truth, mean)}
        if cell.method == RIDGE:
            std = leave_one_out_std(task.given, task.truth, float(regression.alpha_))
            found = task.scores(mean, np.broadcast_to(std, mean.shape).copy())
        metrics |= named(found, task)
    return metrics


def leave_one_out_std(X: Matrix, Y: Matrix, penalty: float) -> Float[np.ndarray, " M"]:
    """Return the root mean squared leave-one-out error of ridge regression for every column."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    w, U = np.linalg.eigh(X @ X.T)
    hat = (U * (np.maximum(w, 0.0) / (np.maximum(w, 0.0) + penalty))) @ U.T
    left = np.maximum(1 - hat.diagonal() - 1 / len(X), 1e-9)
    return np.sqrt(np.square((Y - hat @ Y) / left[:, None]).mean(axis=0)) + 1e-9


def named(metrics: Mapping[str, float], task: Task, kind: str = "") -> Metrics:
    """Return metrics with names that contain the target."""
    return {f"{kind} {name} {task.target}".strip(): float(value) for name, value in metrics.items()}


def _kernel_ridge(task: Task, seed: int) -> GridSearchCV:
    ranges = _INVERSE_RANGES / task.given.shape[1]
    grid = {"alpha": _PENALTIES, "gamma": ranges}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5, scoring="neg_mean_squared_error")


def _forest(task: Task, seed: int) -> RandomForestRegressor:
    return RandomForestRegressor(_N_TREES, min_samples_leaf=_LEAF_ROWS, random_state=seed).set_params(
        max_features="sqrt"
    )


# Method -> function of a task and a seed that returns an estimator.
REGRESSIONS: Mapping[str, Callable[[Task, int], Any]] = {
    RIDGE: lambda task, seed: ridge(),
    NEIGHBOURS: lambda task, seed: KNeighborsRegressor(min(10, len(task.given))),
    KERNEL_RIDGE: _kernel_ridge,
    FOREST: _forest,
}


def measure(cell: Cell) -> Measurement:
    """Measure a cell of the study."""
    return Measurement((measure_model if cell.method == OURS else measure_regression)(cell))
