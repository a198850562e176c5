"""How a method is judged by classes: as the paper does it, and on classes that it has not seen.

In the paper the classes are a view like any other. The latents of all rows are learned from all views, and classified
by cross-validation: the classes of the test rows are inside the latents, so the accuracy says how well the classes
fit into the latents, not how well they can be told of a new row. Held out, the label view of every fold's test rows is
missing while the model is fitted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from mvlvm.evaluation import cross_validated_accuracy


class Fitted(NamedTuple):
    """What is asked of a model: the latents of all rows, and all views as it predicts them from there."""

    latents: Float[np.ndarray, "N D"]
    rebuild: Callable[[], Mapping[str, Any]]


Fit = Callable[[dict[str, Any]], Fitted]
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
