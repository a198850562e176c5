"""Linear projections: principal components, linear discriminants and canonical correlations."""

import numpy as np
import sklearn.decomposition
from jaxtyping import Float, Shaped
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, PredictMixin, ReconstructMixin, State, TransformMixin, as_uint32_seed
from mvlvm.baselines.baseline_input import (
    Matrices,
    check_n_components,
    concatenate_views,
    max_common_rank,
    max_rank,
    split_views,
)
from mvlvm.checks import check_number, require
from mvlvm.randomness import RandomStateLike


class PCA(TransformMixin, ReconstructMixin, AbstractBaseline):
    """Principal component analysis of the concatenated views, each standardised and scaled to equal total variance.

    Args:
        n_components: number of latent dimensions, D; less than the number of rows and at most the number of columns.
        random_state: seed of the randomised solver, which is used for large data.

    Attributes:
        embedding_: (N, D) principal component scores.

    References:
        Jolliffe. Principal component analysis. Springer 2002.
    """

    def __init__(self, n_components: int = defaults.N_COMPONENTS, random_state: RandomStateLike = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y = concatenate_views(views)
        check_n_components("PCA", self.n_components, max_rank(Y))
        model = sklearn.decomposition.PCA(self.n_components, random_state=as_uint32_seed(seed))
        scores = model.fit_transform(Y)
        self._directions = np.asarray(model.components_)
        return scores

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return concatenate_views(views) @ self._directions.T

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return split_views(latents @ self._directions, self._widths)

    def _get_state(self) -> State:
        return {"directions": self._directions}

    def _set_state(self, state: State) -> None:
        self._directions = state["directions"]


class LinearDiscriminant(TransformMixin, AbstractBaseline):
    """Linear discriminant analysis of the concatenated views, each standardised and scaled to equal total variance.

    The rows of a class are normally distributed around the class mean, with one covariance for all classes. The
    components are the directions that separate the class means best relative to that covariance. `fit` requires class
    labels. With about as many columns as rows it overfits: it separates even random classes.

    Args:
        n_components: number of latent dimensions, D; less than the number of classes.
        random_state: ignored; the method is deterministic.

    Attributes:
        embedding_: (N, D) discriminant scores.

    References:
        Fisher. The use of multiple measurements in taxonomic problems. Annals of Eugenics 1936.
    """

    needs_labels = True

    def __init__(self, n_components: int = defaults.N_COMPONENTS, random_state: RandomStateLike = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y = concatenate_views(views)
        assert labels is not None
        _check_classes(labels, Y, self.n_components)
        model = LinearDiscriminantAnalysis(n_components=self.n_components).fit(Y, labels)
        _check_n_directions(model.scalings_.shape[1], self.n_components)
        self._mean, self._directions = model.xbar_, model.scalings_[:, : self.n_components]
        return self._transform(views)

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return (concatenate_views(views) - self._mean) @ self._directions

    def _get_state(self) -> State:
        return {"mean": self._mean, "directions": self._directions}

    def _set_state(self, state: State) -> None:
        self._mean, self._directions = state["mean"], state["directions"]


def _check_classes(labels: Shaped[np.ndarray, "..."], Y: Float[np.ndarray, "N M"], n_components: int) -> None:
    if labels.shape != (len(Y),):
        raise ValueError(
            f"y must hold one class label per row. Got an array of shape {labels.shape} for {len(Y)} rows. "
            "Pass a vector of labels."
        )
    n_classes = len(np.unique(labels))
    maximum = min(n_classes - 1, Y.shape[1])
    if n_components > maximum:
        raise ValueError(
            "Linear discriminant analysis finds fewer components than classes, and at most one per column. "
            f"Got n_components={n_components} for {n_classes} classes and {Y.shape[1]} columns, which allow {maximum}. "
            "Lower n_components, or use PCA, which needs no labels."
        )


def _check_n_directions(n_found: int, n_components: int) -> None:
    if n_found < n_components:
        raise ValueError(
            f"The class means differ along {n_found} direction(s) only. Got n_components={n_components}. "
            f"Use n_components <= {n_found}, or PCA, which needs no labels."
        )


class MCCA(PredictMixin, ReconstructMixin, AbstractBaseline):
    r"""Multiset canonical correlation analysis: directions in two or more views whose scores are correlated.

    $$ \max_w \sum_{i \neq j} w_i^\top Y_i^\top Y_j w_j \quad \text{subject to} \quad
       \sum_i w_i^\top \big((1 - c) Y_i^\top Y_i + c N I\big) w_i = 1 $$

    The problem is solved by cca-zoo. The latent of a row is the mean of the scores of the available views; views are
    reconstructed from it by least squares.

    Args:
        n_components: number of latent dimensions, D; less than the number of rows and at most the number of columns of
            the narrowest view.
        shrinkage: c, from 0 (canonical correlation analysis) to 1 (partial least squares). If views have more columns
            than rows, c = 0 finds perfect correlations in any data.
        random_state: ignored; the method is deterministic.

    Attributes:
        embedding_: (N, D) scores, averaged over the views.

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

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        linear = require("cca_zoo.linear", "Canonical correlation analysis of several views", "baselines")
        check_n_components("MCCA", self.n_components, max_common_rank(views))
        shrinkage = check_number(self.shrinkage, "shrinkage", positive=False)
        model = linear.MCCA(self.n_components, shrinkage=shrinkage).fit(list(views.values()))
        self._directions = dict(zip(views, model.weights_, strict=True))
        scores = self._transform_partial(views)
        self._decoders = {name: np.linalg.lstsq(scores, Y)[0] for name, Y in views.items()}
        return scores

    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return np.mean([Y @ self._directions[name] for name, Y in views.items()], axis=0)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: latents @ decoder for name, decoder in self._decoders.items()}

    def _get_state(self) -> State:
        state = {f"directions.{i}": directions for i, directions in enumerate(self._directions.values())}
        return state | {f"ways_back.{i}": decoder for i, decoder in enumerate(self._decoders.values())}

    def _set_state(self, state: State) -> None:
        names = dict(enumerate(self.view_names_))
        self._directions = {name: state[f"directions.{i}"] for i, name in names.items()}
        self._decoders = {name: state[f"ways_back.{i}"] for i, name in names.items()}
