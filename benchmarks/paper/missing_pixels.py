"""Imputation of missing pixels: accuracy and calibration, compared with simple imputation methods.

The simple methods are column means, the nearest rows, and iterative PCA.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.impute import KNNImputer

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_data import data_note, load_paper_data, unit_pixels
from benchmarks.paper.paper_methods import OURS, estimator_for, mean_squared_error
from benchmarks.paper.paper_tables import Lead, first_seed, lead_on, row_count_note, verdict_on_leads
from benchmarks.results import Results, points_of
from benchmarks.study import NO, YES, Claim, PageFigure, PagePart, Study, Verdict, cells_of_grids
from benchmarks.tables import Measure, ResultTable, curves_along, table_along
from mvlvm.evaluation import coverage, log_density

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARE, _VIEW = "percent missing", "image"
_DATA = ("R-MNIST", "BRENDAN")
_SHAPES = {"R-MNIST": (28, 28), "BRENDAN": (28, 20)}
_MODELS_MISSING = (OURS, "MV-ARFLVM")
_ZEROS, _ITERATIVE_PCA = "NG-MVLVM (missing as zeros)", "iterative PCA"
_MEANS, _NEIGHBOURS = "column means", "ten nearest rows"
_RMSE = Measure("RMSE", "RMSE of missing pixels", 1.0, 4, higher_is_better=False)
_REBUILT = Measure("RMSE rebuilt", "RMSE of all pixels", 1.0, 4, higher_is_better=False)
_DENSITY = Measure("log density", "log density", 1.0, 3)
_COVERAGE = Measure("coverage", "coverage of 95 % intervals, percent")
_LEVEL, _LEAST_COVERAGE, _LARGEST_COVERAGE = 0.95, 0.90, 0.98
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
    max_rows = _QUICK_ROWS if cell.is_quick else None
    data = load_paper_data(cell.data, seed=cell.seed, quick=cell.is_quick, max_rows=max_rows)
    Y = unit_pixels(data.views)[_VIEW].astype(np.float64)
    missing = np.random.default_rng(cell.seed).random(Y.shape) < cell.settings[_SHARE] / 100
    if cell.method in _MODELS_MISSING:
        return _fit_observed(cell, Y, missing)
    imputed = _imputed(cell, Y, missing)
    errors = {_RMSE.metric: _rmse(Y, imputed, missing)} if missing.any() else {_REBUILT.metric: _rmse(Y, imputed)}
    return Measurement({**errors, "rows": len(Y)})


def _fit_observed(cell: Cell, Y: Float[np.ndarray, "N M"], missing: Bool[np.ndarray, "N M"]) -> Measurement:
    """Fit the observed pixels, and impute the missing pixels with standard deviations."""
    observed = np.where(missing, np.nan, Y)
    estimator = _model(cell, cell.method).fit({_VIEW: observed})
    reconstructed = np.asarray(estimator.reconstruct()[_VIEW])
    metrics, imputed = {_REBUILT.metric: _rmse(Y, reconstructed), "rows": float(len(Y))}, reconstructed
    if missing.any():
        mean, std = (np.asarray(part[_VIEW]) for part in estimator.impute(return_std=True))
        truth, imputed = np.where(missing, Y, np.nan), mean
        metrics |= {_RMSE.metric: _rmse(Y, mean, missing), _DENSITY.metric: log_density(truth, mean, std),
                    _COVERAGE.metric: coverage(truth, mean, std, level=_LEVEL)}  # fmt: skip
    if cell.method != OURS:
        return Measurement(metrics)
    rows = np.linspace(0, len(Y) - 1, _N_SHOWN).round().astype(int)
    images = {"original": Y, "observed": observed, "filled in": imputed}
    return Measurement(metrics, {name: image[rows].astype(np.float32) for name, image in images.items()})


def _imputed(cell: Cell, Y: Float[np.ndarray, "N M"], missing: Bool[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Impute missing pixels by a method other than ours; without missing pixels, reconstruct the images."""
    if cell.method == _ZEROS:
        return np.asarray(_model(cell, OURS).fit({_VIEW: np.where(missing, 0.0, Y)}).reconstruct()[_VIEW])
    observed = np.where(missing, np.nan, Y)
    if cell.method == _ITERATIVE_PCA:
        imputed = impute_pca(observed, cell.settings["D"])
        return pca_reconstruction(imputed, cell.settings["D"])
    return impute_column_means(observed) if cell.method == _MEANS else impute_neighbours(observed)


def _model(cell: Cell, method: str) -> Any:
    settings = {"max_iter": _QUICK_STEPS} if cell.is_quick else {}
    return estimator_for(replace(cell, method=method), cell.settings["D"], settings)


def _rmse(Y: Float[np.ndarray, "N M"], imputed: Float[np.ndarray, "N M"], where: Any = slice(None)) -> float:
    return mean_squared_error(Y[where], imputed[where]) ** 0.5


def page(results: Results) -> list[PagePart]:
    """Return the page with errors and calibration by the share of missing pixels, and images."""
    tables: list[ResultTable] = []
    images: list[PageFigure] = []
    for data in results.data:
        for d in sorted(points_of(results, "D")):
            here, title = results.at({"D": d}), f"{data}, {d} latent dimensions"
            images += _images(here, data, f"{data.lower()}-{d}", f"Original, observed and imputed images of {title}")
            for what in (_RMSE, _REBUILT, _DENSITY, _COVERAGE):
                heading, mark_best = f"{title}: {what.column}", what is not _COVERAGE  # higher coverage is not better
                table = table_along(here, what, data, _SHARE, title=heading, mark_best=mark_best)
                tables.append(replace(table, name=f"{table.name}-{d}"))
    caption = "RMSE of missing pixels by their share"
    has_curves = bool(points_of(results, "D")) and any(_RMSE.metric in record.metrics for record in results.done)
    curves = [PageFigure("rmse", caption, lambda: _curves(results))] if has_curves else []
    shown = [table for table in tables if len(table.rows) > 1]
    notes = [*_NOTES, row_count_note(results), data_note(results.data)]
    return ["## Protocol", *notes, "## Results", *curves, *images, *shown]


