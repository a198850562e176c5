"""Principal components.

Linear discriminant analysis: directions in which classes are far split_views.

Canonical correlations of several views.
"""

import numpy as np
import sklearn.decomposition
from jaxtyping import Float, Shaped
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mvlvm import defaults
from mvlvm.baselines.base import State, as_uint32_seed
from mvlvm.baselines.mixins import PredictMixin, ReconstructMixin, TransformMixin
from mvlvm.baselines.validation import (
    Matrices,
    check_n_components,
    concatenate_views,
    max_common_rank,
    max_rank,
    split_views,
)
from mvlvm.checks import check_number
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike


class PCA(TransformMixin, ReconstructMixin):
    """Principal component analysis of all views side by side, each standardised and of the same total variance.

    Args:
        n_components: latent dimensions, D; fewer than rows, and at most as many as columns.
        random_state: of the solver where data are large.

    Attributes:
        embedding_: (N, D) the scores.

    References:
        Jolliffe. Principal component analysis. Springer 2002.
    """

    def __init__(self, n_components: int = defaults.N_COMPONENTS, random_state: RandomStateLike = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y = concatenate_views(views)
        check_n_components("PCA", self.n_components, max_rank(Y))
        model = sklearn.decomposition.PCA(self.n_components, random_state=as_uint32_seed(seed))
        scores = model.fit_transform(Y)
        self._directions = np.asarray(model.components_)
        return scores

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return concatenate_views(views) @ self._directions.T

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return split_views(latents @ self._directions, self._widths)

    def _state(self) -> State:
        return {"directions": self._directions}

    def _restore(self, state: State) -> None:
        self._directions = state["directions"]


class LinearDiscriminant(TransformMixin):
    """Linear discriminant analysis of all views side by side, each standardised and of the same total variance.

    Rows of a class are normal about the mean of the class, with one covariance for all classes. Components are the
    directions in which class means are farthest split_views, measured by that covariance. `fit` needs the classes, and
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
        Y = concatenate_views(views)
        assert labels is not None
        _check_classes(labels, Y, self.n_components)
        model = LinearDiscriminantAnalysis(n_components=self.n_components).fit(Y, labels)
        _check_n_directions(model.scalings_.shape[1], self.n_components)
        self._mean, self._directions = model.xbar_, model.scalings_[:, : self.n_components]
        return self._place(views)

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return (concatenate_views(views) - self._mean) @ self._directions

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


def _check_n_directions(n_found: int, n_components: int) -> None:
    if n_found < n_components:
        raise ValueError(
            f"The means of the classes differ along {n_found} direction(s) only. Got n_components={n_components}. "
            f"Give n_components <= {n_found}, or take PCA, which needs no classes."
        )


class MCCA(PredictMixin):
    r"""Multiset canonical correlation analysis: directions in at least two views whose scores vary together.

    $$ \max_w \sum_{i \neq j} w_i^\top Y_i^\top Y_j w_j \quad \text{subject to} \quad
       \sum_i w_i^\top \big((1 - c) Y_i^\top Y_i + c N I\big) w_i = 1 $$

    solved by cca-zoo. A row is placed at the mean of the scores of those views that are given; views are rebuilt from
    there by least squares.

    Args:
        n_components: latent dimensions, D; fewer than rows, and at most as many as the narrowest view has columns.
        shrinkage: c, from 0, canonical correlations, to 1, partial least squares. Where views have more columns than
            rows, 0 finds perfect correlations in anything.
        random_state: there for the common interface; nothing is drawn.

    Attributes:
        embedding_: (N, D) the scores, averaged over views.

    References:
        Kettenring. Canonical analysis of several sets of variables. Biometrika 1971.
    """

    fewest_views = 2

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        shrinkage: float = 0.0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.random_state = random_state

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        linear = require("cca_zoo.linear", "Canonical correlation analysis of several views", "baselines")
        check_n_components("MCCA", self.n_components, max_common_rank(views))
        shrinkage = check_number(self.shrinkage, "shrinkage", positive=False)
        model = linear.MCCA(self.n_components, shrinkage=shrinkage).fit(list(views.values()))
        self._directions = dict(zip(views, model.weights_, strict=True))
        scores = self._place_some(views)
        self._ways_back = {name: np.linalg.lstsq(scores, Y)[0] for name, Y in views.items()}
        return scores

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return np.mean([Y @ self._directions[name] for name, Y in views.items()], axis=0)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: latents @ way_back for name, way_back in self._ways_back.items()}

    def _state(self) -> State:
        state = {f"directions.{i}": directions for i, directions in enumerate(self._directions.values())}
        return state | {f"ways_back.{i}": way_back for i, way_back in enumerate(self._ways_back.values())}

    def _restore(self, state: State) -> None:
        names = dict(enumerate(self.view_names_))
        self._directions = {name: state[f"directions.{i}"] for i, name in names.items()}
        self._ways_back = {name: state[f"ways_back.{i}"] for i, name in names.items()}
