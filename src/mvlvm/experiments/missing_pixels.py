"""Simple ways to fill gaps, as yardsticks: column means, the nearest rows, and principal components in rounds.

Images with hidden pixels: what a model fills in, and how sure it is of it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.impute import KNNImputer

from mvlvm.evaluation import coverage, log_density
from mvlvm.experiments.aggregate import (
    at_point,
    lines_along,
    mean_squared_error,
    note_on_rows,
    table_along,
    unit_pixels,
)
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import load_paper_data, note_on
from mvlvm.experiments.paper_methods import OURS, estimator_for
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable

_N_NEIGHBOURS = 10
_N_PCA_ITERATIONS = 50


def impute_column_means(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Fill gaps with the means of what is there in their columns; zero where nothing is.

    Example:
        >>> impute_column_means(np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 7.0]])).tolist()
        [[1.0, 5.0], [3.0, 6.0], [2.0, 7.0]]
    """
    there = ~np.isnan(Y)
    means = np.where(there, Y, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, Y, means)


def impute_neighbours(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Fill gaps with means over the ten nearest rows, by distances in what both rows have."""
    return KNNImputer(n_neighbors=_N_NEIGHBOURS, keep_empty_features=True).fit_transform(Y)


def impute_pca(Y: Float[np.ndarray, "N M"], n_components: int) -> Float[np.ndarray, "N M"]:
    """Fill gaps with column means, then fifty times with what the principal components of the filled data say."""
    filled, there = impute_column_means(Y), ~np.isnan(Y)
    for _ in range(0 if there.all() else _N_PCA_ITERATIONS):
        filled = np.where(there, Y, pca_reconstruction(filled, n_components))
    return filled


def pca_reconstruction(Y: Float[np.ndarray, "N M"], n_components: int) -> Float[np.ndarray, "N M"]:
    """Give data without gaps as their leading principal components say."""
    centre = Y.mean(axis=0)
    _, _, directions = np.linalg.svd(Y - centre, full_matrices=False)
    leading = directions[:n_components]
    return centre + (Y - centre) @ leading.T @ leading


_SHARE, _VIEW = "percent hidden", "image"
_DATA = ("R-MNIST", "BRENDAN")
_SHAPES = {"R-MNIST": (28, 28), "BRENDAN": (28, 20)}
_LEAVES_OUT = (OURS, "MV-ARFLVM")
_ZEROS, _COMPONENTS = "NG-MVLVM (gaps as zeros)", "principal components in rounds"
_MEANS, _NEIGHBOURS = "means of columns", "ten nearest rows"
_RMSE = Measure("RMSE", "RMSE", 1.0, 4, higher_is_better=False)
_BARS = (Measure("log density", "log density", 1.0, 3), Measure("coverage", "coverage of 95 % intervals, percent"))
_REBUILT = Measure("RMSE rebuilt", "RMSE of all pixels", 1.0, 4, higher_is_better=False)
_QUICK_ROWS, _QUICK_STEPS = 200, 100
_N_SHOWN = 8
_SHOWN_SHARES = (0, 20, 40, 60)


def measure(cell: Cell) -> Measurement:
    """Hide pixels, fill them in, and compare them with what was hidden."""
    quick = cell.effort is Effort.QUICK
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=_QUICK_ROWS if quick else None)
    Y = unit_pixels(data.views)[_VIEW].astype(np.float64)
    hidden = np.random.default_rng(cell.seed).random(Y.shape) < cell.where(_SHARE) / 100
    if cell.method in _LEAVES_OUT:
        return _left_out(cell, Y, hidden)
    filled = _filled(cell, Y, hidden)
    errors = {"RMSE": _rmse(Y, filled, hidden)} if hidden.any() else {"RMSE rebuilt": _rmse(Y, filled)}
    return Measurement({**errors, "rows": len(Y)})


def _left_out(cell: Cell, Y: Float[np.ndarray, "N M"], hidden: Bool[np.ndarray, "N M"]) -> Measurement:
    """Fit what is there, and fill in the rest with error bars."""
    with_gaps = np.where(hidden, np.nan, Y)
    estimator = _model(cell, cell.method).fit({_VIEW: with_gaps})
    rebuilt = np.asarray(estimator.reconstruct()[_VIEW])
    numbers, filled = {"RMSE rebuilt": _rmse(Y, rebuilt), "rows": float(len(Y))}, rebuilt
    if hidden.any():
        mean, std = (np.asarray(part[_VIEW]) for part in estimator.impute(return_std=True))
        truth, filled = np.where(hidden, Y, np.nan), mean
        numbers |= {"RMSE": _rmse(Y, mean, hidden), "log density": log_density(truth, mean, std),
                    "coverage": coverage(truth, mean, std, level=0.95)}  # fmt: skip
    if cell.method != OURS:
        return Measurement(numbers)
    rows = np.linspace(0, len(Y) - 1, _N_SHOWN).round().astype(int)
    images = {"original": Y, "with gaps": with_gaps, "filled in": filled}
    return Measurement(numbers, {name: image[rows].astype(np.float32) for name, image in images.items()})


def _filled(cell: Cell, Y: Float[np.ndarray, "N M"], hidden: Bool[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Fill gaps by other means; without gaps, rebuild all."""
    if cell.method == _ZEROS:
        return np.asarray(_model(cell, OURS).fit({_VIEW: np.where(hidden, 0.0, Y)}).reconstruct()[_VIEW])
    with_gaps = np.where(hidden, np.nan, Y)
    if cell.method == _COMPONENTS:
        filled = impute_pca(with_gaps, cell.where("D"))
        return pca_reconstruction(filled, cell.where("D"))
    return impute_column_means(with_gaps) if cell.method == _MEANS else impute_neighbours(with_gaps)


def _model(cell: Cell, method: str) -> Any:
    settings = {"max_iter": _QUICK_STEPS} if cell.effort is Effort.QUICK else {}
    return estimator_for(replace(cell, method=method), cell.where("D"), settings)


def _rmse(Y: Float[np.ndarray, "N M"], filled: Float[np.ndarray, "N M"], where: Any = slice(None)) -> float:
    return mean_squared_error(Y[where], filled[where]) ** 0.5


def write(found: ExperimentResults) -> Page:
    """Give errors and the worth of error bars along the share that is hidden, and images."""
    from mvlvm.plots import plot_curve_panels

    tables: list[ResultTable] = []
    panels = {}
    for data in found.data:
        for d in sorted(found.coordinates("D"), key=float):
            here = at_point(found, {"D": d})
            title = f"{data}, {d} latent dimensions"
            panels[title] = lines_along(here, "RMSE", data, _SHARE)
            for measure_ in (_RMSE, _REBUILT, *_BARS):
                words, mark = f"{title}: {_words(measure_)}", measure_.number != "coverage"  # more is not better
                table = table_along(here, measure_, data, _SHARE, title=words, mark_best=mark)
                tables.append(replace(table, name=f"{table.name}-{d}"))
    panels = {title: lines for title, lines in panels.items() if lines}
    x, y = "pixels hidden, percent", "RMSE of hidden pixels"
    curves = {"rmse": plot_curve_panels(panels, x=x, y=y)} if panels else {}
    shown = [table for table in tables if len(table.rows) > 1]
    return Page(shown, {**curves, **_images(found)}, [*_NOTES, note_on_rows(found), note_on(found.data)])


def _words(measure_: Measure) -> str:
    return "RMSE of hidden pixels" if measure_ is _RMSE else measure_.column


def _images(found: ExperimentResults) -> dict[str, Any]:
    """Give for every data set and dimension a figure of the first seed: originals, with gaps, and filled in."""
    from mvlvm.plots import plot_image_rows

    figures = {}
    for data in found.data:
        for d in sorted(found.coordinates("D"), key=float):
            rows: dict[str, Any] = {}
            for share in _SHOWN_SHARES:
                records = at_point(found, {"D": d, _SHARE: share}).select(data, OURS)
                arrays = found.arrays(records[0].cell) if records else {}
                images = {name: image.reshape(-1, *_SHAPES[data]) for name, image in arrays.items()}
                if not images:
                    continue
                rows.setdefault("original", images["original"])
                rows |= ({f"{share} % hidden": images["with gaps"], f"{share} %, filled in": images["filled in"]}
                         if share else {"nothing hidden, rebuilt": images["filled in"]})  # fmt: skip
            if rows:
                figures[f"{data.lower()}-{d}"] = plot_image_rows(rows, limits=(0.0, 1.0))
    return figures


_NOTES = (
    f"""Pixels are hidden at random, the same for all methods of a seed, and run from 0 to 1. The paper sets hidden
    pixels to zero, so that its model takes them for black ones; "{_ZEROS}" does the same with our model. Ours otherwise
    leaves hidden pixels out of the likelihood, and fills them in by `impute`. The paper shows images only, and does not
    say from how many latent dimensions: ours are its default of two, and ten.""",
    f"""The RMSE is that of hidden pixels, in the first figure and where nothing else is said. "RMSE of all pixels" is
    that of `reconstruct` against the whole images of training. Log densities, in nats per hidden pixel, and coverage
    leave out pixels that never vary. "{_COMPONENTS}": column means, then fifty times what the leading components
    say.""",
)

MISSING = Experiment(
    name="missing",
    title="Images with hidden pixels",
    source="Two figures of the paper's appendix: images of MNIST and BRENDAN with up to 60 % of their pixels missing.",
    grids={
        Effort.QUICK: [
            Grid(_DATA, (OURS, "MV-ARFLVM", _ZEROS, _COMPONENTS), {_SHARE: (0, 20, 60), "D": (2,)}),
            Grid(_DATA, (OURS, _COMPONENTS), {_SHARE: (0, 20, 60), "D": (10,)}),
            Grid(_DATA, (_MEANS, _NEIGHBOURS), {_SHARE: (20, 60)}),
        ],
        Effort.FULL: [
            Grid(_DATA, (OURS, "MV-ARFLVM", _ZEROS, _COMPONENTS), {_SHARE: tuple(range(0, 61, 10)), "D": (2, 10)}),
            Grid(_DATA, (_MEANS, _NEIGHBOURS), {_SHARE: tuple(range(10, 61, 10))}),
        ],
    },
    measure=measure,
    write=write,
)
