"""Isomap: a map of distances along the graph of neighbours."""

import warnings

import numpy as np
import sklearn.manifold
from jaxtyping import Float
from scipy.spatial.distance import squareform
from sklearn.neighbors import NearestNeighbors

from mvlvm import defaults
from mvlvm.baselines.base import State, temporary_numpy_seed
from mvlvm.baselines.mixins import TransformMixin
from mvlvm.baselines.validation import Matrices, check_less_than_n_rows, check_n_components, concatenate_views
from mvlvm.checks import check_integer
from mvlvm.randomness import RandomStateLike


class Isomap(TransformMixin):
    """Isomap of all views side by side: distances on the map are those along the graph of nearest neighbours.

    Where the graph falls apart, its parts are joined at their nearest rows. A new row is as far from the training rows
    as the way by its neighbours is long, and is placed by these distances. For that the distances of all pairs of
    training rows are kept, in memory and in files.

    Args:
        n_components: latent dimensions, D.
        n_neighbors: neighbours of a row in the graph; fewer than rows.
        random_state: of the eigensolver where there are many rows.

    Attributes:
        embedding_: (N, D) the map.

    References:
        Tenenbaum, de Silva, Langford. A global geometric framework for nonlinear dimensionality reduction.
        Science 2000.
        de Silva, Tenenbaum. Global versus local methods in nonlinear dimensionality reduction. NeurIPS 2002: new rows.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        n_neighbors: int = 5,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y, n_neighbors = concatenate_views(views), check_integer(self.n_neighbors, "n_neighbors", at_least=1)
        check_less_than_n_rows(n_neighbors, "n_neighbors", len(Y))
        check_n_components("Isomap", self.n_components, len(Y) - 1)
        model = sklearn.manifold.Isomap(n_components=self.n_components, n_neighbors=n_neighbors)
        # its eigensolver draws from the global generator
        with warnings.catch_warnings(), temporary_numpy_seed(seed):
            # it joins the parts of a graph, as documented above, by changing a sparse matrix
            warnings.filterwarnings("ignore", message="The number of connected components of the neighbors graph")
            warnings.filterwarnings("ignore", message="Changing the sparsity structure")
            X = np.asarray(model.fit_transform(Y))
        self._rows, self._distances, self._n_neighbors = Y, np.asarray(model.dist_matrix_), n_neighbors
        return X

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        nearest = NearestNeighbors(n_neighbors=self._n_neighbors).fit(self._rows)
        lengths, neighbours = nearest.kneighbors(concatenate_views(views))
        ways = [(self._distances[rows] + way[:, None]).min(0) for way, rows in zip(lengths, neighbours, strict=True)]
        return embed_by_distances(np.stack(ways), self._distances, self.embedding_)

    def _state(self) -> State:
        return {
            "rows": self._rows,
            "distances": squareform(self._distances, checks=False),
            "n_neighbors": np.array(self._n_neighbors),
        }

    def _restore(self, state: State) -> None:
        self._rows, self._distances = state["rows"], squareform(state["distances"])
        self._n_neighbors = int(state["n_neighbors"])


def embed_by_distances(
    new: Float[np.ndarray, "K N"], distances: Float[np.ndarray, "N N"], X: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "K D"]:
    r"""Give coordinates of new rows on a map by classical scaling.

    $$ -\tfrac12 \sum_n \Big( \delta_n^2 - \frac1N \sum_i d_{in}^2 \Big) \frac{x_{nd}}{\sum_i x_{id}^2} $$

    A training row comes out where it is.

    Args:
        new: delta, from new rows to training rows.
        distances: d, among training rows.
        X: the map, whose columns are centred and orthogonal.
    """
    squares = np.maximum((X**2).sum(0), np.finfo(float).tiny)  # of a dimension without any distances, all is zero
    return -0.5 * (new**2 - (distances**2).mean(0)) @ (X / squares)
