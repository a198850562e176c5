"""Every classification again, on rows whose classes the model has not seen."""

import time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvlvm.datasets import Dataset
from mvlvm.experiments.data import load_paper_data, note_on
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.figures import accuracy_bars
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, OURS, estimator_for, readable, takes_gaps
from mvlvm.experiments.pages import Page
from mvlvm.experiments.protocols import LABEL, held_out_accuracy
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

_DATA = ("BRIDGES", "R-CIFAR", "R-MNIST", "NEWSGROUPS", "YALE", "MNIST-SVHN", "MOVIES", "CORA")
_RAW = ("1-NN on the data", "logistic regression on the data")
_LATENT = (OURS, "MV-ARFLVM", "MV-GPLVM-SVI", "MV-DGPLVM", "MVAE", "MMVAE", "MOFA", "PCA")
_MAPS = ("UMAP", "t-SNE")
_FOLDS = {Effort.QUICK: 2, Effort.FULL: 5}
# Fitted once for every fold, methods are given no more rows than this.
_MOST_ROWS = 4000


def measure(cell: Cell) -> Measured:
    """Classify every row by rows of other folds, the classes of its own fold missing while the model is fitted."""
    most_rows = min(_MOST_ROWS, MOST_ROWS.get(cell.method, _MOST_ROWS))
    given = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=most_rows, label_view=True)
    begin, n_folds = time.perf_counter(), _FOLDS[cell.effort]
    accuracy = _raw(cell, given, n_folds) if cell.method in _RAW else _latent(cell, given, n_folds)
    return Measured({"KNN": accuracy, "sees_classes": float(_sees_classes(cell.method)),
                     "seconds": time.perf_counter() - begin, "rows": len(_labels(given))})  # fmt: skip


def _latent(cell: Cell, data: Dataset, n_folds: int) -> float:
    views = dict(data.views)
    if not _sees_classes(cell.method):
        views.pop(LABEL)

    def fit(part: dict[str, Any]) -> np.ndarray:
        return estimator_for(cell).fit_transform(readable(cell.method, part))

    return held_out_accuracy(fit, views, _labels(data), seed=cell.seed, n_folds=n_folds)


def _raw(cell: Cell, data: Dataset, n_folds: int) -> float:
    """Give the accuracy of a classifier on all columns of all views, each standardised."""
    columns = np.hstack([np.asarray(Y, dtype=float) for name, Y in data.views.items() if name != LABEL])
    regression = LogisticRegression(max_iter=300)
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1) if cell.method == _RAW[0] else regression)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=cell.seed)
    return float(cross_val_score(model, columns, _labels(data), cv=folds).mean())


def _sees_classes(method: str) -> bool:
    """Tell whether a method can use a label view with gaps; others see the data alone."""
    return method not in (*_RAW, "PCA", *_MAPS) and takes_gaps(method)


def _labels(data: Dataset) -> np.ndarray:
    assert data.labels is not None
    return data.labels


def write(found: Found) -> Page:
    """Give one table for every data set, and who is the best latent variable model where."""
    with_classes = [method for method in found.methods if _sees_classes(method)]
    notes = [
        f"""In every fold the rows to be told are without their class while the model is fitted. Those that take gaps
        see the classes of the other rows as a view: {", ".join(with_classes)}. The others see the data alone, and
        classes only through the nearest neighbour.""",
        _standing(found),
        note_on(found.data),
    ]
    measure = Measure("KNN", "held out")
    bars = accuracy_bars(found, measure, y="accuracy on rows held out, %")
    return Page([comparison(found, data, (measure,)) for data in found.data], {"accuracy": bars}, notes)


def _standing(found: Found) -> str:
    """Say on how many sets ours is the best latent variable model, and who is where it is not."""
    ahead, behind = [], []
    for data in found.data:
        means = {m: s.mean for m in _LATENT if (s := found.spread("KNN", data, m)) is not None}
        if OURS not in means:
            continue
        best = max(means, key=lambda method: means[method])
        if means[OURS] == means[best]:
            ahead.append(data)
        else:
            behind.append(f"{data} ({best}, by {100 * (means[best] - means[OURS]):.1f} points)")
    text = f"Of the latent variable models {OURS} is the best on {len(ahead)} of {len(ahead) + len(behind)} sets"
    return f"{text}{': ' if ahead else ''}{', '.join(ahead)}." + (f" Behind on {'; '.join(behind)}." if behind else "")


EXPERIMENT = Experiment(
    name="held-out",
    title="Classes that the model has not seen",
    source="""Not in the paper, whose classes of test rows are inside the latents: accuracy in percent of 1-NN from
    training to test rows in two latent dimensions.""",
    grids={effort: [Grid(_DATA, (*_LATENT, *_MAPS, *_RAW))] for effort in Effort},
    measure=measure,
    write=write,
)
