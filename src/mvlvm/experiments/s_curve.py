"""The S-curve of the synthetic experiments: how much of it is drawn, and how near latents come to the truth.

Made data of two views: are the latents and the kernels found that made them?
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

# The paper gives neither rows nor columns of its synthetic views.
_ROWS = {Effort.QUICK: 200, Effort.FULL: 500}
N_COLUMNS = 100
_MOST_SHOWN = 125
R2 = Measure("R2", "R²", times=1.0, digits=3)


def draw_s_curve(cell: Cell, kernels: Any, *, n_columns: int = N_COLUMNS) -> Dataset:
    """Draw the views of a cell, by its seed; quick cells have fewer rows.

    Args:
        cell: its seed and effort.
        kernels: of the views, as `load("s-curve")` takes them.
        n_columns: of every view.
    """
    n_rows = _ROWS[cell.effort]
    return load("s-curve", kernels=kernels, n_samples=n_rows, n_features=n_columns, random_state=cell.seed)


def shown_rows(n_rows: int) -> Int[np.ndarray, " K"]:
    """Give rows evenly along the curve, as many as a small figure can show."""
    return np.linspace(0, n_rows - 1, min(n_rows, _MOST_SHOWN)).astype(int)


def aligned(data: Dataset, latents: Float[np.ndarray, "N D"]) -> dict[str, np.ndarray]:
    """Give what a figure shows of latents: the rows shown, moved onto the truth as far as an affine map can."""
    rows = shown_rows(len(latents))
    return {
        "latents": best_affine_map(data.truth["latents"], latents)[rows].astype(np.float32),
        "true latents": data.truth["latents"][rows].astype(np.float32),
        "angle": data.truth["angle"][rows].astype(np.float32),
    }


def latent_r2(data: Dataset, latents: Float[np.ndarray, "N D"]) -> dict[str, float]:
    """Give R² after the best affine map, by its name in cells."""
    return {R2.number: affine_r2(data.truth["latents"], latents)}


def note_on_seed(found: ExperimentResults) -> str:
    """Say which seed the figures of single fits are of."""
    return f"Latents are shown of the first seed, {_first_seed(found)}." if found.done else ""


def shown_of(found: ExperimentResults, data: str) -> dict[Cell, dict[str, np.ndarray]]:
    """Give what is kept for figures of a data set's cells of the first seed, in the order of methods and axes."""
    cells = [record.cell for record in found.select(data) if record.cell.seed == _first_seed(found)]
    cells.sort(key=lambda cell: (found.methods.index(cell.method), *(value for _, value in cell.at)))
    kept = {cell: found.arrays(cell) for cell in cells}
    return {cell: arrays for cell, arrays in kept.items() if arrays}


def latent_gallery(
    found: ExperimentResults, data: str, name: str, place: Callable[[Cell], tuple[str, str]]
) -> "dict[str, Figure]":  # fmt: skip
    """Draw the latents of the first seed with their R², and the truth beside them; empty if none are kept.

    Args:
        found: the results.
        data: the data set.
        name: of the figure.
        place: gives the row and the column of a cell.
    """
    kept, r2 = shown_of(found, data), {record.cell: record.numbers[R2.number] for record in found.select(data)}
    if not kept:
        return {}
    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    for cell, arrays in kept.items():
        row, column = place(cell)
        latents.setdefault(row, {})[column] = arrays["latents"]
        notes.setdefault(row, {})[column] = f"R² {r2[cell]:.3f}"
    truth = next(iter(kept.values()))
    latents = {row: {**of_row, "truth": truth["true latents"]} for row, of_row in latents.items()}
    label = "angle along the curve (rad)"
    return {name: plots.plot_latent_gallery(latents, truth["angle"], label=label, notes=notes)}


def _first_seed(found: ExperimentResults) -> int:
    return min(record.cell.seed for record in found.done)


