"""What the classification tables of the paper have in common: latents, classified; one table for every data set.

The multi-view table: classes as a second view, and how well they can be read off the latents.

The single-view table: fourteen methods on five data sets.

Views that look at the same thing differently: digits twice, films by words and people, papers by words and links.

Pictures of two-dimensional latents, classes as a second view.
"""

from collections.abc import Sequence

import numpy as np

from mvlvm.datasets import Dataset
from mvlvm.experiments.aggregate import accuracy_bars, note_on_rows
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import draw_rows, load_paper_data, note_on, some_rows
from mvlvm.experiments.paper_methods import (
    INITIALISATION_NOTE,
    MOST_ROWS,
    OURS,
    compatible_views,
    estimator_initialised_by_bound,
    paper_accuracies,
)
from mvlvm.experiments.result_tables import ExperimentResults, Measure, comparison


def classify_latents(cell: Cell, data: Dataset, measures: Sequence[Measure], n_components: int = 2) -> Measurement:
    """Fit a cell's method to data, and classify the latents of all rows."""
    assert data.labels is not None
    estimator, views = estimator_initialised_by_bound(cell, n_components), compatible_views(cell.method, data.views)
    latents = estimator.fit_transform(views, data.labels)
    accuracies = paper_accuracies(latents, data.labels, [measure.number for measure in measures], seed=cell.seed)
    return Measurement({**accuracies, "rows": len(latents)})


def classification_page(found: ExperimentResults, measures: Sequence[Measure], note: str) -> Page:
    """Give a table for every data set beside the paper's of the same name, and bars of the first measure."""
    tables = [comparison(found, data, measures, paper_table=found.experiment) for data in found.data]
    bars = accuracy_bars(found, measures[0], y="accuracy of 1-NN, %", paper_table=found.experiment)
    return Page(tables, {"accuracy": bars}, [note, INITIALISATION_NOTE, note_on(found.data)])


_MULTI_VIEW_DATA = ("BRIDGES", "CIFAR", "MNIST", "NEWSGROUPS", "YALE")
_MULTI_VIEW_METHODS = (
    "NG-MVLVM",
    "MV-ARFLVM",
    "MV-DGPLVM",
    "MVAE",
    "MMVAE",
    "MV-NGPLVM",
    "MV-GPLVM",
    "MV-GPLVM-SVI",
    "MV-RFLVM",
)
_MULTI_VIEW_MEASURES = (Measure("KNN", "KNN"), Measure("SVM", "SVM"))


def measure_multi_view(cell: Cell) -> Measurement:
    """Fit data and classes together, and classify the latents."""
    data = load_paper_data(
        cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method), label_view=True
    )
    return classify_latents(cell, data, _MULTI_VIEW_MEASURES)


def write_multi_view(found: ExperimentResults) -> Page:
    """Give one table for every data set."""
    note = """Classes are a view of their own, so those of test rows are inside the latents: see the page on held-out
    classes for what that means."""
    return classification_page(found, _MULTI_VIEW_MEASURES, note)


MULTI_VIEW = Experiment(
    name="multi-view",
    title="Multi-view classification",
    source="Table 2 of the paper: five-fold accuracy in percent of 1-NN and SVM on two latent dimensions.",
    grids={effort: [Grid(_MULTI_VIEW_DATA, _MULTI_VIEW_METHODS)] for effort in Effort},
    measure=measure_multi_view,
    write=write_multi_view,
    revision=2,
    printed=dict.fromkeys(_MULTI_VIEW_DATA, _MULTI_VIEW_MEASURES),
)


_SINGLE_VIEW_DATA = ("BRIDGES", "R-CIFAR", "R-MNIST", "NEWSGROUPS", "YALE")
_SINGLE_VIEW_METHODS = (
    "PCA", "linear discriminant analysis", "latent Dirichlet allocation", "Isomap", "HPF", "BGPLVM", "GPLVM-SVI",
    "DGPLVM", "VAE", "NBVAE", "DCA", "CVQ-VAE", "RFLVM", "ARFLVM", "NG-MVLVM",
)  # fmt: skip
_SINGLE_VIEW_MEASURES = (Measure("KNN", "KNN"),)


