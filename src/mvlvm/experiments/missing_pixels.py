"""Imputation of missing pixels: accuracy and calibration, compared with simple imputation methods.

The simple methods are column means, the nearest rows, and iterative PCA.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.impute import KNNImputer

from mvlvm.evaluation import coverage, log_density
from mvlvm.experiments.aggregate import (
    at_point,
    curves_along,
    mean_squared_error,
    row_count_note,
    table_along,
    unit_pixels,
)
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import data_note, load_paper_data
from mvlvm.experiments.paper_methods import OURS, estimator_for
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable

# The name of the axis is part of stored cells.
_SHARE, _VIEW = "percent hidden", "image"
_DATA = ("R-MNIST", "BRENDAN")
_SHAPES = {"R-MNIST": (28, 28), "BRENDAN": (28, 20)}
_MODELS_MISSING = (OURS, "MV-ARFLVM")
_ZEROS, _ITERATIVE_PCA = "NG-MVLVM (missing as zeros)", "iterative PCA"
_MEANS, _NEIGHBOURS = "column means", "ten nearest rows"
_RMSE = Measure("RMSE", "RMSE", 1.0, 4, higher_is_better=False)
_BARS = (Measure("log density", "log density", 1.0, 3), Measure("coverage", "coverage of 95 % intervals, percent"))
_REBUILT = Measure("RMSE rebuilt", "RMSE of all pixels", 1.0, 4, higher_is_better=False)
_QUICK_ROWS, _QUICK_STEPS = 200, 100
_N_SHOWN = 8
_SHOWN_SHARES = (0, 20, 40, 60)
_N_NEIGHBOURS = 10
_N_PCA_ITERATIONS = 50


def impute_column_means(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Impute missing entries (NaN) by the mean of the observed entries of their column, or zero if there are none.

    Example:
        >>> impute_column_means(np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 7.0]])).tolist()
        [[1.0, 5.0], [3.0, 6.0], [2.0, 7.0]]
    """
    is_observed = ~np.isnan(Y)
    means = np.where(is_observed, Y, 0.0).sum(axis=0) / np.maximum(is_observed.sum(axis=0), 1)
    return np.where(is_observed, Y, means)


