"""The methods of a table, ready to be fitted: ours, and those of `mvlvm.baselines`.

How a method is judged by classes: as the paper does it, and on classes that it has not seen.

In the paper the classes are a view like any other. The latents of all rows are learned from all views, and classified
by cross-validation: the classes of the test rows are inside the latents, so the accuracy says how well the classes
fit into the latents, not how well they can be told of a new row. Held out, the label view of every fold's test rows is
missing while the model is fitted.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from mvlvm import baselines
from mvlvm.baselines.base import AbstractBaseline
from mvlvm.baselines.validation import DataKind
from mvlvm.estimators import NGMVLVM
from mvlvm.evaluation import cross_validated_accuracy
from mvlvm.experiments.cells import Cell, Effort

OURS = "NG-MVLVM"
# Methods that cost N^3, or whose chains would take days: they see no more rows, and tables say so.
MOST_ROWS = {"MV-GPLVM": 1000, "MV-NGPLVM": 1000, "MV-RFLVM": 2000, "RFLVM": 2000, "BGPLVM": 3000, "GFA": 10_000,
             "Isomap": 10_000, "t-SNE": 20_000, "UMAP": 70_000, "MV-DGPLVM": 10_000, "DGPLVM": 10_000,
             "GPLVM-SVI": 10_000, "MV-GPLVM-SVI": 10_000}  # fmt: skip
# Where latents are told apart by classes the start decides more than the number of steps does.
_INITIALISED_BY_BOUND = (OURS, "MV-ARFLVM", "ARFLVM")
INITIALISATION_NOTE = """NG-MVLVM and its stationary relatives start from principal components, from an eigenmap or from a layout
of the graph of neighbours, whichever has the best bound after 100 steps (`init="auto"`)."""
# A quick cell takes fewer steps; the numbers show that everything runs, and roughly what it gives.
_QUICK_STEPS = {
    300: ("NG-MVLVM", "MV-ARFLVM", "ARFLVM", "GPLVM-SVI", "DGPLVM", "MV-GPLVM-SVI", "MV-DGPLVM"),
    500: ("VAE", "NBVAE", "DCA", "CVQ-VAE", "MVAE", "MMVAE"),
    100: ("RFLVM", "MV-RFLVM", "BGPLVM"),
    30: ("MV-GPLVM", "MV-NGPLVM"),
}
_QUICK = {name: {"max_iter": n_steps} for n_steps, names in _QUICK_STEPS.items() for name in names}
# their chains keep no more draws than they make
_QUICK |= {name: {**_QUICK[name], "n_samples": 50} for name in ("RFLVM", "MV-RFLVM")}


def estimator_for(cell: Cell, n_components: int = 2, settings: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Make the estimator of a cell.

    Args:
        cell: its method, seed and effort.
        n_components: latent dimensions, D.
        settings: parameters of the method that the experiment sets itself.
    """
    quick = _QUICK.get(cell.method, {}) if cell.effort is Effort.QUICK else {}
    return _class_of(cell.method)(n_components=n_components, random_state=cell.seed, **{**quick, **settings})


def estimator_initialised_by_bound(cell: Cell, n_components: int = 2) -> Any:
    """Make the estimator of a cell, ours as `INITIALISATION_NOTE` says; its page has that note."""
    return estimator_for(cell, n_components, {"init": "auto"} if cell.method in _INITIALISED_BY_BOUND else {})


def compatible_views(method: str, views: Mapping[str, Any]) -> dict[str, Any]:
    """Give views as a method can take them: whole numbers where it models counts."""
    estimator = _class_of(method)
    if issubclass(estimator, AbstractBaseline) and estimator.kind is DataKind.COUNTS:
        return {name: np.rint(np.clip(Y, 0, None)) for name, Y in views.items()}
    return dict(views)


def _class_of(method: str) -> Any:
    return NGMVLVM if method == OURS else baselines.get(method)


class FittedLatents(NamedTuple):
    """What is asked of a model: the latents of all rows, and all views as it predicts them from there."""

    latents: Float[np.ndarray, "N D"]
    rebuild: Callable[[], Mapping[str, Any]]


Fit = Callable[[dict[str, Any]], FittedLatents]
LABEL = "label"
# Beyond this many rows an SVM is judged on a draw of so many.
_MOST_ROWS_OF_AN_SVM = 10_000


def paper_accuracies(
    latents: Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"], classifiers: Sequence[str], *, seed: int
) -> dict[str, float]:
    """Give the five-fold accuracy of every classifier on the latents of all rows."""
    return {
        name: cross_validated_accuracy(
            latents, labels, name, most_rows=_MOST_ROWS_OF_AN_SVM if name == "SVM" else None, random_state=seed
        )
        for name in classifiers
    }


def held_out_accuracies(
    fit: Fit, views: dict[str, Any], labels: Int[np.ndarray, " N"], *, seed: int, n_folds: int = 5
) -> dict[str, float]:
    """Give the share of rows whose classes are told without having been seen.

    "KNN": by 1-NN from training to test rows. "predicted", where there is a label view: by the largest column that the
    model itself predicts for test rows.

    Args:
        fit: fits a model to views, of which "label" has NaN in the rows of a fold.
        views: all views, "label" among them or not; without it one fit serves all folds.
        labels: the class of every row, from 0 on, in the order of the label view's columns.
        seed: of the folds.
        n_folds: how many.
    """
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(labels)), labels))
    common = None if LABEL in views else fit(views)
    right = dict.fromkeys(("KNN", "predicted") if LABEL in views else ("KNN",), 0)
    for train, test in folds:
        fitted = fit(_without_labels(views, test)) if common is None else common
        told = KNeighborsClassifier(1).fit(fitted.latents[train], labels[train]).predict(fitted.latents[test])
        right["KNN"] += int((told == labels[test]).sum())
        if common is None:
            told = np.asarray(fitted.rebuild()[LABEL])[test].argmax(axis=1)
            right["predicted"] += int((told == labels[test]).sum())
    return {name: n / len(labels) for name, n in right.items()}


def _without_labels(views: dict[str, Any], rows: Int[np.ndarray, " R"]) -> dict[str, Any]:
    hidden = np.array(views[LABEL], dtype=float)
    hidden[rows] = np.nan
    return {**views, LABEL: hidden}
