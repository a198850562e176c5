"""The reconstruction table: the mean squared error of images rebuilt from their latents.

Digits turned by four angles, a view each: rebuilt from shared latents, and told apart by them.

Compressed wireless channels: how well users can be told apart by the latents, and channels rebuilt from them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from mvlvm.experiments.aggregate import (
    at_point,
    bars_of,
    lines_along,
    mean_squared_error,
    note_on_rows,
    table_along,
    unit_pixels,
)
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import load_paper_data, note_on
from mvlvm.experiments.paper_methods import MOST_ROWS, OURS, estimator_for, paper_accuracies
from mvlvm.experiments.result_tables import ExperimentResults, Measure, comparison, printed

_PAPERS_D, _PAPER_TABLE = 2, "reconstruction"
_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "PCA")
_MEANS, _ALIKE = "mean of every pixel", f"{OURS} (views weighed alike)"
_QUICK_ROWS = 200


def _error(view: str, column: str) -> Measure:
    return Measure(f"MSE {view}", column, times=1.0, digits=4, higher_is_better=False)


_MEASURES = {
    "MNIST": (_error("image", ""),),
    "CIFAR": (_error("image", ""),),
    "MNIST-SVHN": (_error("mnist", "(MNIST view)"), _error("svhn", "(SVHN view)")),
    "R-MNIST": (_error("image", ""),),
    "R-CIFAR": (_error("image", ""),),
}
_PAPERS, _SMALL = tuple(_MEASURES)[:3], tuple(_MEASURES)[3:]
_GRIDS = {
    Effort.QUICK: [
        Grid(_PAPERS, _METHODS, {"D": (_PAPERS_D,)}),
        Grid(_PAPERS, (OURS, "PCA"), {"D": (10,)}),
        Grid(("MNIST-SVHN",), (_ALIKE,), {"D": (_PAPERS_D,)}),
        Grid(_PAPERS, (_MEANS,)),
    ],
    Effort.FULL: [
        Grid(_PAPERS, _METHODS, {"D": (_PAPERS_D,)}),
        Grid(_PAPERS, (OURS, "MV-ARFLVM", "PCA"), {"D": (5, 10, 20)}),
        Grid(("MNIST-SVHN",), (_ALIKE,), {"D": (_PAPERS_D, 5, 10, 20)}),
        Grid(_SMALL, _METHODS, {"D": (_PAPERS_D,)}),
        Grid((*_PAPERS, *_SMALL), (_MEANS,)),
    ],
}


def measure_reconstruction(cell: Cell) -> Measurement:
    """Fit the images, and rebuild them."""
    most_rows = _QUICK_ROWS if cell.effort is Effort.QUICK else MOST_ROWS.get(cell.method)
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=most_rows)
    views = unit_pixels(data.views)
    if cell.method == _MEANS:
        rebuilt = {name: Y.mean(axis=0, dtype=np.float64) for name, Y in views.items()}
    else:
        rebuilt = _model(cell, views).fit(views).reconstruct()
    errors = {f"MSE {name}": mean_squared_error(Y, rebuilt[name]) for name, Y in views.items()}
    return Measurement({**errors, "rows": len(next(iter(views.values())))})


def _model(cell: Cell, views: Mapping[str, Float[np.ndarray, "N _"]]) -> Any:
    if cell.method != _ALIKE:
        return estimator_for(cell, cell.where("D"))
    fewest = min(Y.shape[1] for Y in views.values())
    weights = {name: fewest / Y.shape[1] for name, Y in views.items()}
    return estimator_for(replace(cell, method=OURS), cell.where("D"), {"view_weights": weights})


def write_reconstruction(found: ExperimentResults) -> Page:
    """Give the paper's table, and the errors along the latent dimension."""
    from mvlvm.plots import plot_curve_panels

    tables, panels, references = [], {}, {}
    for data in found.data:
        here, title = at_point(found, {"D": _PAPERS_D}), f"{data}, {_PAPERS_D} latent dimensions"
        table = comparison(here, data, _MEASURES[data], paper_table=_PAPER_TABLE, title=title)
        tables.append(replace(table, name=f"reconstruction-{data.lower()}"))
        for error in _MEASURES[data] if data in _PAPERS else ():  # others have one dimension
            title = f"{data} {error.column}".strip()
            tables.append(table_along(found, error, data, "D", title=f"{title}, by latent dimensions D"))
            panels[title] = lines_along(found, error.number, data, "D")
            theirs = printed(_PAPER_TABLE, OURS, title)
            references[title] = {} if theirs is None else {f"{OURS}, paper": theirs.mean}
    panels = {title: lines for title, lines in panels.items() if lines}
    x, y = "latent dimensions", "mean squared error"
    curves = plot_curve_panels(panels, x=x, y=y, log="y", references=references) if panels else None
    figures = {} if curves is None else {"by-dimension": curves}
    return Page(tables, figures, [*_NOTES, note_on_rows(found), note_on(found.data)])


