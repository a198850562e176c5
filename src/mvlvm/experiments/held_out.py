"""Every classification again, on rows whose classes the model has not seen."""

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
from mvlvm.experiments.aggregate import accuracy_bars, note_on_rows
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import load_paper_data, note_on
from mvlvm.experiments.paper_methods import (
    INITIALISATION_NOTE,
    MOST_ROWS,
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
# Those of the latent variable models that a view may have gaps in while they are fitted.
_WITH_CLASSES = tuple(f"{method}{_CLASSES}" for method in (OURS, "MV-ARFLVM", "MOFA"))
_MEASURES = (Measure("KNN", "accuracy"), Measure("predicted", "predicted by the model"))
_FOLDS = {Effort.QUICK: 2, Effort.FULL: 5}
# Some are fitted once for every fold: all are given no more rows than this.
_MOST_ROWS = 4000


def measure(cell: Cell) -> Measurement:
    """Classify every row by rows of other folds, the classes of its own fold missing while the model is fitted."""
    method = cell.method.removesuffix(_CLASSES)
    most_rows = min(_MOST_ROWS, MOST_ROWS.get(method, _MOST_ROWS))
    with_classes = method != cell.method
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=most_rows, label_view=with_classes)
    begin, n_folds = time.perf_counter(), _FOLDS[cell.effort]
    told = _raw(cell, data, n_folds) if method in _RAW else _latent(replace(cell, method=method), data, n_folds)
    return Measurement({**told, "seconds": time.perf_counter() - begin, "rows": len(_labels(data))})


def _latent(cell: Cell, data: Dataset, n_folds: int) -> dict[str, float]:
    def fit(views: dict[str, Any]) -> FittedLatents:
        estimator = estimator_initialised_by_bound(cell)
        return FittedLatents(
            estimator.fit_transform(compatible_views(cell.method, views)), lambda: estimator.reconstruct()
        )

    return held_out_accuracies(fit, dict(data.views), _labels(data), seed=cell.seed, n_folds=n_folds)


def _raw(cell: Cell, data: Dataset, n_folds: int) -> dict[str, float]:
    """Give the accuracy of a classifier on all columns of all views; neighbours see columns of a view in one unit."""
    columns = np.hstack([_of_unit_norm(np.asarray(Y, dtype=float)) for Y in data.views.values()])
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=cell.seed)
    model = KNeighborsClassifier(1) if cell.method == _RAW[0] else regression
    told = cross_val_predict(model, columns, _labels(data), cv=folds)
    return {"KNN": float(np.mean(told == _labels(data)))}


def _of_unit_norm(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    centred = Y - Y.mean(axis=0)
    return centred / np.linalg.norm(centred)


def _labels(data: Dataset) -> np.ndarray:
    assert data.labels is not None
    return data.labels


def write(found: ExperimentResults) -> Page:
    """Give one table for every data set, and who is the best latent variable model where."""
    bars = accuracy_bars(found, _MEASURES[0], y="held-out accuracy, %")
    tables = [comparison(found, data, _MEASURES) for data in found.data]
    alone = _standing(found, "all on data alone", [""])
    either = _standing(found, "each on data alone or with classes, whichever does better here", ["", _CLASSES])
    findings = [either, alone, _CHANCE if either else "", _worth_of_classes(found), note_on_rows(found)]
    return Page(tables, {"accuracy": bars}, [_NOTE, *findings, INITIALISATION_NOTE, note_on(found.data)])


_NOTE = f"""No method sees the class of a row that is to be told. Most see the data alone, one fit for all rows, and
classes only through the nearest neighbour among the latents of other folds: the same fits and judgement as in the
tables of one view and of MNIST-SVHN (here with fewer rows), MOVIES and CORA, with more methods beside. Those
"{_CLASSES.strip()}" have the classes as one more view, those of the fold's test rows missing, and are fitted anew for
every fold; they can also predict that view themselves. The last two rows are classifiers on all columns of all views,
the others have two dimensions."""


_CHANCE = "A lead of less than three of its standard errors (±) may be chance, and so may any of a single seed."


def _standing(found: ExperimentResults, what: str, forms: Sequence[str]) -> str:
    """Say on how many sets ours is the best latent variable model, how far before whom, and behind whom elsewhere.

    Args:
        found: the cells of the page.
        what: in which forms the models stand, in words.
        forms: what is added to their names.
    """
    leads = [lead for lead in (_lead(found, data, forms) for data in found.data) if lead is not None]
    if not leads:
        return ""
    best = [f"{lead.data} ({lead.form}{lead.points} before {lead.rival})" for lead in leads if lead.is_best]
    rest = [f"{lead.data} ({lead.form}{lead.points} behind {lead.rival})" for lead in leads if not lead.is_best]
    text = f"Of the latent variable models, {what}, {OURS} is the best on {len(best)} of {len(leads)} sets"
    text += f": {'; '.join(best)}." if best else "."
    return f"{text} Elsewhere it is level or behind: {'; '.join(rest)}." if rest else text


class _Lead(NamedTuple):
    """How ours stands on a set: in which form, beside the best of the others, whether it is better, and how far off."""

    data: str
    form: str
    rival: str
    is_best: bool
    points: str


def _lead(found: ExperimentResults, data: str, forms: Sequence[str]) -> _Lead | None:
    """Compare the best form of ours with the best of the others, over the seeds that every row with cells has."""
    rows = [f"{method}{form}" for method in _LATENT for form in forms]
    by_seed = _by_seed(found, data, {row: (row, "KNN") for row in rows})
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


def _by_seed(found: ExperimentResults, data: str, numbers: Mapping[str, tuple[str, str]]) -> dict[str, list[float]]:
    """Give numbers, name -> (method, number), by seed: of the seeds that all of those have that were run at all."""
    told = {
        name: {r.cell.seed: r.numbers[number] for r in found.select(data, method) if number in r.numbers}
        for name, (method, number) in numbers.items()
    }
    told = {name: seeds for name, seeds in told.items() if seeds}
    common = sorted(set.intersection(*map(set, told.values()))) if told else []
    return {name: [seeds[seed] for seed in common] for name, seeds in told.items()} if common else {}


def _worth_of_classes(found: ExperimentResults) -> str:
    """Say what the classes of other rows add to ours, by neighbours and by its own prediction."""
    with_classes, gains = f"{OURS}{_CLASSES}", []
    for data in found.data:
        wanted = {"alone": (OURS, "KNN"), "near": (with_classes, "KNN"), "own": (with_classes, "predicted")}
        told = _by_seed(found, data, wanted)
        if len(told) == len(wanted):
            near, own = (100 * float(np.mean(np.subtract(told[name], told["alone"]))) for name in ("near", "own"))
            gains.append(f"{data} {near:+.1f} and {own:+.1f}")
    text = f"Points that {OURS} gains over 1-NN on data alone by classes of other rows, by 1-NN and by its prediction:"
    return f"{text} {'; '.join(gains)}." if gains else ""


HELD_OUT = Experiment(
    name="held-out",
    title="Classes that the model has not seen",
    source="""Not in the paper, in whose multi-view table the classes of test rows are inside the latents: accuracy in
    percent of 1-NN from training to test rows in two latent dimensions.""",
    grids={effort: [Grid(_DATA, (*_LATENT, *_WITH_CLASSES, *_MAPS, *_RAW))] for effort in Effort},
    measure=measure,
    write=write,
    revision=2,
)
