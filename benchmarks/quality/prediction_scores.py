"""Fits of the model and scores of predictions, shared by the studies of prediction and of likelihoods.

The second half makes a normal distribution comparable with distributions of counts, binary data or classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_ndtr
from scipy.stats import norm

from benchmarks.cells import Cell
from mvlvm.datasets import Dataset
from mvlvm.estimators import NGMVLVM
from mvlvm.evaluation import coverage, log_density, reliability

Matrix = Float[np.ndarray, "N M"]
Metrics = dict[str, Any]

# Quick cells have at most this number of rows, and fits of this number of steps.
QUICK_ROWS, QUICK_STEPS = 240, 5
# Predicted means are unbounded; they are clipped to this distance from 0 and 1.
CLIP = 1e-3


def reduced(cell: Cell, data: Dataset) -> Dataset:
    """Return a data set, or for a quick cell the part of it that has few rows, spread evenly over all rows."""
    n_rows = len(next(iter(data.values())))
    if not cell.is_quick or n_rows <= QUICK_ROWS:
        return data
    rows = np.linspace(0, n_rows - 1, QUICK_ROWS).astype(int)
    labels = None if data.labels is None else data.labels[rows]
    return replace(data, views={name: Y[rows] for name, Y in data.items()}, labels=labels, rows=None)


def fit_model(
    cell: Cell, views: Mapping[str, Any], *, n_components: int | str = 2, max_iter: int = 500, scale: str = "auto",
    likelihood: str | Mapping[str, str] = "gaussian", n_private: Mapping[str, int] | None = None,
) -> NGMVLVM:  # fmt: skip
    """Fit NG-MVLVM with the seed and device of a cell; quick cells take few steps."""
    est = NGMVLVM(
        n_components=n_components, n_private=n_private, max_iter=QUICK_STEPS if cell.is_quick else max_iter,
        scale=scale, likelihood=likelihood, device=cell.device, random_state=cell.seed,
    )  # fmt: skip
    return est.fit(views)


@dataclass(frozen=True)
class ColumnUnits:
    """Standardisation of columns by their observed entries; constant columns are excluded.

    Attributes:
        mean: means of the columns.
        std: standard deviations of the columns.
    """

    mean: Float[np.ndarray, " M"]
    std: Float[np.ndarray, " M"]

    @classmethod
    def of(cls, Y: Matrix) -> "ColumnUnits":
        """Return the units of columns, from their observed entries."""
        return cls(np.nanmean(Y, axis=0), np.nanstd(Y, axis=0))

    def apply(self, Y: Matrix) -> Float[np.ndarray, "N _"]:
        """Return entries in these units."""
        return (Y - self.mean)[:, self.varies] / self.std[self.varies]

    def apply_to_std(self, S: Matrix) -> Float[np.ndarray, "N _"]:
        """Return standard deviations in these units."""
        return S[:, self.varies] / self.std[self.varies]

    @property
    def varies(self) -> Bool[np.ndarray, " M"]:
        """Columns that are not constant."""
        return self.std > 0


def rmse(truth: Float[np.ndarray, "..."], predicted: Float[np.ndarray, "..."]) -> float:
    """Return the root mean squared error over all entries."""
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def calibration(truth: Matrix, mean: Matrix, std: Matrix) -> Metrics:
    """Return coverage, log density and the reliability curve; entries with NaN in `truth` are excluded."""
    curve = reliability(truth, mean, std)
    return {
        **{f"covers {percent}": coverage(truth, mean, std, level=percent / 100) for percent in (50, 80, 95)},
        "log density": log_density(truth, mean, std),
        "expected": curve.expected.tolist(),
        "observed": curve.observed.tolist(),
        "entries": curve.n_entries,
    }


def log_interval(Y: Matrix, mean: Matrix, std: Matrix, *, highest: float = np.inf, logs: bool = False) -> Matrix:
    """Return the log probability that normal variables, rounded to the integers 0 to `highest`, equal Y.

    Values below 1/2 are rounded to 0, and values above `highest` - 1/2 to `highest`. The probabilities of all values
    therefore sum to one, as those of a count model, without mass on impossible values.

    Args:
        Y: integers.
        mean: means of the normal variables.
        std: standard deviations of the normal variables.
        highest: largest possible value.
        logs: whether the normal variables are log(1 + y) rather than y.
    """
    link = np.log1p if logs else np.asarray
    lower = np.where(Y <= 0, -np.inf, (link(np.maximum(Y - 0.5, 0.0)) - mean) / std)
    upper = np.where(highest <= Y, np.inf, (link(Y + 0.5) - mean) / std)
    # Phi(b) - Phi(a) = Phi(-a) - Phi(-b): use the tail in which both terms are small
    right = lower + np.where(np.isinf(upper), lower, upper) > 0
    low, high = np.where(right, -upper, lower), np.where(right, -lower, upper)
    with np.errstate(divide="ignore"):
        return log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))


def mean_log_interval(Y: Matrix, mean: Matrix, std: Matrix, *, highest: float = np.inf, logs: bool = False) -> float:
    """Return the mean of `log_interval` over entries."""
    return float(log_interval(Y, mean, std, highest=highest, logs=logs).mean())


def mean_log_normal(Y: Matrix, mean: Matrix, std: Matrix) -> float:
    """Return the mean log density of entries under normal distributions."""
    return float(norm.logpdf(Y, mean, std).mean())


def log_loss(bits: Matrix, probability: Matrix) -> float:
    """Return the mean log loss of probabilities of ones, in nats per entry."""
    return float(-np.log(np.where(bits == 1, probability, 1 - probability)).mean())


def clipped(means: Matrix, least: float = CLIP) -> Matrix:
    """Clip predicted means to probabilities."""
    return np.clip(means, least, 1 - least)


def class_probabilities(means: Matrix) -> Matrix:
    """Normalise predicted one-hot columns to class probabilities."""
    positive = clipped(means)
    return positive / positive.sum(axis=1, keepdims=True)


def mean_log_probability(codes: Int[np.ndarray, " N"], probabilities: Matrix) -> float:
    """Return the mean log probability of the true classes, given by index."""
    return float(np.log(probabilities[np.arange(len(codes)), codes]).mean())
