"""The S-curve of the synthetic experiments, and the toy experiment.

The toy experiment fits two views of an S-curve drawn from Gaussian processes, and compares the learned latents and
kernels with the true ones.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm import plots
from mvlvm.datasets import Dataset, load
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.evaluation import affine_r2, best_affine_map, gram_correlation
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_methods import estimator_for
from mvlvm.experiments.result_tables import ExperimentResults, Measure, comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper states neither the number of rows nor of columns of its synthetic views.
_ROWS = {Effort.QUICK: 200, Effort.FULL: 500}
N_COLUMNS = 100
_MAX_DISPLAYED = 125
R2 = Measure("R2", "R²", scale=1.0, digits=3)


def draw_s_curve(cell: Cell, kernels: Any, *, n_columns: int = N_COLUMNS) -> Dataset:
    """Draw the views of a cell with its seed; quick cells have fewer rows.

    Args:
        cell: cell with seed and effort.
        kernels: kernels of the views, as for `load("s-curve")`.
        n_columns: number of columns of every view.
    """
    n_rows = _ROWS[cell.effort]
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
    return {R2.number: affine_r2(data.truth["latents"], latents)}


def seed_note(results: ExperimentResults) -> str:
    """Return a sentence with the seed of the displayed fits."""
    return f"Latents are those of the first seed, {_first_seed(results)}." if results.done else ""


def first_seed_arrays(results: ExperimentResults, data: str) -> dict[Cell, dict[str, np.ndarray]]:
    """Return the arrays of the cells of a data set with the first seed, ordered by method and axes."""
    cells = [record.cell for record in results.select(data) if record.cell.seed == _first_seed(results)]
    cells.sort(key=lambda cell: (results.methods.index(cell.method), *(value for _, value in cell.at)))
    saved = {cell: results.arrays(cell) for cell in cells}
    return {cell: arrays for cell, arrays in saved.items() if arrays}


def latent_gallery(
    results: ExperimentResults, data: str, name: str, place: Callable[[Cell], tuple[str, str]]
) -> "dict[str, Figure]":  # fmt: skip
    """Plot the latents of the first seed with their R² and the truth; empty without saved arrays.

    Args:
        results: results of the experiment.
        data: the data set.
        name: name of the figure.
        place: returns the row and the column of the panel of a cell.
    """
    saved, r2 = (
        first_seed_arrays(results, data),
        {record.cell: record.numbers[R2.number] for record in results.select(data)},
    )
    if not saved:
        return {}
    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    for cell, arrays in saved.items():
        row, column = place(cell)
        latents.setdefault(row, {})[column] = arrays["latents"]
        notes.setdefault(row, {})[column] = f"R² {r2[cell]:.3f}"
    truth = next(iter(saved.values()))
    latents = {row: {**of_row, "truth": truth["true latents"]} for row, of_row in latents.items()}
    label = "angle along the curve (rad)"
    return {name: plots.plot_latent_gallery(latents, truth["angle"], label=label, notes=notes)}


def _first_seed(results: ExperimentResults) -> int:
    return min(record.cell.seed for record in results.done)


if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KERNELS = {
    "RBF+RBF": {"view 1, RBF": "rbf", "view 2, RBF": "rbf"},
    "RBF+Gibbs": {"view 1, RBF": "rbf", "view 2, Gibbs": "gibbs"},
}
_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "PCA")
_VIEW_NUMBERS = (1, 2)
_KERNEL, _LEARNED, _TRUE = "kernel {}", "learned kernel {}", "true kernel {}"
_MEASURES = (R2, *(Measure(_KERNEL.format(v), f"kernel of view {v}", scale=1.0, digits=3) for v in _VIEW_NUMBERS))
_TRUTH = "truth"


def measure(cell: Cell) -> Measurement:
    """Fit both views, and compare latents and kernel matrices with the truth."""
    data = draw_s_curve(cell, _KERNELS[cell.data])
    estimator = estimator_for(cell).fit(dict(data.views))
    numbers, arrays = latent_r2(data, estimator.embedding_), aligned_latents(data, estimator.embedding_)
    shown = np.ix_(*2 * [displayed_rows(len(estimator.embedding_))])
    for number, view in zip(_VIEW_NUMBERS, data.views, strict=True):
        true, learned = _kernels(data, estimator, view)
        arrays[_TRUE.format(number)] = true[shown].astype(np.float32)
        if learned is not None:
            numbers[_KERNEL.format(number)] = gram_correlation(true, learned)
            arrays[_LEARNED.format(number)] = learned[shown].astype(np.float32)
    return Measurement(numbers, arrays)


def _kernels(
    data: Dataset, estimator: Any, view: str
) -> tuple[Float[np.ndarray, "N N"], Float[np.ndarray, "N N"] | None]:
    """Return the true kernel matrix and the learned one, a mean of ten draws, or None for models without one."""
    learned = estimator.kernel_matrix(view) if isinstance(estimator, AbstractMultiViewLVM) else None
    return data.truth["kernels"][view], learned


def write(results: ExperimentResults) -> Page:
    """Return the page with a table and a figure for each pair of kernels."""
    notes = [
        """Two views of an S-curve are drawn from Gaussian processes; the task is to recover latents and kernels. R² is
        the share of the variance of the true latents explained by the best affine map of the learned ones. A kernel is
        evaluated by the correlation of the entries above the diagonal of the learned and the true matrix, where the
        learned matrix is a mean of ten draws. The paper has a figure without numbers.""",
        """NG-MVLVM and MV-ARFLVM are initialised by PCA, so PCA is their starting point. PCA and MV-DGPLVM have no
        kernel matrix here: PCA has no kernel, and the two layers of a deep process have one each, neither of which is
        the covariance of a view given the latents. For MV-DGPLVM the paper plots the matrix of the layer with the best
        latents, and notes that it may not be meaningful; here the latents are the means of q(X), and no layer is
        selected for its result.""",
        """The Gibbs kernel has the exponent D/2, without which it is not positive semi-definite (see errata.md). An
        NG-SM kernel has its largest variance at the origin, which can appear as a bright spot in the middle of its
        matrices that the true ones lack. The latent S is a curve: a fit that unrolls it into a line may explain the
        views equally well and have a low R².""",
        seed_note(results),
    ]
    figures = {data.lower().replace("+", "-"): _figure(results, data) for data in results.data}
    tables = [comparison(results, data, _MEASURES) for data in results.data]
    return Page(tables, {name: figure for name, figure in figures.items() if figure is not None}, notes)


def _figure(results: ExperimentResults, data: str) -> "Figure | None":
    """Plot the truth and every method for the first seed."""
    records = {record.cell: record for record in results.select(data)}
    saved = {cell.method: (records[cell].numbers, arrays) for cell, arrays in first_seed_arrays(results, data).items()}
    if not saved:
        return None
    views = dict(zip(_VIEW_NUMBERS, _KERNELS[data], strict=True))
    _, truth = next(iter(saved.values()))
    latents = {_TRUTH: truth["true latents"], **{m: arrays["latents"] for m, (_, arrays) in saved.items()}}
    grams = {_TRUTH: {view: truth[_TRUE.format(v)] for v, view in views.items()}} | {
        method: {view: arrays[_LEARNED.format(v)] for v, view in views.items() if _LEARNED.format(v) in arrays}
        for method, (_, arrays) in saved.items()
    }
    correlations = {
        method: {view: numbers[_KERNEL.format(v)] for v, view in views.items() if _KERNEL.format(v) in numbers}
        for method, (numbers, _) in saved.items()
    }
    r2 = {method: numbers[R2.number] for method, (numbers, _) in saved.items()}
    return plots.plot_toy_comparison(latents, grams, position=truth["angle"], r2=r2, correlations=correlations)


TOY = Experiment(
    name="toy",
    title="Latents and kernels of synthetic data",
    source="Figure 2 of the paper: two views of an S-shaped latent, with learned latents and kernels.",
    grids={effort: [Grid(list(_KERNELS), _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
)
