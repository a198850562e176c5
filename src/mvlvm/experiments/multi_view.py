"""The multi-view table: classes as a second view, and how well they can be read off the latents."""

from mvlvm.experiments.data import load_paper_data, note_on
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.figures import accuracy_bars
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import paper_accuracies
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

_DATA = ("BRIDGES", "CIFAR", "MNIST", "NEWSGROUPS", "YALE")
_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-NGPLVM", "MV-GPLVM", "MV-GPLVM-SVI", "MV-RFLVM")
_MEASURES = (Measure("KNN", "KNN"), Measure("SVM", "SVM"))


def measure(cell: Cell) -> Measured:
    """Fit data and classes together, and classify the latents."""
    data = load_paper_data(
        cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method), label_view=True
    )
    latents = estimator_for(cell).fit_transform(dict(data.views))
    assert data.labels is not None
    accuracies = paper_accuracies(latents, data.labels, [m.number for m in _MEASURES], seed=cell.seed)
    return Measured({**accuracies, "rows": len(latents)})


def write(found: Found) -> Page:
    """Give one table for every data set."""
    notes = [
        """Classes are a view of their own, so those of test rows are inside the latents: see the page on held-out
        classes for what that means.""",
        note_on(found.data),
    ]
    tables = [comparison(found, data, _MEASURES, paper_table="multi-view") for data in found.data]
    bars = accuracy_bars(found, _MEASURES[0], y="accuracy of 1-NN, %", paper_table="multi-view")
    return Page(tables, {"accuracy": bars}, notes)


EXPERIMENT = Experiment(
    name="multi-view",
    title="Multi-view classification",
    source="Table 2 of the paper: five-fold accuracy in percent of 1-NN and SVM on two latent dimensions.",
    grids={effort: [Grid(_DATA, _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
)
