"""Made data of two views: are the latents and the kernels found that made them?"""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from mvlvm import plots
from mvlvm.datasets import Dataset
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.evaluation import gram_correlation
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.s_curve import R2, aligned, draw_s_curve, latent_r2, note_on_seed, shown_of, shown_rows
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

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


def measure(cell: Cell) -> Measured:
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
    return Measured(numbers, arrays)


def _kernels(
    data: Dataset, estimator: Any, view: str
) -> tuple[Float[np.ndarray, "N N"], Float[np.ndarray, "N N"] | None]:
    """Give the true kernel matrix and the learned one, mean of ten draws, of models that have one."""
    learned = estimator.kernel_matrix(view) if isinstance(estimator, AbstractMultiViewLVM) else None
    return data.truth["kernels"][view], learned


def write(found: Found) -> Page:
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


def _figure(found: Found, data: str) -> "Figure | None":
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


EXPERIMENT = Experiment(
    name="toy",
    title="Latents and kernels of made data",
    source="Figure 2 of the paper: two views of an S-shaped latent, and what is learned of both.",
    grids={effort: [Grid(list(_KERNELS), _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
)