def impute_neighbours(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Impute missing entries by means over the ten nearest rows, by distances in commonly observed columns."""
    return KNNImputer(n_neighbors=_N_NEIGHBOURS, keep_empty_features=True).fit_transform(Y)


def impute_pca(Y: Float[np.ndarray, "N M"], n_components: int) -> Float[np.ndarray, "N M"]:
    """Impute missing entries by iterative PCA: column means, then fifty reconstructions from principal components."""
    imputed, is_observed = impute_column_means(Y), ~np.isnan(Y)
    for _ in range(0 if is_observed.all() else _N_PCA_ITERATIONS):
        imputed = np.where(is_observed, Y, pca_reconstruction(imputed, n_components))
    return imputed


def pca_reconstruction(Y: Float[np.ndarray, "N M"], n_components: int) -> Float[np.ndarray, "N M"]:
    """Return the reconstruction of complete data (N x M) from the leading principal components."""
    centre = Y.mean(axis=0)
    _, _, directions = np.linalg.svd(Y - centre, full_matrices=False)
    leading = directions[:n_components]
    return centre + (Y - centre) @ leading.T @ leading


def measure(cell: Cell) -> Measurement:
    """Remove pixels at random, impute them, and compare them with the true values."""
    quick = cell.effort is Effort.QUICK
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, max_rows=_QUICK_ROWS if quick else None)
    Y = unit_pixels(data.views)[_VIEW].astype(np.float64)
    missing = np.random.default_rng(cell.seed).random(Y.shape) < cell.coordinate(_SHARE) / 100
    if cell.method in _MODELS_MISSING:
        return _fit_observed(cell, Y, missing)
    imputed = _imputed(cell, Y, missing)
    errors = {"RMSE": _rmse(Y, imputed, missing)} if missing.any() else {"RMSE rebuilt": _rmse(Y, imputed)}
    return Measurement({**errors, "rows": len(Y)})


def _fit_observed(cell: Cell, Y: Float[np.ndarray, "N M"], missing: Bool[np.ndarray, "N M"]) -> Measurement:
    """Fit the observed pixels, and impute the missing pixels with standard deviations."""
    observed = np.where(missing, np.nan, Y)
    estimator = _model(cell, cell.method).fit({_VIEW: observed})
    rebuilt = np.asarray(estimator.reconstruct()[_VIEW])
    numbers, imputed = {"RMSE rebuilt": _rmse(Y, rebuilt), "rows": float(len(Y))}, rebuilt
    if missing.any():
        mean, std = (np.asarray(part[_VIEW]) for part in estimator.impute(return_std=True))
        truth, imputed = np.where(missing, Y, np.nan), mean
        numbers |= {"RMSE": _rmse(Y, mean, missing), "log density": log_density(truth, mean, std),
                    "coverage": coverage(truth, mean, std, level=0.95)}  # fmt: skip
    if cell.method != OURS:
        return Measurement(numbers)
    rows = np.linspace(0, len(Y) - 1, _N_SHOWN).round().astype(int)
    images = {"original": Y, "observed": observed, "filled in": imputed}
    return Measurement(numbers, {name: image[rows].astype(np.float32) for name, image in images.items()})


def _imputed(cell: Cell, Y: Float[np.ndarray, "N M"], missing: Bool[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Impute missing pixels by a method other than ours; without missing pixels, reconstruct the images."""
    if cell.method == _ZEROS:
        return np.asarray(_model(cell, OURS).fit({_VIEW: np.where(missing, 0.0, Y)}).reconstruct()[_VIEW])
    observed = np.where(missing, np.nan, Y)
    if cell.method == _ITERATIVE_PCA:
        imputed = impute_pca(observed, cell.coordinate("D"))
        return pca_reconstruction(imputed, cell.coordinate("D"))
    return impute_column_means(observed) if cell.method == _MEANS else impute_neighbours(observed)


def _model(cell: Cell, method: str) -> Any:
    settings = {"max_iter": _QUICK_STEPS} if cell.effort is Effort.QUICK else {}
    return estimator_for(replace(cell, method=method), cell.coordinate("D"), settings)


def _rmse(Y: Float[np.ndarray, "N M"], imputed: Float[np.ndarray, "N M"], where: Any = slice(None)) -> float:
    return mean_squared_error(Y[where], imputed[where]) ** 0.5


def write(results: ExperimentResults) -> Page:
    """Return the page with errors and calibration by the share of missing pixels, and images."""
    from mvlvm.plots import plot_curve_panels

    tables: list[ResultTable] = []
    panels = {}
    for data in results.data:
        for d in sorted(results.coordinates("D"), key=float):
            here = at_point(results, {"D": d})
            title = f"{data}, {d} latent dimensions"
            panels[title] = curves_along(here, "RMSE", data, _SHARE)
            for measure_ in (_RMSE, _REBUILT, *_BARS):
                mark_best = measure_.number != "coverage"  # higher coverage is not better
                heading = f"{title}: {_title(measure_)}"
                table = table_along(here, measure_, data, _SHARE, title=heading, mark_best=mark_best)
                tables.append(replace(table, name=f"{table.name}-{d}"))
    panels = {title: lines for title, lines in panels.items() if lines}
    x, y = "missing pixels, percent", "RMSE of missing pixels"
    curves = {"rmse": plot_curve_panels(panels, x=x, y=y)} if panels else {}
    shown = [table for table in tables if len(table.rows) > 1]
    return Page(shown, {**curves, **_images(results)}, [*_NOTES, row_count_note(results), data_note(results.data)])


def _title(measure_: Measure) -> str:
    return "RMSE of missing pixels" if measure_ is _RMSE else measure_.column


def _images(results: ExperimentResults) -> dict[str, Any]:
    """Return for every data set and dimension a figure of the first seed: original, observed and imputed images."""
    from mvlvm.plots import plot_image_rows

    figures = {}
    for data in results.data:
        for d in sorted(results.coordinates("D"), key=float):
            rows: dict[str, Any] = {}
            for share in _SHOWN_SHARES:
                records = at_point(results, {"D": d, _SHARE: share}).select(data, OURS)
                arrays = results.arrays(records[0].cell) if records else {}
                images = {name: image.reshape(-1, *_SHAPES[data]) for name, image in arrays.items()}
                if not images:
                    continue
                rows.setdefault("original", images["original"])
                rows |= ({f"{share} % missing": images["observed"], f"{share} %, imputed": images["filled in"]}
                         if share else {"complete, reconstructed": images["filled in"]})  # fmt: skip
            if rows:
                figures[f"{data.lower()}-{d}"] = plot_image_rows(rows, limits=(0.0, 1.0))
    return figures


_NOTES = (
    f"""Pixels, with values between 0 and 1, are removed at random, the same for all methods of a seed. The paper sets
    missing pixels to zero, so its model treats them as black; "{_ZEROS}" does the same with our model. Otherwise our
    model excludes missing pixels from the likelihood and imputes them by `impute`. The paper shows images only, and
    does not state their latent dimension: ours are its default of two, and ten.""",
    f"""Unless stated otherwise, and in the first figure, the RMSE is that of missing pixels. "RMSE of all pixels" is
    that of `reconstruct` against the complete training images. Log densities, in nats per missing pixel, and coverage
    exclude constant pixels. "{_ITERATIVE_PCA}" starts from column means, followed by fifty reconstructions from the
    leading components.""",
)

MISSING = Experiment(
    name="missing",
    title="Imputation of missing pixels",
    source="Two figures of the paper's appendix: images of MNIST and BRENDAN with up to 60 % of their pixels missing.",
    grids={
        Effort.QUICK: [
            Grid(_DATA, (OURS, "MV-ARFLVM", _ZEROS, _ITERATIVE_PCA), {_SHARE: (0, 20, 60), "D": (2,)}),
            Grid(_DATA, (OURS, _ITERATIVE_PCA), {_SHARE: (0, 20, 60), "D": (10,)}),
            Grid(_DATA, (_MEANS, _NEIGHBOURS), {_SHARE: (20, 60)}),
        ],
        Effort.FULL: [
            Grid(_DATA, (OURS, "MV-ARFLVM", _ZEROS, _ITERATIVE_PCA), {_SHARE: tuple(range(0, 61, 10)), "D": (2, 10)}),
            Grid(_DATA, (_MEANS, _NEIGHBOURS), {_SHARE: tuple(range(10, 61, 10))}),
        ],
    },
    measure=measure,
    write=write,
)
