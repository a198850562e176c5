"""Cross-validated classification accuracy of embeddings."""

import warnings
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

_FOLDS = 5

# Keys are the names in the paper's tables. All but KNN standardise the latents.
CLASSIFIERS: dict[str, Callable[[int], BaseEstimator]] = {
    "KNN": lambda seed: KNeighborsClassifier(1),
    "SVM": lambda seed: make_pipeline(StandardScaler(), SVC(random_state=seed)),
    "LR": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, random_state=seed)),
    "NN": lambda seed: make_pipeline(StandardScaler(), MLPClassifier((100,), max_iter=500, random_state=seed)),
}


def nearest_neighbour_accuracy(
    embedding: Float[np.ndarray, "N D"], labels: Shaped[np.ndarray, " N"], *, random_state: int = 0
) -> float:
    """Compute the five-fold cross-validated accuracy of a 1-nearest-neighbour classifier.

    Args:
        embedding: latents of all rows.
        labels: classes of all rows.
        random_state: seed for shuffling the rows into folds.

    Returns:
        The mean accuracy over the folds, between 0 and 1.

    Example:
        >>> X = np.repeat([[0.0], [9.0]], 10, axis=0) + np.arange(20)[:, None] / 100
        >>> nearest_neighbour_accuracy(X, np.repeat([0, 1], 10))
        1.0
    """
    return cross_validated_accuracy(embedding, labels, "KNN", random_state=random_state)


def cross_validated_accuracy(
    embedding: Float[np.ndarray, "N D"],
    labels: Shaped[np.ndarray, " N"],
    classifier: str,
    *,
    most_rows: int | None = None,
    random_state: int = 0,
) -> float:
    """Compute the five-fold cross-validated accuracy of a classifier.

    Args:
        embedding: latents of all rows.
        labels: classes of all rows.
        classifier: "KNN" (one neighbour), "SVM" (Gaussian kernel), "LR" (logistic regression) or "NN" (one hidden layer
            of 100 units).
        most_rows: maximum number of rows; a random subset of this size is used if there are more. None uses all rows.
        random_state: seed for the subset, the folds and the classifier.

    Returns:
        The mean accuracy over the folds, between 0 and 1.

    Raises:
        ValueError: The classifier is unknown.
    """
    if classifier not in CLASSIFIERS:
        raise ValueError(f"Unknown classifier {classifier!r}. Available classifiers: {', '.join(CLASSIFIERS)}.")
    if most_rows is not None and len(labels) > most_rows:
        rows = np.random.default_rng(random_state).permutation(len(labels))[:most_rows]
        embedding, labels = embedding[rows], labels[rows]
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # evaluate the network after its last step, converged or not
        return float(cross_val_score(CLASSIFIERS[classifier](random_state), embedding, labels, cv=folds).mean())