def measure_single_view(cell: Cell) -> Measurement:
    """Fit the one view, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    assert data.labels is not None
    discriminant = cell.method == "linear discriminant analysis"  # two classes have one direction
    return classify_latents(
        cell, data, _SINGLE_VIEW_MEASURES, min(2, len(set(data.labels.tolist())) - 1) if discriminant else 2
    )


def write_single_view(found: ExperimentResults) -> Page:
    """Give one table for every data set."""
    note = """The paper describes "LDA" as discriminant analysis and cites latent Dirichlet allocation; its numbers
    stand beside both. Discriminant analysis sees the classes of all rows, so that its accuracy says nothing about new
    ones; two classes have one direction."""
    return classification_page(found, _SINGLE_VIEW_MEASURES, note)


SINGLE_VIEW = Experiment(
    name="single-view",
    title="Single-view classification",
    source="The single-view table of the paper's appendix: five-fold accuracy of 1-NN in percent, two dimensions.",
    grids={effort: [Grid(_SINGLE_VIEW_DATA, _SINGLE_VIEW_METHODS)] for effort in Effort},
    measure=measure_single_view,
    write=write_single_view,
    revision=2,
    printed=dict.fromkeys(_SINGLE_VIEW_DATA, _SINGLE_VIEW_MEASURES),
)


_CHALLENGING_DATA = ("MNIST-SVHN", "MOVIES", "CORA")
_CHALLENGING_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "MVAE")
_CHALLENGING_MEASURES = (Measure("KNN", "KNN"), Measure("NN", "NN"))


def measure_challenging(cell: Cell) -> Measurement:
    """Fit both views, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=MOST_ROWS.get(cell.method))
    return classify_latents(cell, data, _CHALLENGING_MEASURES)


def write_challenging(found: ExperimentResults) -> Page:
    """Give one table for every data set."""
    note = """Classes are no view here. The paper does not say how it scaled films and papers; ours have rows of unit
    length."""
    return classification_page(found, _CHALLENGING_MEASURES, note)


CHALLENGING = Experiment(
    name="challenging",
    title="MNIST-SVHN, MOVIES and CORA",
    source="""A table of the paper's appendix: five-fold accuracy in percent of 1-NN and a neural network on two latent
    dimensions.""",
    grids={effort: [Grid(_CHALLENGING_DATA, _CHALLENGING_METHODS)] for effort in Effort},
    measure=measure_challenging,
    write=write_challenging,
    revision=2,
    printed=dict.fromkeys(_CHALLENGING_DATA, _CHALLENGING_MEASURES),
)


_LATENTS_DATA = ("BRIDGES", "MNIST", "NEWSGROUPS")
_LATENTS_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-NGPLVM")
_N_SHOWN = 1000


def measure_latents(cell: Cell) -> Measurement:
    """Fit data and classes together, and keep some of the latents."""
    whole = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, label_view=True)
    assert whole.labels is not None
    seen = draw_rows(len(whole.labels), MOST_ROWS.get(cell.method), cell.seed)
    data = some_rows(whole, seen)
    assert data.labels is not None
    latents = estimator_initialised_by_bound(cell).fit_transform(dict(data.views))
    accuracy = paper_accuracies(latents, data.labels, ["KNN"], seed=cell.seed)
    # rows drawn for the figure are among those drawn for any method that sees as many or more
    shown = np.searchsorted(seen, draw_rows(len(whole.labels), _N_SHOWN, cell.seed))
    arrays = {"latents": latents[shown].astype(np.float32), "labels": data.labels[shown].astype(np.int16)}
    return Measurement({**accuracy, "rows": len(latents)}, arrays)


def write_latents(found: ExperimentResults) -> Page:
    """Give a gallery, methods by data sets."""
    from mvlvm.plots import plot_latent_gallery

    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    classes: dict[str, np.ndarray] = {}
    for method in found.methods:
        for data in found.data:
            records = found.select(data, method)
            arrays = found.arrays(records[0].cell) if records else {}
            if arrays:
                latents.setdefault(method, {})[data] = arrays["latents"]
                classes[data] = arrays["labels"]
                notes.setdefault(method, {})[data] = f"1-NN {100 * records[0].numbers['KNN']:.1f} %"
    figures = {"gallery": plot_latent_gallery(latents, classes, notes=notes)} if latents else {}
    return Page(figures=figures, notes=[_LATENTS_NOTE, note_on_rows(found), INITIALISATION_NOTE, note_on(found.data)])


_LATENTS_NOTE = f"""Classes are a view of their own, as in the multi-view table: that they lie apart shows that they fit into
the latents, not that they could be told of new rows. Every panel has a scale of its own. At most {_N_SHOWN:,} rows are
shown, the same for all methods; the accuracy below a panel is that of 1-NN on all rows that were fitted, by five-fold
cross-validation. Classes of BRIDGES are the weekend (0) and weekdays (1), those of MNIST the digits, those of
NEWSGROUPS alt.atheism (0), comp.sys.mac.hardware (1) and sci.med (2)."""

LATENTS = Experiment(
    name="latents",
    title="Latents of BRIDGES, MNIST and NEWSGROUPS",
    source="A figure of the paper's appendix: two-dimensional latents in the multi-view setting.",
    grids={effort: [Grid(_LATENTS_DATA, _LATENTS_METHODS)] for effort in Effort},
    measure=measure_latents,
    write=write_latents,
    revision=2,
    most_seeds=1,
)
