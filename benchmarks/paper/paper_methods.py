"""Methods of the tables and the protocols that evaluate their latents by classification.

In the paper the class labels are a view. The latents of all rows are learned from all views and classified by
cross-validation: the test labels influence the latents, so the accuracy measures how well the classes are represented
in the latents, not how well the class of a new row is predicted. In the held-out protocol the label view of the test
rows of every fold is missing during fitting.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.cells import Cell
from mvlvm import baselines
from mvlvm.baselines.base import AbstractBaseline
from mvlvm.baselines.baseline_input import DataKind
from mvlvm.estimators import NGMVLVM
from mvlvm.evaluation import cross_validated_accuracy

OURS = "NG-MVLVM"
# Largest number of rows for methods that cost N^3 or whose Markov chains would take days; tables state it.
MAX_ROWS = {"MV-GPLVM": 1000, "MV-NGPLVM": 1000, "MV-RFLVM": 2000, "RFLVM": 2000, "BGPLVM": 3000, "GFA": 10_000,
             "Isomap": 10_000, "t-SNE": 20_000, "UMAP": 70_000, "MV-DGPLVM": 10_000, "DGPLVM": 10_000,
             "GPLVM-SVI": 10_000, "MV-GPLVM-SVI": 10_000}  # fmt: skip
# Where latents are classified, the initialisation matters more than the number of steps.
_INITIALISED_BY_BOUND = (OURS, "MV-ARFLVM", "ARFLVM")
INITIALISATION_NOTE = """NG-MVLVM and its stationary variants are initialised by PCA, a Laplacian eigenmap or a graph
layout, whichever has the best ELBO after 100 steps (`init="auto"`)."""
# Quick cells take fewer steps: they check that everything runs and give rough values.
_QUICK_STEPS = {
    300: ("NG-MVLVM", "MV-ARFLVM", "ARFLVM", "GPLVM-SVI", "DGPLVM", "MV-GPLVM-SVI", "MV-DGPLVM"),
    500: ("VAE", "NBVAE", "DCA", "CVQ-VAE", "MVAE", "MMVAE"),
    100: ("RFLVM", "MV-RFLVM", "BGPLVM"),
    30: ("MV-GPLVM", "MV-NGPLVM"),
}
_QUICK = {name: {"max_iter": n_steps} for n_steps, names in _QUICK_STEPS.items() for name in names}
# a chain cannot keep more samples than it draws
_QUICK |= {name: {**_QUICK[name], "n_samples": 50} for name in ("RFLVM", "MV-RFLVM")}


def estimator_for(cell: Cell, n_components: int = 2, settings: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Return the unfitted estimator of a cell.

    Args:
        cell: cell with method, seed and size.
        n_components: latent dimensions, D.
        settings: parameters set by the study.
    """
    quick = _QUICK.get(cell.method, {}) if cell.is_quick else {}
    return _class_of(cell.method)(n_components=n_components, random_state=cell.seed, **{**quick, **settings})


def estimator_initialised_by_bound(cell: Cell, n_components: int = 2) -> Any:
    """Return the estimator of a cell, ours with the initialisation of `INITIALISATION_NOTE`."""
    return estimator_for(cell, n_components, {"init": "auto"} if cell.method in _INITIALISED_BY_BOUND else {})


def compatible_views(method: str, views: Mapping[str, Any]) -> dict[str, Any]:
    """Return views as the method accepts them: non-negative integers for count models."""
    estimator = _class_of(method)
    if issubclass(estimator, AbstractBaseline) and estimator.kind is DataKind.COUNTS:
        return {name: np.rint(np.clip(Y, 0, None)) for name, Y in views.items()}
    return dict(views)


def _class_of(method: str) -> Any:
    return NGMVLVM if method == OURS else baselines.get(method)


class FittedLatents(NamedTuple):
    """Latents of all rows (N x D), and a function that returns the views predicted from them."""

    latents: Float[np.ndarray, "N D"]
    reconstruct: Callable[[], Mapping[str, Any]]


Fit = Callable[[dict[str, Any]], FittedLatents]
LABEL = "label"
# An SVM is evaluated on a random subset of at most this many rows.
_MAX_SVM_ROWS = 10_000


def paper_accuracies(
    latents: Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"], classifiers: Sequence[str], *, seed: int
) -> dict[str, float]:
    """Return the five-fold cross-validated accuracy of every classifier on the latents of all rows."""
    return {
        name: cross_validated_accuracy(
            latents, labels, name, most_rows=_MAX_SVM_ROWS if name == "SVM" else None, random_state=seed
        )
        for name in classifiers
    }


def held_out_accuracies(
    fit: Fit, views: dict[str, Any], labels: Int[np.ndarray, " N"], *, seed: int, n_folds: int = 5
) -> dict[str, float]:
    """Return the classification accuracy on rows whose labels were missing during fitting.

    "KNN" is 1-NN from training to test rows. "predicted", if there is a label view, is the largest column
    that the model predicts for the test rows.

    Args:
        fit: fits a model to views; "label" is NaN in the test rows of a fold.
        views: all views. Without a view "label", one fit serves all folds.
        labels: class of every row, from 0, in the order of the columns of the label view.
        seed: seed of the folds.
        n_folds: number of folds.
    """
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(labels)), labels))
    shared = None if LABEL in views else fit(views)
    correct = dict.fromkeys(("KNN", "predicted") if LABEL in views else ("KNN",), 0)
    for train, test in folds:
        fitted = fit(_without_labels(views, test)) if shared is None else shared
        predicted = KNeighborsClassifier(1).fit(fitted.latents[train], labels[train]).predict(fitted.latents[test])
        correct["KNN"] += int((predicted == labels[test]).sum())
        if shared is None:
            predicted = np.asarray(fitted.reconstruct()[LABEL])[test].argmax(axis=1)
            correct["predicted"] += int((predicted == labels[test]).sum())
    return {name: n / len(labels) for name, n in correct.items()}


def mean_squared_error(truth: Any, reconstructed: Any) -> float:
    """Return the mean squared difference of the entries of two matrices, in double precision."""
    difference = np.asarray(truth, dtype=np.float64) - np.asarray(reconstructed, dtype=np.float64)
    return float(np.mean(np.square(difference)))


def _without_labels(views: dict[str, Any], rows: Int[np.ndarray, " R"]) -> dict[str, Any]:
    masked = np.array(views[LABEL], dtype=float)
    masked[rows] = np.nan
    return {**views, LABEL: masked}