_NOTES = (
    """The mean squared error of the training images, whose pixels run from 0 to 1; the paper's numbers suggest that
    unit. It does not say how many latent dimensions the table has, only that two are its default ("the latent space is
    set to 2D by default"), so the paper's numbers stand beside ours with two. The other tables show how the error falls
    with the dimension.""",
    """The error of training images also depends on how many there are: with Q = 2 and P = 50 every pixel has 200
    weights, which are many for 1,000 images and few for 70,000. So R-MNIST (1,000 images) and R-CIFAR (2,000) are
    there, too, in a full run; the paper does not say how many images its table has.""",
    f"""In MNIST-SVHN one view has 784 pixels and the other 3,072, so that the evidence of the second has more to say in
    the shared latents. "{_ALIKE}" gives the views weights (`view_weights`) that make up for it.""",
    f""""{_MEANS}" rebuilds every image as the mean image. A method above it does worse than to say nothing about an
    image; the numbers of a column can be read by this yardstick, the paper's included.""",
)

RECONSTRUCTION = Experiment(
    name="reconstruction",
    title="Images rebuilt from their latents",
    source="A table of the paper's appendix: mean squared error of images rebuilt from their latents.",
    grids=_GRIDS,
    measure=measure_reconstruction,
    write=write_reconstruction,
    printed={data: _MEASURES[data] for data in _PAPERS},
    printed_at={"D": _PAPERS_D},
)


_ROTATED_DATA = "MV-MNIST"
_ROTATED_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-NGPLVM", "PCA")
_ROTATED_KNN = Measure("KNN", "KNN")
_ROTATED_ERROR = Measure("MSE", "MSE", 1.0, 4, higher_is_better=False)
_N_SHOWN, _SHAPE = 10, (28, 28)
_ROTATED_GRIDS = {
    Effort.QUICK: [Grid([_ROTATED_DATA], _ROTATED_METHODS, {"D": (2,)}), Grid([_ROTATED_DATA], (OURS,), {"D": (10,)})],
    Effort.FULL: [Grid([_ROTATED_DATA], _ROTATED_METHODS, {"D": (2, 10)})],
}


def measure_rotated(cell: Cell) -> Measurement:
    """Fit the four views, classify the latents, and rebuild the views from them."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    views = unit_pixels(data.views)
    assert data.labels is not None
    estimator = estimator_for(cell, cell.where("D"))
    latents = estimator.fit_transform(views)
    rebuilt = estimator.reconstruct()
    errors = {f"MSE {name}": mean_squared_error(Y, rebuilt[name]) for name, Y in views.items()}
    accuracy = paper_accuracies(latents, data.labels, ["KNN"], seed=cell.seed)
    numbers = {**accuracy, **errors, "MSE": float(np.mean(list(errors.values()))), "rows": len(latents)}
    rows = _one_of_each_class(data.labels)
    return Measurement(numbers, {**_some("original", views, rows), **_some("rebuilt", rebuilt, rows)})


def _one_of_each_class(labels: np.ndarray) -> np.ndarray:
    return np.array([np.flatnonzero(labels == k)[0] for k in np.unique(labels)][:_N_SHOWN])


def _some(prefix: str, views: Mapping[str, Any], rows: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{prefix} {name}": np.asarray(Y)[rows].astype(np.float32) for name, Y in views.items()}


def write_rotated(found: ExperimentResults) -> Page:
    """Give accuracies and errors, and images of every view beside what was rebuilt."""
    from mvlvm.plots import plot_bars

    tables, groups = [], {}
    for d in sorted(found.coordinates("D"), key=float):
        here = at_point(found, {"D": d})
        table = comparison(here, _ROTATED_DATA, (_ROTATED_KNN, _ROTATED_ERROR), title=f"{d} latent dimensions")
        tables.append(replace(table, name=f"rotated-{d}"))
        for method, row in bars_of(here, (_ROTATED_KNN,), _ROTATED_DATA).items():
            groups.setdefault(method, {})[f"{d} latent dimensions"] = row["KNN"]
    bars = {"knn": plot_bars(groups, y="accuracy of 1-NN, percent")} if groups else {}
    return Page(tables, {**bars, **_rotated_images(found)}, [_ROTATED_NOTE, note_on_rows(found), note_on(found.data)])


def _rotated_images(found: ExperimentResults) -> dict[str, Any]:
    """Give for our method and every dimension a figure of the first seed: every view above what was rebuilt of it."""
    from mvlvm.plots import plot_image_rows

    figures = {}
    for d in sorted(found.coordinates("D"), key=float):
        records = at_point(found, {"D": d}).select(method=OURS)
        arrays = found.arrays(records[0].cell) if records else {}
        views = [name.removeprefix("original ") for name in arrays if name.startswith("original ")]
        rows = {f"{view}{'' if what == 'original' else ', rebuilt'}": arrays[f"{what} {view}"].reshape(-1, *_SHAPE)
                for view in views for what in ("original", "rebuilt")}  # fmt: skip
        if rows:
            figures[f"images-{d}"] = plot_image_rows(rows, limits=(0.0, 1.0))
    return figures


_ROTATED_NOTE = """The digits are no view: accuracies are those of 1-NN by five-fold cross-validation on the latents of all
rows. The mean squared error is that of all pixels of the four views, which run from 0 to 1. Images are of the first
seed, the first of each class. The paper's default of two latent dimensions stands beside ten, since it does not say how
many its images were rebuilt from. An exact Gaussian process (MV-NGPLVM) keeps all training rows to rebuild rows from,
so that its error on them can be small whatever the latents hold."""

ROTATED = Experiment(
    name="rotated",
    title="Four-view rotated MNIST",
    source="""A figure of the paper's appendix: five-fold accuracy in percent of 1-NN, and images rebuilt from shared
    latents.""",
    grids=_ROTATED_GRIDS,
    measure=measure_rotated,
    write=write_rotated,
)


_CHANNEL_DATA, _CHANNEL_D = "CHANNEL", 2
_CHANNEL_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-NGPLVM", "PCA")
_CLASSIFIERS = (Measure("KNN", "KNN"), Measure("LR", "LR"), Measure("SVM", "SVM"))
_KNN_LATER = Measure("KNN later", "KNN, later rows")
_POWER_LOST = (
    Measure("power lost", "power lost, percent", higher_is_better=False),
    Measure("power lost later", "power lost, later rows, percent", higher_is_better=False),
)
_CHANNEL_DIMENSIONS = {Effort.QUICK: (2, 10), Effort.FULL: (2, 5, 10, 15, 20)}
_LAST_SHARE = 0.2


def measure_channel(cell: Cell) -> Measurement:
    """Fit both parts, tell users apart by the latents, and rebuild both parts from them."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    views, labels = dict(data.views), data.labels
    assert labels is not None
    estimator = estimator_for(cell, cell.where("D"))
    latents = estimator.fit_transform(views)
    accuracies = paper_accuracies(latents, labels, [m.number for m in _CLASSIFIERS], seed=cell.seed)
    errors = _channel_errors(views, estimator.reconstruct())
    later = {
        "KNN later": accuracy_on_later_rows(latents, labels),
        "power lost later": _errors_on_later_rows(cell, views, labels)["power lost"],
    }
    return Measurement({**accuracies, **errors, **later, "rows": len(latents)})


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
        return _channel_errors({"": columns}, {"": model.inverse_transform(model.transform(columns))})
    return _channel_errors(new, estimator_for(cell, cell.where("D")).fit(old).predict(new))