def _curves(results: Results) -> "Figure":
    from mvlvm.plots import plot_curve_panels

    panels = {
        f"{data}, {d} latent dimensions": curves_along(results.at({"D": d}), _RMSE.metric, data, _SHARE)
        for data in results.data
        for d in sorted(points_of(results, "D"))
    }
    panels = {title: lines for title, lines in panels.items() if lines}
    return plot_curve_panels(panels, x="missing pixels, %", y=_RMSE.column, log="y")


def _images(results: Results, data: str, name: str, caption: str) -> list[PageFigure]:
    """Return a figure of the first seed: original, observed and imputed images; empty without results."""
    first = {share: first_seed(results.select(data, OURS, {_SHARE: share})) for share in _SHOWN_SHARES}

    def draw() -> "Figure":
        from mvlvm.plots import plot_image_rows

        rows: dict[str, Any] = {}
        for share, record in ((share, record) for share, records in first.items() for record in records):
            arrays = results.store.arrays(record.cell)
            images = {array: image.reshape(-1, *_SHAPES[data]) for array, image in arrays.items()}
            rows.setdefault("original", images["original"])
            rows |= ({f"{share} % missing": images["observed"], f"{share} %, imputed": images["filled in"]}
                     if share else {"complete, reconstructed": images["filled in"]})  # fmt: skip
        return plot_image_rows(rows, limits=(0.0, 1.0))

    return [PageFigure(name, caption, draw)] if any(first.values()) else []


_NOTES = (
    f"""Pixels, with values between 0 and 1, are removed at random, the same for all methods of a seed. The paper sets
    missing pixels to zero, so its model treats them as black; "{_ZEROS}" does the same with our model. Otherwise our
    model excludes missing pixels from the likelihood and imputes them by `impute`. The paper shows images only, and
    does not state their latent dimension: ours are its default of two, and ten.""",
    f""""{_REBUILT.column}" is the error of `reconstruct` compared with the complete training images. Log densities, in
    nats per missing pixel, and coverage exclude constant pixels. "{_ITERATIVE_PCA}" starts from column means, followed
    by fifty reconstructions from the leading components.""",
)


def _ahead_of(statement: str, rival: str) -> Claim:
    """Return a claim that the error of missing pixels is below that of another method wherever pixels are missing."""

    def judge(results: Results) -> Verdict | None:
        leads: dict[str, Lead | None] = {}
        for data in results.data:
            for d in sorted(points_of(results, "D")):
                for share in (point for point in sorted(points_of(results, _SHARE)) if point):
                    at = {"D": d, _SHARE: share}
                    leads[f"{data}, D = {d}, {share} %"] = lead_on(results, _RMSE, data, [rival], at)
        return verdict_on_leads(leads)

    return Claim(statement, judge)


def _is_calibrated(results: Results) -> Verdict | None:
    """Check the coverage of every data set, latent dimension and share of missing pixels, each a mean over seeds."""
    values = [
        value.mean
        for data in results.data
        for d in points_of(results, "D")
        for share in points_of(results, _SHARE)
        if (value := results.mean_std(_COVERAGE.metric, data, OURS, {"D": d, _SHARE: share})) is not None
    ]
    if not values:
        return None
    text = f"{100 * min(values):.1f} % to {100 * max(values):.1f} % in {len(values)} settings"
    within = min(values) >= _LEAST_COVERAGE and max(values) <= _LARGEST_COVERAGE
    return Verdict(text, YES if within else NO)


MISSING = Study(
    name="missing",
    title="Imputation of missing pixels",
    what="Two figures of the paper's appendix: images of MNIST and BRENDAN with up to 60 % of their pixels missing.",
    group="paper",
    cells=cells_of_grids(
        "missing",
        [
            Grid(_DATA, (OURS, "MV-ARFLVM", _ZEROS, _ITERATIVE_PCA), {_SHARE: tuple(range(0, 61, 10)), "D": (2, 10)}),
            Grid(_DATA, (_MEANS, _NEIGHBOURS), {_SHARE: tuple(range(10, 61, 10))}),
        ],
        quick=[
            Grid(_DATA, (OURS, "MV-ARFLVM", _ZEROS, _ITERATIVE_PCA), {_SHARE: (0, 20, 60), "D": (2,)}),
            Grid(_DATA, (OURS, _ITERATIVE_PCA), {_SHARE: (0, 20, 60), "D": (10,)}),
            Grid(_DATA, (_MEANS, _NEIGHBOURS), {_SHARE: (20, 60)}),
        ],
    ),
    measure=measure,
    page=page,
    claims=[
        _ahead_of(f"The error of {OURS} is below that with missing pixels set to zero", _ZEROS),
        _ahead_of(f"The error of {OURS} is below that of iterative PCA", _ITERATIVE_PCA),
        _ahead_of(f"The error of {OURS} is below that of the mean of the {_NEIGHBOURS}", _NEIGHBOURS),
        Claim(
            f"{100 * _LEVEL:.0f} % intervals contain {100 * _LEAST_COVERAGE:.0f} % to "
            f"{100 * _LARGEST_COVERAGE:.0f} % of missing pixels",
            _is_calibrated,
        ),
    ],
)
