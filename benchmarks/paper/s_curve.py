"""The S-curve of the synthetic studies, and the toy study.

The toy study fits two views of an S-curve drawn from Gaussian processes, and compares the learned latents and kernels
with the true ones.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_methods import OURS, estimator_for
from benchmarks.paper.paper_tables import comparison, lead_on, verdict_on_leads
from benchmarks.results import Results, seeds_of
from benchmarks.study import Claim, PageFigure, PagePart, Study, Verdict, cells_of_grids
from benchmarks.tables import Measure
from mvlvm.datasets import Dataset, load
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.evaluation import affine_r2, best_affine_map, gram_correlation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper states neither the number of rows nor of columns of its synthetic views.
_N_ROWS, _N_QUICK_ROWS = 500, 200
N_COLUMNS = 100
_MAX_DISPLAYED = 125
R2 = Measure("R2", "R²", scale=1.0, digits=3)


def draw_s_curve(cell: Cell, kernels: Any, *, n_columns: int = N_COLUMNS) -> Dataset:
    """Draw the views of a cell with its seed; quick cells have fewer rows.

    Args:
        cell: cell with seed and size.
        kernels: kernels of the views, as for `load("s-curve")`.
        n_columns: number of columns of every view.
    """
    n_rows = _N_QUICK_ROWS if cell.is_quick else _N_ROWS
    return load("s-curve", kernels=kernels, n_samples=n_rows, n_features=n_columns, random_state=cell.seed)


def displayed_rows(n_rows: int) -> Int[np.ndarray, " K"]:
    """Return at most 125 indices, evenly spaced along the curve."""
    return np.linspace(0, n_rows - 1, min(n_rows, _MAX_DISPLAYED)).astype(int)


def aligned_latents(data: Dataset, latents: Float[np.ndarray, "N D"]) -> dict[str, np.ndarray]:
    """Return the displayed rows of the latents, mapped onto the truth by the best affine map, and the truth."""
    rows = displayed_rows(len(latents))
    return {
        "latents": best_affine_map(data.truth["latents"], latents)[rows].astype(np.float32),
        "true latents": data.truth["latents"][rows].astype(np.float32),
        "angle": data.truth["angle"][rows].astype(np.float32),
    }


def latent_r2(data: Dataset, latents: Float[np.ndarray, "N D"]) -> dict[str, float]:
    """Return R² after the best affine map, by its name in cells."""
    return {R2.metric: affine_r2(data.truth["latents"], latents)}


def seed_note(results: Results) -> str:
    """Return a sentence with the seed of the displayed fits."""
    return f"Displayed latents are those of the first seed, {min(seeds_of(results))}." if results.done else ""


def first_seed_arrays(results: Results, data: str) -> dict[Cell, dict[str, np.ndarray]]:
    """Return the arrays of the cells of a data set with the first seed, ordered by method and settings."""
    cells = [record.cell for record in results.select(data) if record.cell.seed == min(seeds_of(results))]
    cells.sort(key=lambda cell: (results.methods.index(cell.method), *cell.coordinates.values()))
    return {cell: results.store.arrays(cell) for cell in cells}


def latent_gallery(
    results: Results, data: str, name: str, caption: str, place: Callable[[Cell], tuple[str, str]]
) -> PageFigure:  # fmt: skip
    """Return a figure of the latents of the first seed with their R², and of the truth.

    Args:
        results: results of the study.
        data: the data set.
        name: name of the figure.
        caption: alternative text.
        place: returns the row and the column of the panel of a cell.
    """

    def draw() -> "Figure":
        from mvlvm import plots

        saved = first_seed_arrays(results, data)
        r2 = {record.cell: record.metrics[R2.metric] for record in results.select(data)}
        latents: dict[str, dict[str, np.ndarray]] = {}
        notes: dict[str, dict[str, str]] = {}
        for cell, arrays in saved.items():
            row, column = place(cell)
            latents.setdefault(row, {})[column] = arrays["latents"]
            notes.setdefault(row, {})[column] = f"R² {r2[cell]:.3f}"
        truth = next(iter(saved.values()))
        latents = {row: {**of_row, "truth": truth["true latents"]} for row, of_row in latents.items()}
        return plots.plot_latent_gallery(latents, truth["angle"], label="angle along the curve (rad)", notes=notes)

    return PageFigure(name, caption, draw)


_KERNELS = {
    "RBF+RBF": {"view 1, RBF": "rbf", "view 2, RBF": "rbf"},
    "RBF+Gibbs": {"view 1, RBF": "rbf", "view 2, Gibbs": "gibbs"},
}
_STATIONARY = "MV-ARFLVM"
_METHODS = (OURS, _STATIONARY, "MV-DGPLVM", "PCA")
_VIEW_NUMBERS = (1, 2)
_KERNEL, _LEARNED, _TRUE = "kernel {}", "learned kernel {}", "true kernel {}"
_CORRELATIONS = tuple(Measure(_KERNEL.format(v), f"kernel of view {v}", scale=1.0, digits=3) for v in _VIEW_NUMBERS)
_TRUTH = "truth"


def measure(cell: Cell) -> Measurement:
    """Fit both views, and compare latents and kernel matrices with the truth."""
    data = draw_s_curve(cell, _KERNELS[cell.data])
    estimator = estimator_for(cell).fit(dict(data.views))
    metrics, arrays = latent_r2(data, estimator.embedding_), aligned_latents(data, estimator.embedding_)
    shown = np.ix_(*2 * [displayed_rows(len(estimator.embedding_))])
    for number, view in zip(_VIEW_NUMBERS, data.views, strict=True):
        true, learned = _kernels(data, estimator, view)
        arrays[_TRUE.format(number)] = true[shown].astype(np.float32)
        if learned is not None:
            metrics[_KERNEL.format(number)] = gram_correlation(true, learned)
            arrays[_LEARNED.format(number)] = learned[shown].astype(np.float32)
    return Measurement(metrics, arrays)


def _kernels(
    data: Dataset, estimator: Any, view: str
) -> tuple[Float[np.ndarray, "N N"], Float[np.ndarray, "N N"] | None]:
    """Return the true kernel matrix and the learned one, a mean of ten draws, or None for models without one."""
    learned = estimator.kernel_matrix(view) if isinstance(estimator, AbstractMultiViewLVM) else None
    return data.truth["kernels"][view], learned


def page(results: Results) -> list[PagePart]:
    """Return the page with a figure and a table for each pair of kernels."""
    parts: list[PagePart] = ["## Protocol", *_NOTES, seed_note(results), "## Results"]
    for data in results.data:
        caption = f"Latents and kernels learned by every method, and the truth, {data}"
        parts.append(PageFigure(data.lower().replace("+", "-"), caption, _figure(results, data)))
    return [*parts, *(comparison(results, data, (R2, *_CORRELATIONS)) for data in results.data)]


_NOTES = (
    """Two views of an S-curve are drawn from Gaussian processes; the task is to recover latents and kernels. R² is the
    share of the variance of the true latents explained by the best affine map of the learned ones. A kernel is
    evaluated by the correlation of the entries above the diagonal of the learned and the true matrix, where the learned
    matrix is a mean of ten draws. The paper has a figure without numbers.""",
    """NG-MVLVM and MV-ARFLVM are initialised by PCA, so PCA is their starting point. PCA and MV-DGPLVM have no kernel
    matrix here: PCA has no kernel, and the two layers of a deep process have one each, neither of which is the
    covariance of a view given the latents. For MV-DGPLVM the paper plots the matrix of the layer with the best latents,
    and notes that it may not be meaningful; here the latents are the means of q(X), and no layer is selected for its
    result.""",
    """The Gibbs kernel has the exponent D/2, without which it is not positive semi-definite (see
    [errata.md](../../errata.md)). An NG-SM kernel has its largest variance at the origin, which can appear as a bright
    spot in the middle of its matrices that the true ones lack. The latent S is a curve: a fit that unrolls it into a
    line may explain the views equally well and have a low R².""",
)


def _figure(results: Results, data: str) -> "Callable[[], Figure]":
    """Return a function that plots the truth and every method for the first seed."""

    def draw() -> "Figure":
        from mvlvm import plots

        records = {record.cell: record for record in results.select(data)}
        saved = {c.method: (records[c].metrics, arrays) for c, arrays in first_seed_arrays(results, data).items()}
        views = dict(zip(_VIEW_NUMBERS, _KERNELS[data], strict=True))
        _, truth = next(iter(saved.values()))
        latents = {_TRUTH: truth["true latents"], **{m: arrays["latents"] for m, (_, arrays) in saved.items()}}
        grams = {_TRUTH: {view: truth[_TRUE.format(v)] for v, view in views.items()}} | {
            method: {view: arrays[_LEARNED.format(v)] for v, view in views.items() if _LEARNED.format(v) in arrays}
            for method, (_, arrays) in saved.items()
        }
        correlations = {
            method: {view: metrics[_KERNEL.format(v)] for v, view in views.items() if _KERNEL.format(v) in metrics}
            for method, (metrics, _) in saved.items()
        }
        r2 = {method: metrics[R2.metric] for method, (metrics, _) in saved.items()}
        return plots.plot_toy_comparison(latents, grams, position=truth["angle"], r2=r2, correlations=correlations)

    return draw


def _kernels_are_better(results: Results) -> Verdict | None:
    return verdict_on_leads({
        f"{data}, {what.column}": lead_on(results, what, data, [_STATIONARY])
        for data in results.data for what in _CORRELATIONS
    })  # fmt: skip


def _gibbs_kernel_is_better(results: Results) -> Verdict | None:
    return verdict_on_leads({"Gibbs": lead_on(results, _CORRELATIONS[1], "RBF+Gibbs", [_STATIONARY])})


def _latents_are_better(results: Results) -> Verdict | None:
    return verdict_on_leads({data: lead_on(results, R2, data, _METHODS[1:]) for data in results.data})


TOY = Study(
    name="toy",
    title="Latents and kernels of synthetic data",
    what="Figure 2 of the paper: two views of an S-shaped latent, with learned latents and kernels.",
    group="paper",
    cells=cells_of_grids("toy", [Grid(list(_KERNELS), _METHODS)]),
    measure=measure,
    page=page,
    claims=[
        Claim(f"{OURS} recovers the non-stationary (Gibbs) kernel better than {_STATIONARY}", _gibbs_kernel_is_better),
        Claim(f"{OURS} recovers all four kernels better than {_STATIONARY}", _kernels_are_better),
        Claim(f"{OURS} recovers the latents better than every other method", _latents_are_better),
    ],
)