def _channel_errors(views: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> dict[str, float]:
    """Give the mean squared error of all entries, and its share of their mean square."""
    truth, found = (np.hstack([np.asarray(part[name]) for name in views]) for part in (views, rebuilt))
    error = mean_squared_error(truth, found)
    return {"MSE": error, "power lost": error / mean_squared_error(truth, np.zeros_like(truth))}


def write_channel(found: ExperimentResults) -> Page:
    """Give a table for every dimension, bars at the paper's default, and curves along the dimension."""
    measures = (
        *_CLASSIFIERS,
        _KNN_LATER,
        Measure("MSE", "MSE x 1000", 1000.0, 3, higher_is_better=False),
        *_POWER_LOST,
    )
    tables = []
    for d in sorted(found.coordinates("D"), key=float):
        table = comparison(at_point(found, {"D": d}), _CHANNEL_DATA, measures, title=f"{d} latent dimensions")
        tables.append(replace(table, name=f"channel-{d}"))
    return Page(tables, _channel_figures(found), [*_CHANNEL_NOTES, note_on_rows(found), note_on(found.data)])


def _channel_figures(found: ExperimentResults) -> dict[str, Any]:
    from mvlvm.plots import plot_bars, plot_curve_panels, plot_curves

    if not found.done:
        return {}
    accuracies, x = (*_CLASSIFIERS, _KNN_LATER), "latent dimensions"
    panels = {m.column: lines_along(found, m.number, _CHANNEL_DATA, "D", times=m.times) for m in accuracies}
    figures = {
        "accuracy-by-dimension": plot_curve_panels(panels, x=x, y="accuracy, percent"),
        "mse": plot_curves(lines_along(found, "MSE", _CHANNEL_DATA, "D"), x=x, y="mean squared error", log="y"),
    }
    bars = bars_of(at_point(found, {"D": _CHANNEL_D}), accuracies, _CHANNEL_DATA)
    if bars:
        figures = {"accuracy": plot_bars(bars, y="accuracy, percent", x=f"{_CHANNEL_D} latent dimensions"), **figures}
    return figures


_CHANNEL_NOTES = (
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

CHANNEL = Experiment(
    name="channel",
    title="Compressed wireless channels",
    source="""Figure 4 of the paper: five-fold accuracy in percent of 1-NN, logistic regression and SVM on the latents,
    and the mean squared error of rebuilt channels.""",
    grids={
        effort: [Grid([_CHANNEL_DATA], _CHANNEL_METHODS, {"D": dimensions})]
        for effort, dimensions in _CHANNEL_DIMENSIONS.items()
    },
    measure=measure_channel,
    write=write_channel,
)
