"""Compression of wireless channels: classification of users by the latents, and reconstruction of the channels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_data import data_note, load_paper_data
from benchmarks.paper.paper_methods import MAX_ROWS, OURS, estimator_for, mean_squared_error, paper_accuracies
from benchmarks.paper.paper_tables import bar_groups, comparison, lead_on, row_count_note, verdict_on_leads
from benchmarks.results import Results, points_of
from benchmarks.study import Claim, PageFigure, PagePart, Study, Verdict, cells_of_grids
from benchmarks.tables import Measure, curves_along

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DATA, _PAPERS_D = "CHANNEL", 2
_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-NGPLVM", "PCA")
_CLASSIFIERS = (Measure("KNN", "KNN"), Measure("LR", "LR"), Measure("SVM", "SVM"))
_KNN_LATER = Measure("KNN later", "KNN, later rows")
_ERROR = Measure("MSE", "MSE x 1000", 1000.0, 3, higher_is_better=False)
_POWER_LOST = Measure("power lost", "power lost, percent", higher_is_better=False)
_POWER_LOST_LATER = Measure("power lost later", "power lost, later rows, percent", higher_is_better=False)
_LAST_SHARE = 0.2


def measure(cell: Cell) -> Measurement:
    """Fit both parts, classify users by the latents, and reconstruct both parts."""
    data = load_paper_data(cell.data, seed=cell.seed, quick=cell.is_quick, max_rows=MAX_ROWS.get(cell.method))
    views, labels = dict(data.views), data.labels
    assert labels is not None
    estimator = estimator_for(cell, cell.settings["D"])
    latents = estimator.fit_transform(views)
    accuracies = paper_accuracies(latents, labels, [classifier.metric for classifier in _CLASSIFIERS], seed=cell.seed)
    errors = _errors(views, estimator.reconstruct())
    later = {
        "KNN later": accuracy_on_later_rows(latents, labels),
        "power lost later": _errors_on_later_rows(cell, views, labels)["power lost"],
    }
    return Measurement({**accuracies, **errors, **later, "rows": len(latents)})


def _later(labels: Int[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Return which rows are in the last fifth of the rows of their user; rows are in temporal order."""
    position = np.array([(labels[:k] == label).sum() for k, label in enumerate(labels)])
    return position >= (1 - _LAST_SHARE) * np.bincount(labels)[labels]