if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KERNELS = {
    "RBF+RBF": {"view 1, RBF": "rbf", "view 2, RBF": "rbf"},
    "RBF+Gibbs": {"view 1, RBF": "rbf", "view 2, Gibbs": "gibbs"},
}
_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "PCA")
_VIEW_NUMBERS = (1, 2)
_KERNEL, _LEARNED, _TRUE = "kernel {}", "learned kernel {}", "true kernel {}"
_MEASURES = (R2, *(Measure(_KERNEL.format(v), f"kernel of view {v}", times=1.0, digits=3) for v in _VIEW_NUMBERS))
_TRUTH = "truth"


def measure(cell: Cell) -> Measurement:
    """Fit both views, and hold latents and kernel matrices against the truth."""
    data = draw_s_curve(cell, _KERNELS[cell.data])
    estimator = estimator_for(cell).fit(dict(data.views))
    numbers, arrays = latent_r2(data, estimator.embedding_), aligned(data, estimator.embedding_)
    shown = np.ix_(*2 * [shown_rows(len(estimator.embedding_))])
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
    """Give the true kernel matrix and the learned one, mean of ten draws, of models that have one."""
    learned = estimator.kernel_matrix(view) if isinstance(estimator, AbstractMultiViewLVM) else None
    return data.truth["kernels"][view], learned


def write(found: ExperimentResults) -> Page:
    """Give a table and a figure for each pair of kernels."""
    notes = [
        """Two views of an S are drawn from Gaussian processes, and latents and kernels are to be found again. R² is the
        share of the true latents' variance that the best affine map of the found ones explains. A kernel is judged by
        the correlation of the entries above the diagonal of the learned and the true matrix, the learned one a mean of
        ten draws. The paper has a figure and no numbers.""",
        """NG-MVLVM and MV-ARFLVM start from principal components, so PCA says where they come from. PCA and MV-DGPLVM
        have no kernel matrix here: PCA has no kernel, and the two layers of a deep process have one each, none of which
        is the covariance of a view given the latents. The paper draws for MV-DGPLVM the matrix of the layer whose
        latents are best, and says that it may mean little; here its latents are the means of q(X), and no layer is
        chosen.""",
        """The Gibbs kernel has the power D/2, without which it is no covariance (see errata.md). An NG-SM kernel has
        its largest variance at the origin, which can show as a bright spot in the middle of its matrices, where the
        true ones have none. The latent S is a curve: a fit that unrolls it into a line may explain the views as well
        and have a low R².""",
        note_on_seed(found),
    ]
    figures = {data.lower().replace("+", "-"): _figure(found, data) for data in found.data}
    tables = [comparison(found, data, _MEASURES) for data in found.data]
    return Page(tables, {name: figure for name, figure in figures.items() if figure is not None}, notes)


def _figure(found: ExperimentResults, data: str) -> "Figure | None":
    """Draw the truth and every method of the first seed."""
    records = {record.cell: record for record in found.select(data)}
    kept = {cell.method: (records[cell].numbers, arrays) for cell, arrays in shown_of(found, data).items()}
    if not kept:
        return None
    views = dict(zip(_VIEW_NUMBERS, _KERNELS[data], strict=True))
    _, truth = next(iter(kept.values()))
    latents = {_TRUTH: truth["true latents"], **{m: arrays["latents"] for m, (_, arrays) in kept.items()}}
    grams = {_TRUTH: {view: truth[_TRUE.format(v)] for v, view in views.items()}} | {
        method: {view: arrays[_LEARNED.format(v)] for v, view in views.items() if _LEARNED.format(v) in arrays}
        for method, (_, arrays) in kept.items()
    }
    correlations = {
        method: {view: numbers[_KERNEL.format(v)] for v, view in views.items() if _KERNEL.format(v) in numbers}
        for method, (numbers, _) in kept.items()
    }
    r2 = {method: numbers[R2.number] for method, (numbers, _) in kept.items()}
    return plots.plot_toy_comparison(latents, grams, position=truth["angle"], r2=r2, correlations=correlations)


TOY = Experiment(
    name="toy",
    title="Latents and kernels of made data",
    source="Figure 2 of the paper: two views of an S-shaped latent, and what is learned of both.",
    grids={effort: [Grid(list(_KERNELS), _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
)
