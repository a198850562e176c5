"""Linear discriminant analysis: directions in which classes are far apart."""

import numpy as np
import sklearn.discriminant_analysis
from jaxtyping import Float, Shaped

from mvlvm import defaults
from mvlvm.baselines.abilities import PlacesRows
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.joining import side_by_side
from mvlvm.randomness import RandomStateLike


class LinearDiscriminant(PlacesRows):
    """Linear discriminant analysis of all views side by side, each standardised and of the same total variance.

    Rows of a class are normal about the mean of the class, with one covariance for all classes. Components are the
    directions in which class means are farthest apart, measured by that covariance. `fit` needs the classes, and
    where there are about as many columns as rows, it separates classes that are no different.

    Args:
        n_components: latent dimensions, D; at most one less than there are classes.
        random_state: there for the common interface; nothing is drawn.

    Attributes:
        embedding_: (N, D) the scores.

    References:
        Fisher. The use of multiple measurements in taxonomic problems. Annals of Eugenics 1936.
    """

    needs_labels = True

    def __init__(self, n_components: int = defaults.N_COMPONENTS, random_state: RandomStateLike = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y = side_by_side(views)
        assert labels is not None
        _check_classes(labels, Y, self.n_components)
        model = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(n_components=self.n_components).fit(Y, labels)
        _check_directions(model.scalings_.shape[1], self.n_components)
        self._mean, self._directions = model.xbar_, model.scalings_[:, : self.n_components]
        return self._place(views)

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return (side_by_side(views) - self._mean) @ self._directions

    def _state(self) -> State:
        return {"mean": self._mean, "directions": self._directions}

    def _restore(self, state: State) -> None:
        self._mean, self._directions = state["mean"], state["directions"]


def _check_classes(labels: Shaped[np.ndarray, "..."], Y: Float[np.ndarray, "N M"], n_components: int) -> None:
    if labels.shape != (len(Y),):
        raise ValueError(
            f"y must hold one class per row. Got an array of shape {labels.shape} for {len(Y)} rows. Give a vector."
        )
    n_classes = len(np.unique(labels))
    most = min(n_classes - 1, Y.shape[1])
    if n_components > most:
        raise ValueError(
            "Linear discriminant analysis gives at most one component less than there are classes, and at most one per "
            f"column. Got n_components={n_components} for {n_classes} classes and {Y.shape[1]} columns, which allow "
            f"{most}. Lower n_components, or take PCA, which needs no classes."
        )


def _check_directions(n_found: int, n_components: int) -> None:
    if n_found < n_components:
        raise ValueError(
            f"The means of the classes differ along {n_found} direction(s) only. Got n_components={n_components}. "
            f"Give n_components <= {n_found}, or take PCA, which needs no classes."
        )
