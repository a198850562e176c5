"""The classification tables of the paper.

Every study fits the methods of a table and classifies their latents: the multi-view table (labels as a second view),
the single-view table (fourteen methods on five data sets), the table of MNIST-SVHN, MOVIES and CORA (two heterogeneous
views), and the gallery of two-dimensional latents.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_data import data_note, load_paper_data, sample_rows, select_rows
from benchmarks.paper.paper_methods import (
    INITIALISATION_NOTE,
    MAX_ROWS,
    OURS,
    compatible_views,
    estimator_initialised_by_bound,
    paper_accuracies,
)
from benchmarks.paper.paper_tables import (
    PaperTable,
    accuracy_figure,
    comparison,
    lead_on,
    reached_claim,
    row_count_note,
    verdict_on_leads,
)
from benchmarks.results import Results
from benchmarks.study import Claim, PageFigure, PagePart, Study, Verdict, cells_of_grids
from benchmarks.tables import Measure
from mvlvm.datasets import Dataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KNN = Measure("KNN", "KNN")
_DISCRIMINANT = "linear discriminant analysis"


def classify_latents(cell: Cell, data: Dataset, measures: Sequence[Measure], n_components: int = 2) -> Measurement:
    """Fit the method of a cell, and classify the latents of all rows."""
    assert data.labels is not None
    estimator, views = estimator_initialised_by_bound(cell, n_components), compatible_views(cell.method, data.views)
    latents = estimator.fit_transform(views, data.labels)
    accuracies = paper_accuracies(latents, data.labels, [measure.metric for measure in measures], seed=cell.seed)
    return Measurement({**accuracies, "rows": len(latents)})


def classification_page(results: Results, paper: PaperTable, note: str) -> list[PagePart]:
    """Return notes, bars of 1-NN accuracy, and a table for every data set, compared with the paper's."""
    tables = [comparison(results, data, paper.measures[data], paper=paper) for data in results.data]
    bars = accuracy_figure(results, _KNN, what="1-NN accuracy", paper=paper)
    notes = [note, INITIALISATION_NOTE, row_count_note(results), data_note(results.data)]
    return ["## Protocol", *notes, "## Results", *bars, *tables]


def best_claim(data_sets: Sequence[str]) -> Claim:
    """Return the claim that our model has the highest 1-NN accuracy on every data set."""

    def judge(results: Results) -> Verdict | None:
        rivals = [method for method in results.methods if method not in (OURS, _DISCRIMINANT)]
        return verdict_on_leads({data: lead_on(results, _KNN, data, rivals) for data in data_sets})

    return Claim(f"{OURS} has the highest 1-NN accuracy on every data set", judge)


_MULTI_VIEW_METHODS = (
    "NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-NGPLVM", "MV-GPLVM", "MV-GPLVM-SVI", "MV-RFLVM",
)  # fmt: skip
_MULTI_VIEW_MEASURES = (_KNN, Measure("SVM", "SVM"))
MULTI_VIEW_TABLE = PaperTable(
    "multi-view", dict.fromkeys(("BRIDGES", "CIFAR", "MNIST", "NEWSGROUPS", "YALE"), _MULTI_VIEW_MEASURES)
)


def measure_multi_view(cell: Cell) -> Measurement:
    """Fit data and labels as two views, and classify the latents."""
    data = load_paper_data(
        cell.data, seed=cell.seed, quick=cell.is_quick, max_rows=MAX_ROWS.get(cell.method), label_view=True
    )
    return classify_latents(cell, data, _MULTI_VIEW_MEASURES)


def multi_view_page(results: Results) -> list[PagePart]:
    """Return the page of the multi-view table."""
    note = """The labels are a view, so the test labels influence the latents: see the
    [page on held-out labels](held-out.md) for the consequences."""
    return classification_page(results, MULTI_VIEW_TABLE, note)


MULTI_VIEW = Study(
    name="multi-view",
    title="Multi-view classification",
    what="Table 2 of the paper: five-fold accuracy in percent of 1-NN and SVM on two latent dimensions.",
    group="paper",
    cells=cells_of_grids("multi-view", [Grid(list(MULTI_VIEW_TABLE.measures), _MULTI_VIEW_METHODS)]),
    measure=measure_multi_view,
    page=multi_view_page,
    claims=[reached_claim(MULTI_VIEW_TABLE), best_claim(list(MULTI_VIEW_TABLE.measures))],
)


_SINGLE_VIEW_METHODS = (
    "PCA", _DISCRIMINANT, "latent Dirichlet allocation", "Isomap", "HPF", "BGPLVM", "GPLVM-SVI", "DGPLVM", "VAE",
    "NBVAE", "DCA", "CVQ-VAE", "RFLVM", "ARFLVM", "NG-MVLVM",
)  # fmt: skip
SINGLE_VIEW_TABLE = PaperTable(
    "single-view", dict.fromkeys(("BRIDGES", "R-CIFAR", "R-MNIST", "NEWSGROUPS", "YALE"), (_KNN,))
)


