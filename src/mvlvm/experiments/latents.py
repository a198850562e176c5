"""Pictures of two-dimensional latents, classes as a second view."""

import numpy as np

from mvlvm.experiments.data import draw_rows, load_paper_data, note_on, some_rows
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, OURS, START_NOTE, estimator_started_by_bound
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import paper_accuracies
from mvlvm.experiments.shown import note_on_rows
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured

_DATA = ("BRIDGES", "MNIST", "NEWSGROUPS")
_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-NGPLVM")
_N_SHOWN = 1000


def measure(cell: Cell) -> Measured:
    """Fit data and classes together, and keep some of the latents."""
    whole = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, label_view=True)
    assert whole.labels is not None
    seen = draw_rows(len(whole.labels), MOST_ROWS.get(cell.method), cell.seed)
    data = some_rows(whole, seen)
    assert data.labels is not None
    latents = estimator_started_by_bound(cell).fit_transform(dict(data.views))
    accuracy = paper_accuracies(latents, data.labels, ["KNN"], seed=cell.seed)
    # rows drawn for the figure are among those drawn for any method that sees as many or more
    shown = np.searchsorted(seen, draw_rows(len(whole.labels), _N_SHOWN, cell.seed))
    arrays = {"latents": latents[shown].astype(np.float32), "labels": data.labels[shown].astype(np.int16)}
    return Measured({**accuracy, "rows": len(latents)}, arrays)


def write(found: Found) -> Page:
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
    return Page(figures=figures, notes=[_NOTE, note_on_rows(found), START_NOTE, note_on(found.data)])


_NOTE = f"""Classes are a view of their own, as in the multi-view table: that they lie apart shows that they fit into
the latents, not that they could be told of new rows. Every panel has a scale of its own. At most {_N_SHOWN:,} rows are
shown, the same for all methods; the accuracy below a panel is that of 1-NN on all rows that were fitted, by five-fold
cross-validation. Classes of BRIDGES are the weekend (0) and weekdays (1), those of MNIST the digits, those of
NEWSGROUPS alt.atheism (0), comp.sys.mac.hardware (1) and sci.med (2)."""

EXPERIMENT = Experiment(
    name="latents",
    title="Latents of BRIDGES, MNIST and NEWSGROUPS",
    source="A figure of the paper's appendix: two-dimensional latents in the multi-view setting.",
    grids={effort: [Grid(_DATA, _METHODS)] for effort in Effort},
    measure=measure,
    write=write,
    revision=2,
    most_seeds=1,
)
