"""What the classification tables of the paper have in common: latents, classified; one table for every data set."""

from collections.abc import Sequence

from mvlvm.datasets import Dataset
from mvlvm.experiments.data import note_on
from mvlvm.experiments.figures import accuracy_bars
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import START_NOTE, estimator_started_by_bound, readable
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import paper_accuracies
from mvlvm.experiments.spec import Cell, Measured
from mvlvm.experiments.tables import Measure, comparison


def classify_latents(cell: Cell, data: Dataset, measures: Sequence[Measure], n_components: int = 2) -> Measured:
    """Fit a cell's method to data, and classify the latents of all rows."""
    assert data.labels is not None
    estimator, views = estimator_started_by_bound(cell, n_components), readable(cell.method, data.views)
    latents = estimator.fit_transform(views, data.labels)
    accuracies = paper_accuracies(latents, data.labels, [measure.number for measure in measures], seed=cell.seed)
    return Measured({**accuracies, "rows": len(latents)})


def classification_page(found: Found, measures: Sequence[Measure], note: str) -> Page:
    """Give a table for every data set beside the paper's of the same name, and bars of the first measure."""
    tables = [comparison(found, data, measures, paper_table=found.experiment) for data in found.data]
    bars = accuracy_bars(found, measures[0], y="accuracy of 1-NN, %", paper_table=found.experiment)
    return Page(tables, {"accuracy": bars}, [note, START_NOTE, note_on(found.data)])