def measure_single_view(cell: Cell) -> Measurement:
    """Fit the single view, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, quick=cell.is_quick, max_rows=MAX_ROWS.get(cell.method))
    assert data.labels is not None
    n_classes = len(set(data.labels.tolist()))
    n_components = min(2, n_classes - 1) if cell.method == _DISCRIMINANT else 2  # two classes have one direction
    return classify_latents(cell, data, [_KNN], n_components)


def single_view_page(results: Results) -> list[PagePart]:
    """Return the page of the single-view table."""
    note = """The paper describes "LDA" as discriminant analysis but cites latent Dirichlet allocation; its values are
    shown for both. Discriminant analysis uses the labels of all rows, so its accuracy says nothing about new rows, and
    it is left out of the claim; with two classes it has one direction."""
    return classification_page(results, SINGLE_VIEW_TABLE, note)


SINGLE_VIEW = Study(
    name="single-view",
    title="Single-view classification",
    what="The single-view table of the paper's appendix: five-fold accuracy of 1-NN in percent, two dimensions.",
    group="paper",
    cells=cells_of_grids("single-view", [Grid(list(SINGLE_VIEW_TABLE.measures), _SINGLE_VIEW_METHODS)]),
    measure=measure_single_view,
    page=single_view_page,
    claims=[reached_claim(SINGLE_VIEW_TABLE), best_claim(list(SINGLE_VIEW_TABLE.measures))],
)


_CHALLENGING_METHODS = ("NG-MVLVM", "MV-ARFLVM", "MV-DGPLVM", "MVAE")
_CHALLENGING_MEASURES = (_KNN, Measure("NN", "NN"))
CHALLENGING_TABLE = PaperTable(
    "challenging", dict.fromkeys(("MNIST-SVHN", "MOVIES", "CORA"), _CHALLENGING_MEASURES)
)  # fmt: skip


def measure_challenging(cell: Cell) -> Measurement:
    """Fit both views, and classify the latents."""
    data = load_paper_data(cell.data, seed=cell.seed, quick=cell.is_quick, max_rows=MAX_ROWS.get(cell.method))
    return classify_latents(cell, data, _CHALLENGING_MEASURES)


def challenging_page(results: Results) -> list[PagePart]:
    """Return the page of MNIST-SVHN, MOVIES and CORA."""
    note = """The labels are not a view here. The paper does not specify the scaling of MOVIES and CORA; ours have rows
    of unit length."""
    return classification_page(results, CHALLENGING_TABLE, note)


CHALLENGING = Study(
    name="challenging",
    title="MNIST-SVHN, MOVIES and CORA",
    what="""A table of the paper's appendix: five-fold accuracy in percent of 1-NN and a neural network on two latent
    dimensions.""",
    group="paper",
    cells=cells_of_grids("challenging", [Grid(list(CHALLENGING_TABLE.measures), _CHALLENGING_METHODS)]),
    measure=measure_challenging,
    page=challenging_page,
    claims=[reached_claim(CHALLENGING_TABLE), best_claim(list(CHALLENGING_TABLE.measures))],
)


_LATENTS_DATA = ("BRIDGES", "MNIST", "NEWSGROUPS")
_LATENTS_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-NGPLVM")
_N_SHOWN = 1000


def measure_latents(cell: Cell) -> Measurement:
    """Fit data and labels as two views, and save some of the latents."""
    whole = load_paper_data(cell.data, seed=cell.seed, quick=cell.is_quick, label_view=True)
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


def latents_page(results: Results) -> list[PagePart]:
    """Return a page with a gallery of latents, methods by data sets."""
    notes = [_LATENTS_NOTE, row_count_note(results), INITIALISATION_NOTE, data_note(results.data)]
    caption = "Two-dimensional latents of every method and data set, coloured by class"
    gallery = PageFigure("gallery", caption, lambda: _latent_gallery(results))
    return ["## Protocol", *notes, "## Results", *([gallery] if results.done else [])]


def _latent_gallery(results: Results) -> "Figure":
    from mvlvm.plots import plot_latent_gallery

    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    classes: dict[str, np.ndarray] = {}
    for method in results.methods:
        for record in results.select(method=method):
            arrays, data = results.store.arrays(record.cell), record.cell.data
            latents.setdefault(method, {})[data] = arrays["latents"]
            classes[data] = arrays["labels"]
            notes.setdefault(method, {})[data] = f"1-NN {100 * record.metrics['KNN']:.1f} %"
    return plot_latent_gallery(latents, classes, notes=notes)


_LATENTS_NOTE = f"""The labels are a view, as in the multi-view table: separated classes show that the latents represent
the labels, not that the labels of new rows can be predicted. Every panel has its own scale. At most {_N_SHOWN:,} rows
are shown, the same for all methods; the accuracy below a panel is that of 1-NN on all fitted rows, by five-fold
cross-validation. The classes of BRIDGES are weekend (0) and weekdays (1), those of MNIST the digits, those of
NEWSGROUPS alt.atheism (0), comp.sys.mac.hardware (1) and sci.med (2)."""

LATENTS = Study(
    name="latents",
    title="Latents of BRIDGES, MNIST and NEWSGROUPS",
    what="A figure of the paper's appendix: two-dimensional latents in the multi-view setting.",
    group="paper",
    cells=cells_of_grids("latents", [Grid(_LATENTS_DATA, _LATENTS_METHODS)]),
    measure=measure_latents,
    page=latents_page,
    n_seeds=1,
    marks=False,
)
