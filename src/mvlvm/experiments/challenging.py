"""Views that look at the same thing differently: digits twice, films by words and people, papers by words and links."""

from mvlvm.experiments.data import load_paper_data, note_on
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.figures import accuracy_bars
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import paper_accuracies
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

_DATA = ("MNIST-SVHN", "MOVIES", "CORA")
_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "MVAE")
_MEASURES = (Measure("KNN", "KNN"), Measure("NN", "NN"))


def measure(cell: Cell) -> Measured:
    """Fit both views, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    latents = estimator_for(cell).fit_transform(dict(data.views))
    assert data.labels is not None
    accuracies = paper_accuracies(latents, data.labels, [m.number for m in _MEASURES], seed=cell.seed)
    return Measured({**accuracies, "rows": len(latents)})


def write(found: Found) -> Page:
    """Give one table for every data set."""
    notes = [
        """Classes are no view here. The paper does not say how it scaled films and papers; ours have rows of unit
        length.""",
        note_on(found.data),
    ]
    tables = [comparison(found, data, _MEASURES, paper_table="challenging") for data in found.data]
    bars = accuracy_bars(found, _MEASURES[0], y="accuracy of 1-NN, %", paper_table="challenging")
    return Page(tables, {"accuracy": bars}, notes)


EXPERIMENT = Experiment(
    name="challenging",
    title="MNIST-SVHN, MOVIES and CORA",
    source="""A table of the paper's appendix: five-fold accuracy in percent of 1-NN and a neural network on two latent
    dimensions.""",
    grids={effort: [Grid(_DATA, _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
)
