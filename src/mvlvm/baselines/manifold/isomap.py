"""Isomap: an embedding of the geodesic distances along the k-nearest-neighbour graph."""

import warnings

import numpy as np
import sklearn.manifold
from jaxtyping import Float
from scipy.spatial.distance import squareform
from sklearn.neighbors import NearestNeighbors

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, State, TransformMixin, temporary_numpy_seed
from mvlvm.baselines.baseline_input import Matrices, check_less_than_n_rows, check_n_components, concatenate_views
from mvlvm.checks import check_integer
from mvlvm.randomness import RandomStateLike


class Isomap(TransformMixin, AbstractBaseline):
    """Isomap of the concatenated views: distances in the embedding match those along the k-nearest-neighbour graph.

    If the graph is not connected, its components are joined at their nearest rows. The distance from a new row to a
    training row is that of the shortest path through its nearest neighbours, and the new row is embedded by these
    distances. Therefore all pairwise distances of the training rows are stored in memory and in saved files.

    Args:
        n_components: number of latent dimensions, D.
        n_neighbors: number of neighbours per row in the graph; less than the number of rows.
        random_state: seed of the eigensolver, which is random for large data.

    Attributes:
        embedding_: (N, D) embedding.

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

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y, n_neighbors = concatenate_views(views), check_integer(self.n_neighbors, "n_neighbors", at_least=1)
        check_less_than_n_rows(n_neighbors, "n_neighbors", len(Y))
        check_n_components("Isomap", self.n_components, len(Y) - 1)
        model = sklearn.manifold.Isomap(n_components=self.n_components, n_neighbors=n_neighbors)
        # the eigensolver uses NumPy's global generator
        with warnings.catch_warnings(), temporary_numpy_seed(seed):
            # scikit-learn joins the components of the graph, as documented above, by changing a sparse matrix
            warnings.filterwarnings("ignore", message="The number of connected components of the neighbors graph")
            warnings.filterwarnings("ignore", message="Changing the sparsity structure")
            X = np.asarray(model.fit_transform(Y))
        self._rows, self._distances, self._n_neighbors = Y, np.asarray(model.dist_matrix_), n_neighbors
        return X

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        nearest = NearestNeighbors(n_neighbors=self._n_neighbors).fit(self._rows)
        lengths, neighbours = nearest.kneighbors(concatenate_views(views))
        geodesics = [
            (self._distances[rows] + length[:, None]).min(0)
            for length, rows in zip(lengths, neighbours, strict=True)
        ]  # fmt: skip
        return embed_by_distances(np.stack(geodesics), self._distances, self.embedding_)

    def _get_state(self) -> State:
        return {
            "rows": self._rows,
            "distances": squareform(self._distances, checks=False),
            "n_neighbors": np.array(self._n_neighbors),
        }

    def _set_state(self, state: State) -> None:
        self._rows, self._distances = state["rows"], squareform(state["distances"])
        self._n_neighbors = int(state["n_neighbors"])


def embed_by_distances(
    new: Float[np.ndarray, "K N"], distances: Float[np.ndarray, "N N"], X: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "K D"]:
    r"""Return the (K, D) coordinates of new rows in an embedding, by classical multidimensional scaling.

    $$ -\tfrac12 \sum_n \Big( \delta_n^2 - \frac1N \sum_i d_{in}^2 \Big) \frac{x_{nd}}{\sum_i x_{id}^2} $$

    Training rows are mapped to their positions in the embedding.

    Args:
        new: distances delta from new rows to training rows.
        distances: distances d among training rows.
        X: embedding of the training rows, with centred and orthogonal columns.
    """
    squares = np.maximum((X**2).sum(0), np.finfo(float).tiny)  # avoids 0 / 0 in a dimension of zero variance
    return -0.5 * (new**2 - (distances**2).mean(0)) @ (X / squares)
