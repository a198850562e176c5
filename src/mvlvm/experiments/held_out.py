"""Classification of rows whose labels are missing during fitting."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvlvm.datasets import Dataset
from mvlvm.experiments.aggregate import accuracy_bars, row_count_note
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import data_note, load_paper_data
from mvlvm.experiments.paper_methods import (
    INITIALISATION_NOTE,
    MAX_ROWS,
    OURS,
    FittedLatents,
    compatible_views,
    estimator_initialised_by_bound,
    held_out_accuracies,
)
from mvlvm.experiments.result_tables import ExperimentResults, Measure, comparison

_DATA = ("BRIDGES", "R-CIFAR", "R-MNIST", "NEWSGROUPS", "YALE", "MNIST-SVHN", "MOVIES", "CORA")
_RAW = ("1-NN on the data", "logistic regression on the data")
_LATENT = (OURS, "MV-ARFLVM", "MV-GPLVM-SVI", "MV-DGPLVM", "MVAE", "MMVAE", "MOFA", "PCA")
_MAPS = ("UMAP", "t-SNE")
_CLASSES = " with classes"
# Latent variable models that can be fitted to a view with missing rows.
_WITH_CLASSES = tuple(f"{method}{_CLASSES}" for method in (OURS, "MV-ARFLVM", "MOFA"))
_MEASURES = (Measure("KNN", "accuracy"), Measure("predicted", "predicted by the model"))
_FOLDS = {Effort.QUICK: 2, Effort.FULL: 5}
# Some methods are fitted once per fold, so the number of rows is limited for all methods.
_MAX_ROWS = 4000


def measure(cell: Cell) -> Measurement:
    """Classify every row by rows of other folds; the labels of its own fold are missing during fitting."""
    method = cell.method.removesuffix(_CLASSES)
    max_rows = min(_MAX_ROWS, MAX_ROWS.get(method, _MAX_ROWS))
    with_classes = method != cell.method
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, max_rows=max_rows, label_view=with_classes)
    begin, n_folds = time.perf_counter(), _FOLDS[cell.effort]
    accuracies = _raw(cell, data, n_folds) if method in _RAW else _latent(replace(cell, method=method), data, n_folds)
    return Measurement({**accuracies, "seconds": time.perf_counter() - begin, "rows": len(_labels(data))})


def _latent(cell: Cell, data: Dataset, n_folds: int) -> dict[str, float]:
    def fit(views: dict[str, Any]) -> FittedLatents:
        estimator = estimator_initialised_by_bound(cell)
        return FittedLatents(
            estimator.fit_transform(compatible_views(cell.method, views)), lambda: estimator.reconstruct()
        )

    return held_out_accuracies(fit, dict(data.views), _labels(data), seed=cell.seed, n_folds=n_folds)


def _raw(cell: Cell, data: Dataset, n_folds: int) -> dict[str, float]:
    """Return the accuracy of a classifier on the columns of all views, each centred and scaled to unit norm."""
    columns = np.hstack([_unit_norm(np.asarray(Y, dtype=float)) for Y in data.views.values()])
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=cell.seed)
    model = KNeighborsClassifier(1) if cell.method == _RAW[0] else regression
    predicted = cross_val_predict(model, columns, _labels(data), cv=folds)
    return {"KNN": float(np.mean(predicted == _labels(data)))}


def _unit_norm(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    centred = Y - Y.mean(axis=0)
    return centred / np.linalg.norm(centred)


def _labels(data: Dataset) -> np.ndarray:
    assert data.labels is not None
    return data.labels


def write(results: ExperimentResults) -> Page:
    """Return one table for every data set, and the ranking of our model among the latent variable models."""
    bars = accuracy_bars(results, _MEASURES[0], y="held-out accuracy, %")
    tables = [comparison(results, data, _MEASURES) for data in results.data]
    alone = _ranking(results, "all on the data only", [""])
    either = _ranking(results, "each on the data only or with classes, whichever is better", ["", _CLASSES])
    findings = [either, alone, _CHANCE if either else "", _gain_from_labels(results), row_count_note(results)]
    return Page(tables, {"accuracy": bars}, [_NOTE, *findings, INITIALISATION_NOTE, data_note(results.data)])


_NOTE = f"""No method sees the label of a test row. Most methods see the data only: one fit for all rows, classified by
the nearest neighbour among the latents of other folds. These are the fits and the evaluation of the single-view table
and of MNIST-SVHN (here with fewer rows), MOVIES and CORA, with additional methods. Methods "{_CLASSES.strip()}" have
the labels as an additional view, in which the test rows of the fold are missing, and are fitted once per fold; they can
also predict that view. The last two rows are classifiers on the columns of all views; all other methods have two
dimensions."""
_CHANCE = "A difference of less than three of its standard errors (±), or from a single seed, may be due to chance."


def _ranking(results: ExperimentResults, what: str, forms: Sequence[str]) -> str:
    """Return a sentence on how our model ranks among the latent variable models, by data set.

    Args:
        results: results of the experiment.
        what: description of the variants that are compared.
        forms: suffixes of the names of these variants.
    """
    leads = [lead for lead in (_lead(results, data, forms) for data in results.data) if lead is not None]
    if not leads:
        return ""
    best = [f"{lead.data} ({lead.form}{lead.points} ahead of {lead.rival})" for lead in leads if lead.is_best]
    rest = [f"{lead.data} ({lead.form}{lead.points} behind {lead.rival})" for lead in leads if not lead.is_best]
    text = f"Of the latent variable models, {what}, {OURS} is the best on {len(best)} of {len(leads)} data sets"
    text += f": {'; '.join(best)}." if best else "."
    return f"{text} Elsewhere it is tied or behind: {'; '.join(rest)}." if rest else text


class _Lead(NamedTuple):
    """Comparison of our best variant with the best rival on a data set."""

    data: str
    form: str
    rival: str
    is_best: bool
    points: str


def _lead(results: ExperimentResults, data: str, forms: Sequence[str]) -> _Lead | None:
    """Compare our best variant with the best rival, over the seeds that every compared method has."""
    rows = [f"{method}{form}" for method in _LATENT for form in forms]
    by_seed = _by_seed(results, data, {row: (row, "KNN") for row in rows})
    accuracies = {row: np.array(seeds) for row, seeds in by_seed.items()}
    ours = [row for row in accuracies if row.removesuffix(_CLASSES) == OURS]
    others = [row for row in accuracies if row not in ours]
    if not ours or not others:
        return None
    best, rival = (max(those, key=lambda row: float(accuracies[row].mean())) for those in (ours, others))
    lead = 100 * (accuracies[best] - accuracies[rival])
    error = f" ± {lead.std(ddof=1) / len(lead) ** 0.5:.1f}" if len(lead) > 1 else ""
    form = _CLASSES.lstrip() + " " if best.endswith(_CLASSES) else ""
    is_best = bool(accuracies[best].mean() > accuracies[rival].mean())
    return _Lead(data, form, rival, is_best, f"{abs(lead.mean()):.1f}{error} points")


def _by_seed(results: ExperimentResults, data: str, numbers: Mapping[str, tuple[str, str]]) -> dict[str, list[float]]:
    """Return numbers, name -> (method, number), over the seeds that all methods with results have in common."""
    values = {
        name: {r.cell.seed: r.numbers[number] for r in results.select(data, method) if number in r.numbers}
        for name, (method, number) in numbers.items()
    }
    values = {name: seeds for name, seeds in values.items() if seeds}
    common = sorted(set.intersection(*map(set, values.values()))) if values else []
    return {name: [seeds[seed] for seed in common] for name, seeds in values.items()} if common else {}


def _gain_from_labels(results: ExperimentResults) -> str:
    """Return a sentence on what the labels of training rows add, by 1-NN and by the model's prediction."""
    with_classes, gains = f"{OURS}{_CLASSES}", []
    for data in results.data:
        wanted = {"alone": (OURS, "KNN"), "near": (with_classes, "KNN"), "own": (with_classes, "predicted")}
        values = _by_seed(results, data, wanted)
        if len(values) == len(wanted):
            near, own = (100 * float(np.mean(np.subtract(values[name], values["alone"]))) for name in ("near", "own"))
            gains.append(f"{data} {near:+.1f} and {own:+.1f}")
    text = f"Points gained by {OURS} from training labels over 1-NN on the data only, by 1-NN and by its prediction:"
    return f"{text} {'; '.join(gains)}." if gains else ""


HELD_OUT = Experiment(
    name="held-out",
    title="Classification with held-out labels",
    source="""Not in the paper, in whose multi-view table the test labels influence the latents: accuracy in percent of
    1-NN from training to test rows in two latent dimensions.""",
    grids={effort: [Grid(_DATA, (*_LATENT, *_WITH_CLASSES, *_MAPS, *_RAW))] for effort in Effort},
    measure=measure,
    write=write,
    revision=2,
)