def accuracy_on_later_rows(latents: Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"]) -> float:
    """Return the 1-NN accuracy on the last fifth of the rows of every user, given the first four fifths."""
    later = _later(labels)
    predicted = KNeighborsClassifier(1).fit(latents[~later], labels[~later]).predict(latents[later])
    return float((predicted == labels[later]).mean())


def _errors_on_later_rows(cell: Cell, views: Mapping[str, Any], labels: Int[np.ndarray, " N"]) -> dict[str, float]:
    """Fit the first four fifths of the rows of every user, and return the reconstruction errors of the last fifth."""
    later = _later(labels)
    old, new = ({name: Y[rows] for name, Y in views.items()} for rows in (~later, later))
    if cell.method == "PCA":
        model, columns = PCA(cell.settings["D"]).fit(np.hstack(list(old.values()))), np.hstack(list(new.values()))
        return _errors({"": columns}, {"": model.inverse_transform(model.transform(columns))})
    return _errors(new, estimator_for(cell, cell.settings["D"]).fit(old).predict(new))


def _errors(views: Mapping[str, Any], reconstructed: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean squared error of all entries, and its ratio to their mean square."""
    truth, predicted = (np.hstack([np.asarray(part[name]) for name in views]) for part in (views, reconstructed))
    error = mean_squared_error(truth, predicted)
    return {"MSE": error, "power lost": error / mean_squared_error(truth, np.zeros_like(truth))}


def page(results: Results) -> list[PagePart]:
    """Return the page with a table for every dimension, bars at the paper's default, and curves."""
    measures = (*_CLASSIFIERS, _KNN_LATER, _ERROR, _POWER_LOST, _POWER_LOST_LATER)
    tables = [
        comparison(
            results.at({"D": d}), _DATA, measures, title=f"{d} latent dimensions", name=f"{results.study}-{d}"
        )
        for d in sorted(points_of(results, "D"))
    ]  # fmt: skip
    notes = [*_NOTES, row_count_note(results), data_note(results.data)]
    return ["## Protocol", *notes, "## Results", *_figures(results), *tables]


def _figures(results: Results) -> list[PageFigure]:
    accuracies, x = (*_CLASSIFIERS, _KNN_LATER), "latent dimensions"
    bars = bar_groups(results.at({"D": _PAPERS_D}), accuracies, _DATA)

    def draw_bars() -> "Figure":
        from mvlvm import plots

        return plots.plot_bars(bars, y="accuracy, %", x=f"{_PAPERS_D} latent dimensions")

    def draw_accuracies() -> "Figure":
        from mvlvm import plots

        panels = {m.column: curves_along(results, m.metric, _DATA, "D", scale=m.scale) for m in accuracies}
        return plots.plot_curve_panels(panels, x=x, y="accuracy, %", limits=(0.0, 100.0))

    def draw_errors() -> "Figure":
        from mvlvm import plots

        return plots.plot_curves(curves_along(results, "MSE", _DATA, "D"), x=x, y="mean squared error", log="y")

    figures = [
        PageFigure("accuracy", f"Accuracy of all classifiers, {_PAPERS_D} latent dimensions", draw_bars),
        PageFigure("accuracy-by-dimension", "Accuracy of all classifiers by latent dimension", draw_accuracies),
        PageFigure("mse", "Mean squared error of reconstructed channels by latent dimension", draw_errors),
    ]
    return (figures if bars else figures[1:]) if results.done else []


_NOTES = (
    """The real and the imaginary part are the two views. The user is the label and not a view, as in the paper's text
    ("a two-view dataset"): the labels do not influence the latents. But the rows of a user are consecutive in time, 5
    ms apart, and five-fold cross-validation puts neighbours in time into different folds. 1-NN is therefore also
    evaluated from the first four fifths of the rows of every user to the last fifth ("later rows").""",
    """Every complex row has unit norm, so the mean square of an entry is 1/64; "power lost" is the mean squared error
    relative to that. The paper does not specify the scaling of its channels, so its errors may have a different unit.
    Reconstructed rows are training rows; the paper does not mention others, nor does it state the latent dimensions of
    the figure: ours are its default of two, and more.""",
    """An exact Gaussian process (MV-NGPLVM) predicts from all training rows, so its error on them can be small whatever
    the latents represent. A channel to be transmitted is a new row: "power lost, later rows" is that of a model of the
    first four fifths of the rows of every user, which infers the latents of the last fifth and reconstructs it from
    them.""",
)


def _claim(statement: str, measure: Measure) -> Claim:
    """Return a claim that our model is better than every other method at the paper's latent dimension."""

    def judge(results: Results) -> Verdict | None:
        return verdict_on_leads({measure.column: lead_on(results, measure, _DATA, _METHODS[1:], {"D": _PAPERS_D})})

    return Claim(statement, judge)


def _accuracies_are_best(results: Results) -> Verdict | None:
    at = {"D": _PAPERS_D}
    return verdict_on_leads({m.column: lead_on(results, m, _DATA, _METHODS[1:], at) for m in _CLASSIFIERS})


def _grids(dimensions: tuple[int, ...]) -> list[Grid]:
    return [Grid([_DATA], _METHODS, {"D": dimensions})]


CHANNEL = Study(
    name="channel",
    title="Compressed wireless channels",
    what="""Figure 4 of the paper: five-fold accuracy in percent of 1-NN, logistic regression and SVM on the latents,
    and the mean squared error of reconstructed channels.""",
    group="paper",
    cells=cells_of_grids("channel", _grids((2, 5, 10, 15, 20)), quick=_grids((2, 10))),
    measure=measure,
    page=page,
    claims=[
        Claim(f"{OURS} has the highest accuracies by 1-NN, LR and SVM (two dimensions)", _accuracies_are_best),
        _claim(f"{OURS} has the lowest reconstruction error of training rows (two dimensions)", _ERROR),
        _claim(f"{OURS} loses the least power on later rows (two dimensions)", _POWER_LOST_LATER),
    ],
)
