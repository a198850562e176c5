"""Compressed wireless channels: how well users can be told apart by the latents, and channels rebuilt from them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from mvlvm.experiments.data import load_paper_data, note_on
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, OURS, estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import paper_accuracies
from mvlvm.experiments.shown import at_point, bars_of, lines_along, mean_squared_error, note_on_rows
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

_DATA, _PAPERS_D = "CHANNEL", 2
_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-NGPLVM", "PCA")
_CLASSIFIERS = (Measure("KNN", "KNN"), Measure("LR", "LR"), Measure("SVM", "SVM"))
_LATER = Measure("KNN later", "KNN, later rows")
_LOST = (
    Measure("power lost", "power lost, percent", higher_is_better=False),
    Measure("power lost later", "power lost, later rows, percent", higher_is_better=False),
)
_DIMENSIONS = {Effort.QUICK: (2, 10), Effort.FULL: (2, 5, 10, 15, 20)}
_LAST_SHARE = 0.2


def measure(cell: Cell) -> Measured:
    """Fit both parts, tell users apart by the latents, and rebuild both parts from them."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    views, labels = dict(data.views), data.labels
    assert labels is not None
    estimator = estimator_for(cell, cell.where("D"))
    latents = estimator.fit_transform(views)
    accuracies = paper_accuracies(latents, labels, [m.number for m in _CLASSIFIERS], seed=cell.seed)
    errors = _errors(views, estimator.reconstruct())
    later = {
        "KNN later": accuracy_on_later_rows(latents, labels),
        "power lost later": _errors_on_later_rows(cell, views, labels)["power lost"],
    }
    return Measured({**accuracies, **errors, **later, "rows": len(latents)})


def _later(labels: Int[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Say which rows are in the last fifth of their user's; rows are in time order."""
    place = np.array([(labels[:k] == label).sum() for k, label in enumerate(labels)])
    return place >= (1 - _LAST_SHARE) * np.bincount(labels)[labels]


def accuracy_on_later_rows(latents: Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"]) -> float:
    """Give the accuracy of 1-NN from the first four fifths of every user's rows, in time order, to the last fifth."""
    later = _later(labels)
    told = KNeighborsClassifier(1).fit(latents[~later], labels[~later]).predict(latents[later])
    return float((told == labels[later]).mean())


def _errors_on_later_rows(cell: Cell, views: Mapping[str, Any], labels: Int[np.ndarray, " N"]) -> dict[str, float]:
    """Fit the first four fifths of every user's rows, and rebuild the last fifth from the places that it is given."""
    later = _later(labels)
    old, new = ({name: Y[rows] for name, Y in views.items()} for rows in (~later, later))
    if cell.method == "PCA":
        model, columns = PCA(cell.where("D")).fit(np.hstack(list(old.values()))), np.hstack(list(new.values()))
        return _errors({"": columns}, {"": model.inverse_transform(model.transform(columns))})
    return _errors(new, estimator_for(cell, cell.where("D")).fit(old).predict(new))


def _errors(views: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> dict[str, float]:
    """Give the mean squared error of all entries, and its share of their mean square."""
    truth, found = (np.hstack([np.asarray(part[name]) for name in views]) for part in (views, rebuilt))
    error = mean_squared_error(truth, found)
    return {"MSE": error, "power lost": error / mean_squared_error(truth, np.zeros_like(truth))}


def write(found: Found) -> Page:
    """Give a table for every dimension, bars at the paper's default, and curves along the dimension."""
    measures = (*_CLASSIFIERS, _LATER, Measure("MSE", "MSE x 1000", 1000.0, 3, higher_is_better=False), *_LOST)
    tables = []
    for d in sorted(found.coordinates("D"), key=float):
        table = comparison(at_point(found, {"D": d}), _DATA, measures, title=f"{d} latent dimensions")
        tables.append(replace(table, name=f"channel-{d}"))
    return Page(tables, _figures(found), [*_NOTES, note_on_rows(found), note_on(found.data)])


def _figures(found: Found) -> dict[str, Any]:
    from mvlvm.plots import plot_bars, plot_curve_panels, plot_curves

    if not found.done:
        return {}
    accuracies, x = (*_CLASSIFIERS, _LATER), "latent dimensions"
    panels = {m.column: lines_along(found, m.number, _DATA, "D", times=m.times) for m in accuracies}
    figures = {
        "accuracy-by-dimension": plot_curve_panels(panels, x=x, y="accuracy, percent"),
        "mse": plot_curves(lines_along(found, "MSE", _DATA, "D"), x=x, y="mean squared error", log="y"),
    }
    bars = bars_of(at_point(found, {"D": _PAPERS_D}), accuracies, _DATA)
    if bars:
        figures = {"accuracy": plot_bars(bars, y="accuracy, percent", x=f"{_PAPERS_D} latent dimensions"), **figures}
    return figures


_NOTES = (
    """The real and the imaginary part are the two views. The user is the label and no view of its own, as in the
    paper's text ("a two-view dataset"): nothing of the classes is inside the latents. But a user's rows follow each
    other in time, 5 ms apart, and five-fold cross-validation puts neighbours in time into different folds. So 1-NN is
    also asked to tell the last fifth of every user's rows by the first four fifths ("later rows").""",
    """Every complex row has length one, so the mean square of an entry is 1/64; "power lost" is the mean squared error
    as a share of that. The paper does not say how it scaled its channels, so its errors may have another unit. Rows
    that are rebuilt are those of training; the paper does not speak of others. Nor does it name, in words, the latent
    dimensions of the figure: ours are its default of two, and more.""",
    """An exact Gaussian process (MV-NGPLVM) keeps all training rows to rebuild rows from, so that its error on them can
    be small whatever the latents hold. A channel that is to be sent is a new one: "power lost, later rows" is of a
    model of the first four fifths of every user's rows, which places the last fifth and rebuilds it from there.""",
)

EXPERIMENT = Experiment(
    name="channel",
    title="Compressed wireless channels",
    source="""Figure 4 of the paper: five-fold accuracy in percent of 1-NN, logistic regression and SVM on the latents,
    and the mean squared error of rebuilt channels.""",
    grids={effort: [Grid([_DATA], _METHODS, {"D": dimensions})] for effort, dimensions in _DIMENSIONS.items()},
    measure=measure,
    write=write,
)
