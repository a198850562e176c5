"""Neighbour embeddings: t-SNE and UMAP. They embed the training rows only and cannot reconstruct the views."""

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
from mvlvm.baselines.baseline_input import (
    Matrices,
    check_less_than_n_rows,
    check_n_components,
    concatenate_views,
    max_rank,
)
from mvlvm.checks import check_integer, check_number, require
from mvlvm.randomness import RandomStateLike

# The Barnes-Hut approximation of t-SNE supports at most three dimensions.
_MAX_BARNES_HUT_DIMENSIONS = 3


class AbstractNeighbourEmbedding(AbstractBaseline):
    """Base class: embeds the concatenated views, scaled to equal total variance, and stores only the embedding."""

    @abstractmethod
    def _embed(self, Y: Float[np.ndarray, "N M"], seed: int) -> Float[np.ndarray, "N D"]:
        """Return the (N, D) embedding of the rows."""

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        # some of these libraries use NumPy's global generator
        with temporary_numpy_seed(seed):
            return np.asarray(self._embed(concatenate_views(views), as_uint32_seed(seed)))

    def _get_state(self) -> State:
        return {}

    def _set_state(self, state: State) -> None:
        del state


class TSNE(AbstractNeighbourEmbedding):
    """t-SNE of the concatenated views: probable neighbours in the views are probable neighbours in the embedding.

    Args:
        n_components: number of latent dimensions, D. Above three, time and memory are quadratic in the number of rows.
        perplexity: effective number of neighbours of a row; less than the number of rows.
        max_iter: number of gradient steps; at least 250, because the first 250 use early exaggeration.
        learning_rate: learning rate; "auto" is N / 48, at least 50.
        random_state: seed of the PCA initialisation, whose solver is random for large data.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) embedding.

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

    def _embed(self, Y: Float[np.ndarray, "N M"], seed: int) -> Float[np.ndarray, "N D"]:
        perplexity = check_number(self.perplexity, "perplexity", positive=True)
        check_less_than_n_rows(perplexity, "perplexity", len(Y))
        check_n_components("t-SNE", self.n_components, max_rank(Y))  # t-SNE is initialised with principal components
        return sklearn.manifold.TSNE(
            self.n_components,
            perplexity=perplexity,
            max_iter=check_integer(self.max_iter, "max_iter", at_least=250),
            learning_rate=self._check_learning_rate(),
            random_state=seed,
            verbose=self.verbose,
            method="barnes_hut" if self.n_components <= _MAX_BARNES_HUT_DIMENSIONS else "exact",
        ).fit_transform(Y)

    def _check_learning_rate(self) -> Any:
        is_auto = isinstance(self.learning_rate, str) and self.learning_rate == "auto"
        return "auto" if is_auto else check_number(self.learning_rate, "learning_rate", positive=True)


class UMAP(AbstractNeighbourEmbedding):
    """UMAP of the concatenated views: a layout of the fuzzy k-nearest-neighbour graph that reproduces the graph.

    Args:
        n_components: number of latent dimensions, D.
        n_neighbors: number of neighbours per row in the graph.
        min_dist: minimum distance between rows in the embedding.
        max_iter: number of epochs; None means 500, or 200 for more than 10 000 rows.
        learning_rate: learning rate of the layout.
        random_state: seed of initialisation and layout. The fit uses one core, so that it is reproducible.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) embedding.

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

    def _embed(self, Y: Float[np.ndarray, "N M"], seed: int) -> Float[np.ndarray, "N D"]:
        check_n_components("UMAP", self.n_components, len(Y) - 2)  # limit of the spectral initialisation
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
        # parametric UMAP, which is not used here, needs TensorFlow
        warnings.filterwarnings("ignore", message="Tensorflow not installed", category=ImportWarning)
        return require("umap", "UMAP", "baselines")


@contextmanager
def _preserve_torch_threads() -> Iterator[None]:
    """Restore PyTorch's number of threads, because Numba, which UMAP uses, sets it to the number of cores."""
    n_threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
