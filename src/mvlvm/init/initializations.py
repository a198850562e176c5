"""Initialisations of the latents by name. A new one is a subclass of `AbstractInitialization` and an entry here."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.init.graph_embedding import GraphEmbeddings
from mvlvm.init.pca import rotated_pca_init
from mvlvm.init.private import private_init
from mvlvm.init.tsne import MAX_DIM_INTERPOLATED, Progress, no_progress
from mvlvm.models.multiview import Dimensions
from mvlvm.randomness import Stream, make_generator


@dataclass(frozen=True)
class InitViews:
    """The views that initial latents are computed from.

    Attributes:
        arrays: view name -> scaled view, centred; NaN marks missing entries.
        dimensions: which view depends on which latent dimensions.
        seed: of initialisations that draw random numbers.
        norms: view name -> Frobenius norm of the view beside the others; None stands for ones.
        progress: shows the progress of long computations.
    """

    arrays: Mapping[str, Float[Tensor, "N _"]]
    dimensions: Dimensions
    seed: int
    norms: Mapping[str, float] | None = None
    progress: Progress = no_progress

    @property
    def n_observed_rows(self) -> int:
        """The number of rows with an observed entry."""
        return int(torch.stack([~Y.isnan().all(dim=1) for Y in self.arrays.values()]).any(dim=0).sum())

    @cached_property
    def graph(self) -> GraphEmbeddings:
        """Embeddings of the k-nearest-neighbour graph, which several initialisations share."""
        generator = make_generator(self.seed, Stream.INITIALISATION)
        matrices, n_shared = list(self.arrays.values()), self.dimensions.n_shared
        return GraphEmbeddings(matrices, n_shared, generator, self.norms_in_order, self.progress)

    @property
    def norms_in_order(self) -> list[float] | None:
        """The norms in the order of the views."""
        return None if self.norms is None else [self.norms[name] for name in self.arrays]


@runtime_checkable
class Transformer(Protocol):
    """A transformer in the sense of scikit-learn."""

    def fit_transform(self, X: Any) -> Any:
        """Fit, and return the embedding of the rows."""


class AbstractInitialization(ABC):
    """An initialisation of the latents.

    Attributes:
        name: value of the parameter `init`.
    """

    name: ClassVar[str]

    def is_applicable(self, views: InitViews) -> bool:
        """Return whether the initialisation is one of those that `init="auto"` tries for these views."""
        return True

    @abstractmethod
    def latents(self, views: InitViews) -> Float[Tensor, "N _"]:
        """Return initial means of the shared dimensions, or of all, at unit variance."""


class PCAInitialization(AbstractInitialization):
    """Principal components of all views side by side; canonical components if there are private dimensions."""

    name: ClassVar[str] = "pca"

    def latents(self, views: InitViews) -> Float[Tensor, "N D"]:
        """Return initial means of all dimensions."""
        matrices, dimensions = list(views.arrays.values()), views.dimensions
        if dimensions.private:
            return private_init(matrices, list(views.arrays), dimensions)
        return rotated_pca_init(matrices, dimensions.n_shared, views.norms_in_order)


class EigenmapInitialization(AbstractInitialization):
    """The Laplacian eigenmap of the k-nearest-neighbour graph."""

    name: ClassVar[str] = "spectral"

    def is_applicable(self, views: InitViews) -> bool:
        """Return whether there are more rows than dimensions."""
        return views.n_observed_rows > views.dimensions.n_shared

    def latents(self, views: InitViews) -> Float[Tensor, "N K"]:
        """Return initial means of the shared dimensions."""
        return views.graph.eigenmap


class NeighbourInitialization(AbstractInitialization):
    """A layout that preserves neighbours: by t-SNE in up to two dimensions, of the neighbour graph in more."""

    name: ClassVar[str] = "tsne"

    def is_applicable(self, views: InitViews) -> bool:
        """Return whether there are more rows than dimensions."""
        return views.n_observed_rows > views.dimensions.n_shared

    def latents(self, views: InitViews) -> Float[Tensor, "N K"]:
        """Return initial means of the shared dimensions."""
        is_map = views.dimensions.n_shared <= MAX_DIM_INTERPOLATED
        return views.graph.tsne if is_map else views.graph.layout


class CovarianceInitialization(AbstractInitialization):
    """Classical scaling of distances derived from the covariance of one view."""

    name: ClassVar[str] = "covariance"

    def is_applicable(self, views: InitViews) -> bool:
        """Return whether there are more rows than dimensions."""
        return views.n_observed_rows > views.dimensions.n_shared

    def latents(self, views: InitViews) -> Float[Tensor, "N K"]:
        """Return initial means of the shared dimensions."""
        return views.graph.covariance


# In the order in which `init="auto"` tries them.
INITIALIZATIONS: dict[str, AbstractInitialization] = {
    kind.name: kind
    for kind in (
        PCAInitialization(), EigenmapInitialization(), NeighbourInitialization(), CovarianceInitialization(),
    )
}  # fmt: skip
# Name of initial latents computed by a callable or a transformer.
CUSTOM = "custom"
# Older names.
ALIASES = {"neighbors": NeighbourInitialization.name}


def is_custom(init: Any) -> bool:
    """Return whether the parameter `init` is a callable or a transformer."""
    return isinstance(init, Transformer) or callable(init)


def initial_means(init: AbstractInitialization, views: InitViews) -> Float[Tensor, "N D"]:
    """Return initial means of all dimensions."""
    return with_private(init.latents(views), views)


def with_private(mean: Float[Tensor, "N _"], views: InitViews) -> Float[Tensor, "N D"]:
    """Append the private dimensions to initial means that lack them."""
    if mean.shape[1] == views.dimensions.total:
        return mean
    return private_init(list(views.arrays.values()), list(views.arrays), views.dimensions, shared=mean)
