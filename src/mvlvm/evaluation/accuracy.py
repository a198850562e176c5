"""Accuracy of latents: agreement with the ground truth of simulated data, and classification accuracy."""

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


def best_affine_map(truth: Float[np.ndarray, "N D"], found: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N D"]:
    """Map estimated latents to the true latents by affine least-squares regression.

    Latents are identified only up to an affine map, since the kernel parameters can compensate for translation, scaling
    and rotation.

    Args:
        truth: true latents.
        found: estimated latents of the same rows.

    Returns:
        The (N, D) fitted values of the regression of `truth` on `found`.
    """
    design = np.column_stack([np.ones(len(found)), found])
    return design @ np.linalg.lstsq(design, truth, rcond=None)[0]


def affine_r2(truth: Float[np.ndarray, "N D"], found: Float[np.ndarray, "N K"]) -> float:
    """Compute the R^2 of the affine regression of the true latents on the estimated latents.

    Args:
        truth: true latents.
        found: estimated latents of the same rows.

    Returns:
        The fraction of the total variance of `truth` that is explained, at most 1.

    Example:
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 5.0]])
        >>> round(affine_r2(X, 3 * X[:, ::-1] - 1), 9)
        1.0
    """
    residual = truth - best_affine_map(truth, found)
    total = truth - truth.mean(axis=0)
    return float(1 - (residual**2).sum() / (total**2).sum())


def gram_correlation(truth: Float[np.ndarray, "N N"], found: Float[np.ndarray, "N N"]) -> float:
    """Return the Pearson correlation of the entries of two kernel matrices above the diagonal."""
    above = np.triu_indices(len(truth), k=1)
    return float(np.corrcoef(truth[above], found[above])[0, 1])


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
