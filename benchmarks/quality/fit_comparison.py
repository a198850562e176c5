"""Comparison of options of NG-MVLVM on all shared data sets: bound, use of the latents, and predictions across views.

Four fifths of the rows are fitted; every view of the others is predicted from the remaining views. Options are compared
seed by seed on the same rows.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.prediction_scores import QUICK_STEPS, ColumnUnits, Metrics, reduced, rmse
from benchmarks.results import Difference, Results, difference
from mvlvm.datasets import Dataset, load
from mvlvm.estimators import NGMVLVM
from mvlvm.evaluation import coverage

# Data set -> options of `load`; "rows" is the largest number of rows, drawn by the seed.
MULTI_VIEW_SETS: Mapping[str, Mapping[str, Any]] = {
    "s-curve": {}, "s-curve-stationary": {"name": "s-curve", "kernels": ["rbf", "rbf"]}, "factors": {},
    "shared-private": {}, "digits-halves": {}, "mfeat": {}, "mv-mnist": {}, "mnist-svhn": {"rows": 1500},
    "movies": {}, "cora": {"dense": True}, "bbcsport": {}, "bdgp": {}, "channel": {"rows": 2000}, "breast-tcga": {},
    "cll": {}, "nutrimouse": {}, "citeseq-pbmc": {},
}  # fmt: skip


class CompareMeasure(NamedTuple):
    """A metric that is compared.

    Attributes:
        metric: name in the records.
        column: heading.
        scale: factor applied to differences.
        limit: loss beyond which a difference counts as large, in these units; None for no limit.
        higher_is_better: whether large values are good.
    """

    metric: str
    column: str
    scale: float
    limit: float | None
    higher_is_better: bool = True


MEASURES = (
    CompareMeasure("bound", "bound, 1e-3 nats per entry", 1e3, 3.0),
    CompareMeasure("accuracy", "1-NN, points", 100.0, 1.0),
    CompareMeasure("R^2", "R^2 of the latents, points", 100.0, 1.0),
    CompareMeasure("RMSE", "RMSE of predicted views, percent", 100.0, 1.0, False),
    CompareMeasure("coverage error", "distance of the coverage from 95 %, points", 100.0, 1.0, False),
)


def load_rows(cell: Cell, sets: Mapping[str, Mapping[str, Any]] | None = None) -> Dataset:
    """Return the data set of a cell, with at most its number of rows; by default one of those of several views."""
    options = dict((MULTI_VIEW_SETS if sets is None else sets)[cell.data])
    n_rows, name = options.pop("rows", None), options.pop("name", cell.data)
    data = reduced(cell, load(name, random_state=cell.seed, **options))
    n = len(next(iter(data.values())))
    if n_rows is None or n <= n_rows:
        return data
    rows = np.random.default_rng(cell.seed).permutation(n)[:n_rows]
    labels = None if data.labels is None else data.labels[rows]
    return Dataset({view: Y[rows] for view, Y in data.items()}, labels, name=data.name)


def measure_options(cell: Cell, options: Mapping[str, Any]) -> Measurement:
    """Fit with some options, and measure everything that is compared.

    Args:
        cell: data set, seed, and the number of dimensions as the setting "D".
        options: parameters of the estimator.
    """
    data = load_rows(cell)
    views = {name: np.asarray(Y, dtype=float) for name, Y in data.items()}
    order = np.random.default_rng(cell.seed + 1).permutation(len(next(iter(views.values()))))
    new, old = np.split(order, [len(order) // 5])
    steps = {"max_iter": QUICK_STEPS} if cell.is_quick else {}
    est = NGMVLVM(
        n_components=cell.settings["D"], device=cell.device, random_state=cell.seed, **{**options, **steps}
    )  # fmt: skip
    begin = time.perf_counter()
    est.fit({name: Y[old] for name, Y in views.items()})
    seconds = time.perf_counter() - begin
    n_entries = sum(int((~np.isnan(Y[old])).sum()) for Y in views.values())
    metrics: Metrics = {"bound": est.elbo_ / n_entries, "seconds": seconds, "steps": est.n_iter_}
    metrics |= latent_quality(est, data, old, cell.seed)
    metrics |= prediction_quality(est, views, old, new)
    return Measurement(metrics)


def latent_quality(est: NGMVLVM, data: Dataset, rows: Int[np.ndarray, " R"], seed: int) -> Metrics:
    """Return the five-fold 1-NN accuracy, or R^2 of the true latents by linear regression."""
    truth = data.truth.get("latents") if data.truth else None
    if truth is not None:
        return {"R^2": float(LinearRegression().fit(est.embedding_, truth[rows]).score(est.embedding_, truth[rows]))}
    if data.labels is None:
        return {}
    labels = data.labels[rows]
    known = labels >= 0
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    classifier = KNeighborsClassifier(1)
    return {"accuracy": float(cross_val_score(classifier, est.embedding_[known], labels[known], cv=folds).mean())}


def prediction_quality(
    est: NGMVLVM, views: Mapping[str, Any], old: Int[np.ndarray, " R"], new: Int[np.ndarray, " K"]
) -> Metrics:
    """Return RMSE and coverage of the views of new rows predicted from the others; columns are standardised."""
    errors, covered = [], []
    for target, Y in views.items():
        given = {name: other[new] for name, other in views.items() if name != target}
        mean, std = est.predict(given, target=target, return_std=True)
        units = ColumnUnits.of(Y[old])
        truth = units.apply(Y[new])
        observed = ~np.isnan(truth)
        if observed.any():
            predicted, width = units.apply(np.asarray(mean)), units.apply_to_std(np.asarray(std))
            errors.append(rmse(truth[observed], predicted[observed]))
            covered.append(coverage(truth, predicted, width, level=0.95))
    return {"RMSE": float(np.mean(errors)), "coverage error": float(np.abs(np.mean(covered) - 0.95))}


class Compared(NamedTuple):
    """A difference between two options on one data set."""

    data: str
    dimensions: int
    measure: CompareMeasure
    gain: Difference

    @property
    def is_worse(self) -> bool:
        """Whether it is a loss of at least two standard errors."""
        return self.gain.is_clear and self.gain.mean < 0

    @property
    def is_much_worse(self) -> bool:
        """Whether it is such a loss beyond the limit."""
        return self.is_worse and self.measure.limit is not None and -self.gain.mean > self.measure.limit


def compare(results: Results, method: str, reference: str, dimensions: Sequence[int]) -> list[Compared]:
    """Return the differences between two options for all data sets, dimensions and measures; gains are positive."""
    found = []
    for data in results.data:
        for D in dimensions:
            for measure in MEASURES:
                values = [results.by_seed(measure.metric, data, name, {"D": D}) for name in (method, reference)]
                gap = difference(*values)
                if gap is not None:
                    sign = measure.scale * (1 if measure.higher_is_better else -1)
                    gain = Difference(sign * gap.mean, measure.scale * gap.standard_error, gap.n_seeds)
                    found.append(Compared(data, D, measure, gain))
    return found
