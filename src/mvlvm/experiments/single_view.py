"""The single-view table: fourteen methods on five data sets."""

from mvlvm.experiments.data import load_paper_data, note_on
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.figures import accuracy_bars
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, estimator_for, readable
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import paper_accuracies
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

_DATA = ("BRIDGES", "R-CIFAR", "R-MNIST", "NEWSGROUPS", "YALE")
_METHODS = (
    "PCA", "linear discriminant analysis", "latent Dirichlet allocation", "Isomap", "HPF", "BGPLVM", "GPLVM-SVI",
    "DGPLVM", "VAE", "NBVAE", "DCA", "CVQ-VAE", "RFLVM", "ARFLVM", "NG-MVLVM",
)  # fmt: skip
_MEASURES = (Measure("KNN", "KNN"),)


def measure(cell: Cell) -> Measured:
    """Fit the one view, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    assert data.labels is not None
    n_components = 2
    if cell.method == "linear discriminant analysis":
        n_components = min(2, len(set(data.labels.tolist())) - 1)
    estimator = estimator_for(cell, n_components)
    latents = estimator.fit_transform(readable(cell.method, dict(data.views)), data.labels)
    return Measured({**paper_accuracies(latents, data.labels, ["KNN"], seed=cell.seed), "rows": len(latents)})


def write(found: Found) -> Page:
    """Give one table for every data set."""
    notes = [
        """The paper describes "LDA" as discriminant analysis and cites latent Dirichlet allocation; its numbers stand
        beside both. Discriminant analysis sees the classes of all rows, so that its accuracy says nothing about new
        ones; two classes have one direction.""",
        note_on(found.data),
    ]
    tables = [comparison(found, data, _MEASURES, paper_table="single-view") for data in found.data]
    bars = accuracy_bars(found, _MEASURES[0], y="accuracy of 1-NN, %", paper_table="single-view")
    return Page(tables, {"accuracy": bars}, notes)


EXPERIMENT = Experiment(
    name="single-view",
    title="Single-view classification",
    source="The single-view table of the paper's appendix: five-fold accuracy of 1-NN in percent, two dimensions.",
    grids={effort: [Grid(_DATA, _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
)
