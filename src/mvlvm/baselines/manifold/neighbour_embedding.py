"""Maps on which neighbours attract each other. They have no way back to the views, and new rows need a new map."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn.manifold
import torch
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, State, as_uint32_seed, temporary_numpy_seed
from mvlvm.baselines.validation import Matrices, check_less_than_n_rows, check_n_components, concatenate_views, max_rank
from mvlvm.checks import check_integer, check_number
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike

# Beyond this t-SNE has no approximation.
_MAX_BARNES_HUT_DIMENSIONS = 3


class AbstractNeighbourEmbedding(AbstractBaseline):
    """Maps all views side by side, each standardised and of the same total variance; keeps nothing but the map."""

    @abstractmethod
    def _map(self, Y: Float[np.ndarray, "N M"], seed: int) -> Float[np.ndarray, "N D"]:
        """Give the map of the rows."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        # some of these libraries fall back on the global generator
        with temporary_numpy_seed(seed):
            return np.asarray(self._map(concatenate_views(views), as_uint32_seed(seed)))

    def _state(self) -> State:
        return {}

    def _restore(self, state: State) -> None:
        del state


class TSNE(AbstractNeighbourEmbedding):
    """t-SNE of all views side by side: rows that are likely neighbours in the views are so on the map.

    Args:
        n_components: latent dimensions, D. From four on it needs time and memory in the square of the rows.
        perplexity: how many neighbours a row has, roughly; below the number of rows.
        max_iter: steps; at least 250, as the first of them exaggerate.
        learning_rate: of the steps; "auto" takes N / 48, at least 50.
        random_state: of the start, which is principal components, where their solver draws.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) the map.

    References:
        van der Maaten, Hinton. Visualizing data using t-SNE. JMLR 2008.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        perplexity: float = 30.0,
        max_iter: int = 1000,
        learning_rate: float | str = "auto",
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def _map(self, Y: Float[np.ndarray, "N M"], seed: int) -> Float[np.ndarray, "N D"]:
        perplexity = check_number(self.perplexity, "perplexity", positive=True)
        check_less_than_n_rows(perplexity, "perplexity", len(Y))
        check_n_components("t-SNE", self.n_components, max_rank(Y))  # it starts from principal components
        return sklearn.manifold.TSNE(
            self.n_components,
            perplexity=perplexity,
            max_iter=check_integer(self.max_iter, "max_iter", at_least=250),
            learning_rate=self._checked_rate(),
            random_state=seed,
            verbose=self.verbose,
            method="barnes_hut" if self.n_components <= _MAX_BARNES_HUT_DIMENSIONS else "exact",
        ).fit_transform(Y)

    def _checked_rate(self) -> Any:
        is_auto = isinstance(self.learning_rate, str) and self.learning_rate == "auto"
        return "auto" if is_auto else check_number(self.learning_rate, "learning_rate", positive=True)


class UMAP(AbstractNeighbourEmbedding):
    """UMAP of all views side by side: a fuzzy graph of neighbours, laid out so that a like graph comes of it.

    Args:
        n_components: latent dimensions, D.
        n_neighbors: neighbours of a row in the graph.
        min_dist: how near rows may come on the map.
        max_iter: rounds over the graph; None takes 500, or 200 where there are more than 10 000 rows.
        learning_rate: of the layout.
        random_state: of start and layout. A fit uses one core, so that it is repeatable.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) the map.

    References:
        McInnes, Healy, Melville. UMAP: uniform manifold approximation and projection. 2018.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        n_neighbors: int = 15,
        min_dist: float = 0.1,
        max_iter: int | None = None,
        learning_rate: float = 1.0,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def _map(self, Y: Float[np.ndarray, "N M"], seed: int) -> Float[np.ndarray, "N D"]:
        check_n_components("UMAP", self.n_components, len(Y) - 2)  # the others are constant on its graph
        max_iter = None if self.max_iter is None else check_integer(self.max_iter, "max_iter", at_least=1)
        parameters = {
            "n_components": self.n_components,
            "n_neighbors": check_integer(self.n_neighbors, "n_neighbors", at_least=2),
            "min_dist": check_number(self.min_dist, "min_dist", positive=False),
            "n_epochs": max_iter,
            "learning_rate": check_number(self.learning_rate, "learning_rate", positive=True),
        }
        with _preserve_torch_threads():
            return (
                _import_umap()
                .UMAP(**parameters, random_state=seed, n_jobs=1, verbose=bool(self.verbose))
                .fit_transform(Y)
            )


def _import_umap() -> Any:
    with warnings.catch_warnings():
        # it has one more method, which is not used here and needs more packages
        warnings.filterwarnings("ignore", message="Tensorflow not installed", category=ImportWarning)
        return require("umap", "UMAP", "baselines")


@contextmanager
def _preserve_torch_threads() -> Iterator[None]:
    """Undo that UMAP's compiler sets the threads of the whole process, torch's included, to the number of cores."""
    n_threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
