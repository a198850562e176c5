"""The classification experiments of the paper.

Every experiment fits the methods of a table and classifies their latents: the multi-view table (labels as a second
view), the single-view table (fourteen methods on five data sets), the table of MNIST-SVHN, MOVIES and CORA (two
heterogeneous views), and the gallery of two-dimensional latents.
"""

from collections.abc import Sequence

import numpy as np

from mvlvm.datasets import Dataset
from mvlvm.experiments.aggregate import accuracy_bars, row_count_note
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import data_note, load_paper_data, sample_rows, select_rows
from mvlvm.experiments.paper_methods import (
    INITIALISATION_NOTE,
    MAX_ROWS,
    OURS,
    compatible_views,
    estimator_initialised_by_bound,
    paper_accuracies,
)
from mvlvm.experiments.result_tables import ExperimentResults, Measure, comparison


def classify_latents(cell: Cell, data: Dataset, measures: Sequence[Measure], n_components: int = 2) -> Measurement:
    """Fit the method of a cell, and classify the latents of all rows."""
    assert data.labels is not None
    estimator, views = estimator_initialised_by_bound(cell, n_components), compatible_views(cell.method, data.views)
    latents = estimator.fit_transform(views, data.labels)
    accuracies = paper_accuracies(latents, data.labels, [measure.number for measure in measures], seed=cell.seed)
    return Measurement({**accuracies, "rows": len(latents)})


def classification_page(results: ExperimentResults, measures: Sequence[Measure], note: str) -> Page:
    """Return a page with a table for every data set, compared with the paper's, and bars of the first measure."""
    tables = [comparison(results, data, measures, paper_table=results.experiment) for data in results.data]
    bars = accuracy_bars(results, measures[0], y="accuracy of 1-NN, %", paper_table=results.experiment)
    return Page(tables, {"accuracy": bars}, [note, INITIALISATION_NOTE, data_note(results.data)])


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
    """Fit data and labels as two views, and classify the latents."""
    data = load_paper_data(
        cell.data, seed=cell.seed, effort=cell.effort, max_rows=MAX_ROWS.get(cell.method), label_view=True
    )
    return classify_latents(cell, data, _MULTI_VIEW_MEASURES)


def write_multi_view(results: ExperimentResults) -> Page:
    """Return the page of the multi-view table."""
    note = """The labels are a view, so the test labels influence the latents: see the page on held-out labels for the
    consequences."""
    return classification_page(results, _MULTI_VIEW_MEASURES, note)


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
    """Fit the single view, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, max_rows=MAX_ROWS.get(cell.method))
    assert data.labels is not None
    discriminant = cell.method == "linear discriminant analysis"  # two classes have a single discriminant direction
    return classify_latents(
        cell, data, _SINGLE_VIEW_MEASURES, min(2, len(set(data.labels.tolist())) - 1) if discriminant else 2
    )


def write_single_view(results: ExperimentResults) -> Page:
    """Return the page of the single-view table."""
    note = """The paper describes "LDA" as discriminant analysis but cites latent Dirichlet allocation; its values are
    shown for both. Discriminant analysis uses the labels of all rows, so its accuracy says nothing about new rows; with
    two classes it has one direction."""
    return classification_page(results, _SINGLE_VIEW_MEASURES, note)


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
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, max_rows=MAX_ROWS.get(cell.method))
    return classify_latents(cell, data, _CHALLENGING_MEASURES)


def write_challenging(results: ExperimentResults) -> Page:
    """Return the page of MNIST-SVHN, MOVIES and CORA."""
    note = """The labels are not a view here. The paper does not specify the scaling of MOVIES and CORA; ours have rows
    of unit length."""
    return classification_page(results, _CHALLENGING_MEASURES, note)


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
    """Fit data and labels as two views, and save some of the latents."""
    whole = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, label_view=True)
    assert whole.labels is not None
    fitted = sample_rows(len(whole.labels), MAX_ROWS.get(cell.method), cell.seed)
    data = select_rows(whole, fitted)
    assert data.labels is not None
    latents = estimator_initialised_by_bound(cell).fit_transform(dict(data.views))
    accuracy = paper_accuracies(latents, data.labels, ["KNN"], seed=cell.seed)
    # the rows of the figure are a subset of the rows of every method that is given at least as many
    shown = np.searchsorted(fitted, sample_rows(len(whole.labels), _N_SHOWN, cell.seed))
    arrays = {"latents": latents[shown].astype(np.float32), "labels": data.labels[shown].astype(np.int16)}
    return Measurement({**accuracy, "rows": len(latents)}, arrays)


def write_latents(results: ExperimentResults) -> Page:
    """Return a page with a gallery of latents, methods by data sets."""
    from mvlvm.plots import plot_latent_gallery

    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    classes: dict[str, np.ndarray] = {}
    for method in results.methods:
        for data in results.data:
            records = results.select(data, method)
            arrays = results.arrays(records[0].cell) if records else {}
            if arrays:
                latents.setdefault(method, {})[data] = arrays["latents"]
                classes[data] = arrays["labels"]
                notes.setdefault(method, {})[data] = f"1-NN {100 * records[0].numbers['KNN']:.1f} %"
    figures = {"gallery": plot_latent_gallery(latents, classes, notes=notes)} if latents else {}
    return Page(
        figures=figures, notes=[_LATENTS_NOTE, row_count_note(results), INITIALISATION_NOTE, data_note(results.data)]
    )


_LATENTS_NOTE = f"""The labels are a view, as in the multi-view table: separated classes show that the latents represent
the labels, not that the labels of new rows can be predicted. Every panel has its own scale. At most {_N_SHOWN:,} rows
are shown, the same for all methods; the accuracy below a panel is that of 1-NN on all fitted rows, by five-fold
cross-validation. The classes of BRIDGES are weekend (0) and weekdays (1), those of MNIST the digits, those of
NEWSGROUPS alt.atheism (0), comp.sys.mac.hardware (1) and sci.med (2)."""

LATENTS = Experiment(
    name="latents",
    title="Latents of BRIDGES, MNIST and NEWSGROUPS",
    source="A figure of the paper's appendix: two-dimensional latents in the multi-view setting.",
    grids={effort: [Grid(_LATENTS_DATA, _LATENTS_METHODS)] for effort in Effort},
    measure=measure_latents,
    write=write_latents,
    revision=2,
    max_seeds=1,
)
