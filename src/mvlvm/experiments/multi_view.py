"""The multi-view table: classes as a second view, and how well they can be read off the latents."""

from mvlvm.experiments.classifying import classification_page, classify_latents
from mvlvm.experiments.data import load_paper_data
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS
from mvlvm.experiments.pages import Page
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure

_DATA = ("BRIDGES", "CIFAR", "MNIST", "NEWSGROUPS", "YALE")
_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-NGPLVM", "MV-GPLVM", "MV-GPLVM-SVI", "MV-RFLVM")
_MEASURES = (Measure("KNN", "KNN"), Measure("SVM", "SVM"))


def measure(cell: Cell) -> Measured:
    """Fit data and classes together, and classify the latents."""
    data = load_paper_data(
        cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method), label_view=True
    )
    return classify_latents(cell, data, _MEASURES)


def write(found: Found) -> Page:
    """Give one table for every data set."""
    note = """Classes are a view of their own, so those of test rows are inside the latents: see the page on held-out
    classes for what that means."""
    return classification_page(found, _MEASURES, note)


EXPERIMENT = Experiment(
    name="multi-view",
    title="Multi-view classification",
    source="Table 2 of the paper: five-fold accuracy in percent of 1-NN and SVM on two latent dimensions.",
    grids={effort: [Grid(_DATA, _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
    revision=2,
    printed=dict.fromkeys(_DATA, _MEASURES),
)
