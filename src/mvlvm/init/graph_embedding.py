r"""Initial latents that preserve neighbourhoods: embeddings of the k-nearest-neighbour graph of all views.

* A *Laplacian eigenmap* varies as little as possible along the edges of the graph.
* A *graph layout* maximises the cross-entropy between the graph and the neighbourhood probabilities
  $q_{ij} = 1 / (1 + |x_i - x_j|^2)$ of the latents, as UMAP does:

$$ \sum_{\mathrm{edges}} w_{ij} \log q_{ij} + \frac{c}{N} \sum_{i, j} g_i \log(1 - q_{ij}) $$

with the weights w of the graph and the degrees g of its rows. Edges attract; the second sum repels, and is estimated by
negative sampling: a few random rows per row and iteration.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.linalg import eigh
from torch import Tensor

from mvlvm.errors import ViewError
from mvlvm.init.covariance import covariance_embedding
from mvlvm.init.hot_deck import hot_deck_impute
from mvlvm.init.knn_graph import (
    MANY_ROWS,
    MAX_COMPONENTS,
    MAX_ROWS_EXACT,
    KNNGraph,
    knn_graph,
    nearest_neighbours_among,
)
from mvlvm.init.pca import normalise_views, principal_scores, whiten
from mvlvm.init.tsne import Progress, TSNEMap, no_progress, tsne_affinities, tsne_layout
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix

# Of more rows than this, a random subset is mapped, and the others are interpolated between their nearest rows in it.
# The eigenvalues of large graphs are so close together that iterative solvers do not converge to the right vectors.
_MAX_ROWS_DENSE = 2000
_N_INTERPOLATED = 5
# t-SNE compares rows in all columns if there are at most so many entries, or else in the components of most energy.
_MAX_ENTRIES = 10**8
_MAX_SCORES, _ENERGY = 200, 0.9
# The weight c of the repulsion, and the number of negative samples per row and iteration.
_REPULSION = 5.0
_N_NEGATIVE_SAMPLES = 10
# Iterations of the layout, for few and for many rows.
_N_ITER = 300
_N_ITER_MANY_ROWS = 150
# The standard deviation at which the layout starts, in units of the length scale of q.
_INITIAL_STD = 3.0
# Adam with a learning rate that decays linearly to zero. It is written out because torch.optim.Adam rounds differently:
# layouts are as good (1-NN accuracy over five seeds 0.853 and 0.850 on R-MNIST, 0.983 and 0.982 on halves of digits),
# but fits from them would no longer have the recorded bits.
_LEARNING_RATE = 0.5
_BETAS = (0.8, 0.99)
_EPS = 1e-6
# Repulsive forces are bounded, because their direction is arbitrary where two rows coincide.
_REPULSION_EPS = 1e-2
_MAX_REPULSION = 4.0


class GraphEmbeddings:
    """Embeddings of the k-nearest-neighbour graph of all views, (N, D), with uncorrelated dimensions of unit variance.

    Neighbours are those in all views side by side, each scaled to a norm, by default the same for all views. Rows
    without a view are compared by the views that both rows have (hot-deck imputation). Rows without any observed entry
    are not part of the graph, and are set to zero. Every embedding is computed once, on first use.

    Args:
        Ys: centred views; NaN marks missing entries.
        n_components: the number of dimensions D.
        generator: the source of all draws; on the CPU, so that they are the same on every device.
        norms: Frobenius norms of the views; None stands for ones.
        progress: shows the iterations of t-SNE.

    Raises:
        ViewError: the concatenated views have rank less than D, or too few rows.
    """

    def __init__(
        self,
        Ys: Sequence[Float[Tensor, "N _"]],
        n_components: int,
        generator: torch.Generator,
        norms: Sequence[float] | None = None,
        progress: Progress = no_progress,
    ) -> None:
        present = ~torch.stack([Y.isnan().all(dim=1) for Y in Ys], dim=1)
        known = present.any(dim=1)
        completed = normalise_views(Ys, n_components, norms)
        if not present.all():
            completed = hot_deck_impute(completed, present, norms)
        if not known.all():
            completed = ConcatenatedMatrix([Y[known] for Y in completed.parts], completed.factors)
        self._known, self._completed, self._generator = known, completed, generator
        self._scores = principal_scores(completed, n_components, at_most=max(MAX_COMPONENTS, n_components))
        self._n_components, self._progress = n_components, progress

    @cached_property
    def eigenmap(self) -> Float[Tensor, "N D"]:
        """The Laplacian eigenmap."""
        return self._of_all_rows(self._whitened_eigenmap)

    @cached_property
    def layout(self) -> Float[Tensor, "N D"]:
        """The graph layout."""
        # a layout that starts at the eigenmap does not tear curves apart, and reaches a higher bound
        initial = self._whitened_eigenmap
        layout = graph_layout(knn_graph(self._scores.float(), self._generator), initial, self._generator)
        return self._of_all_rows(whiten(layout.to(self._scores), self._completed))

    @cached_property
    def tsne(self) -> Float[Tensor, "N D"]:
        """A t-SNE layout that starts at the principal components, for one or two dimensions."""
        return self._of_all_rows(whiten(self.tsne_map.layout.to(self._scores), self._completed))

    @cached_property
    def tsne_map(self) -> TSNEMap:
        """The t-SNE layout in its own units, with the affinities of the rows that have an entry."""
        affinities = tsne_affinities(self._neighbour_space, self._fresh_generator)
        layout = tsne_layout(affinities, self._scores[:, : self._n_components], self._progress)
        return TSNEMap(affinities, layout)

    @cached_property
    def covariance(self) -> Float[Tensor, "N D"]:
        """Classical scaling of distances derived from the covariance of one view."""
        embedding = covariance_embedding(self._completed.parts, self._n_components, self._fresh_generator)
        return self._of_all_rows(whiten(embedding.to(self._scores), self._completed))

    @property
    def matrix(self) -> Float[Tensor, "n M"]:
        """All views side by side, each scaled to its norm, without rows that have no entry."""
        pairs = zip(self._completed.parts, self._completed.factors, strict=True)
        return torch.cat([Y * factor for Y, factor in pairs], dim=1)

    @property
    def known_rows(self) -> Bool[Tensor, " N"]:
        """Which rows have an observed entry."""
        return self._known

    @property
    def _neighbour_space(self) -> Float[Tensor, "n d"]:
        """The space in which neighbours are near: of all columns, or of principal components if there are many."""
        n_rows, n_columns = len(self._scores), sum(Y.shape[1] for Y in self._completed.parts)
        if n_rows <= MAX_ROWS_EXACT and n_rows * n_columns <= _MAX_ENTRIES:
            return self.matrix.float()
        return leading_scores(self._completed, self._n_components)

    @property
    def _fresh_generator(self) -> torch.Generator:
        """A generator in its initial state, so that an embedding does not depend on those before it."""
        return torch.Generator().manual_seed(self._generator.initial_seed())

    @cached_property
    def _whitened_eigenmap(self) -> Float[Tensor, "n D"]:
        embedding = laplacian_eigenmap(self._scores.float(), self._n_components, self._generator)
        return whiten(embedding.to(self._scores), self._completed)

    def _of_all_rows(self, X: Float[Tensor, "n D"]) -> Float[Tensor, "N D"]:
        latents = self._scores.new_zeros((len(self._known), self._n_components))
        latents[self._known] = X
        return latents


def leading_scores(completed: ConcatenatedMatrix, n_components: int) -> Float[Tensor, "n d"]:
    """Return the coordinates along the principal components that hold most of the energy, at most 200.

    Args:
        completed: normalised views without missing entries.
        n_components: the least number of components.
    """
    scores = principal_scores(completed, n_components, at_most=_MAX_SCORES)
    energy = scores.square().sum(dim=0).cumsum(dim=0)
    pairs = zip(completed.parts, completed.factors, strict=True)
    total = sum(float(Y.square().sum()) * factor**2 for Y, factor in pairs)
    return scores[:, : max(n_components, int((energy < _ENERGY * total).sum()) + 1)].float()


def laplacian_eigenmap(Z: Float[Tensor, "N d"], n_components: int, generator: torch.Generator) -> Float[Tensor, "N D"]:
    """Return the Laplacian eigenmap of the k-nearest-neighbour graph, (N, D).

    Args:
        Z: the rows.
        n_components: the number of dimensions D.
        generator: draws the subset of rows that is mapped, if there are many.

    Raises:
        ViewError: there are not more rows than components.
    """
    if len(Z) <= n_components:
        raise ViewError(
            f"n_components={n_components} is too large for the spectral initialisation of {len(Z)} rows. "
            f"Use n_components <= {len(Z) - 1}, or pass an array as init."
        )
    if len(Z) <= _MAX_ROWS_DENSE:
        return graph_eigenmap(knn_graph(Z, generator), n_components).to(Z)
    subset = torch.randperm(len(Z), generator=generator)[:_MAX_ROWS_DENSE].to(Z.device)
    mapped = graph_eigenmap(knn_graph(Z[subset], generator), n_components).to(Z)
    near = nearest_neighbours_among(Z, Z[subset], _N_INTERPOLATED)
    weight = 1 / near.squared_distances.clamp_min(torch.finfo(Z.dtype).tiny).sqrt()
    weight = weight / weight.sum(dim=1, keepdim=True)
    return torch.einsum("nk,nkd->nd", weight, mapped[near.indices])


def graph_eigenmap(graph: KNNGraph, n_components: int) -> Float[Tensor, "N D"]:
    r"""Return the Laplacian eigenmap of a connected graph, (N, D).

    With the adjacency matrix A and the diagonal matrix G of degrees, the map is $G^{-1/2} v$ for the leading
    eigenvectors v of $G^{-1/2} A G^{-1/2}$ except the first, for which it is constant.
    """
    A = graph.matrix().toarray()
    scale = 1 / np.sqrt(A.sum(axis=1))
    N = graph.n_rows
    _, vectors = eigh(scale[:, None] * A * scale, subset_by_index=(N - 1 - n_components, N - 2))
    return torch.tensor(scale[:, None] * vectors[:, ::-1])


def graph_layout(graph: KNNGraph, initial: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N D"]:
    """Return a layout of a graph, (N, D), along its principal axes.

    Args:
        graph: the neighbour graph.
        initial: the layout to start from, at unit variance.
        generator: draws the negative samples.
    """
    X = _INITIAL_STD * initial.float().cpu().T.contiguous()
    first_moment, second_moment = torch.zeros_like(X), torch.zeros_like(X)
    n_iter = _N_ITER if graph.n_rows <= MANY_ROWS else _N_ITER_MANY_ROWS
    degree = torch.zeros(graph.n_rows).index_add_(0, graph.source, graph.weight)
    for step in range(n_iter):
        gradient = _attraction(X, graph) + _repulsion(X, degree, generator)
        first_moment.lerp_(gradient, 1 - _BETAS[0])
        second_moment.lerp_(gradient.square(), 1 - _BETAS[1])
        mean, variance = first_moment / (1 - _BETAS[0] ** (step + 1)), second_moment / (1 - _BETAS[1] ** (step + 1))
        X += _LEARNING_RATE * (1 - step / n_iter) * (mean / (variance.sqrt() + _EPS))
    layout = X.T.double()
    layout = layout - layout.mean(dim=0)
    return layout @ torch.linalg.svd(layout, full_matrices=False).Vh.T


def _attraction(X: Float[Tensor, "D N"], graph: KNNGraph) -> Float[Tensor, "D N"]:
    """Return the gradient of the first sum; every edge is stored in both directions and moves both its rows."""
    difference = X[:, graph.target] - X[:, graph.source]
    strength = graph.weight / (1 + difference.square().sum(dim=0))
    return torch.zeros_like(X).index_add_(1, graph.source, 4 * strength * difference)


def _repulsion(
    X: Float[Tensor, "D N"], degree: Float[Tensor, " N"], generator: torch.Generator
) -> Float[Tensor, "D N"]:
    """Estimate the gradient of the second sum by negative samples, drawn independently for every row."""
    gradient, N = torch.zeros_like(X), X.shape[1]
    for _ in range(_N_NEGATIVE_SAMPLES):
        other = torch.randint(N, (N,), generator=generator)
        difference = X - X[:, other]
        squared = difference.square().sum(dim=0)
        force = 2 / ((_REPULSION_EPS + squared) * (1 + squared)) * difference
        gradient += force.clamp_(-_MAX_REPULSION, _MAX_REPULSION)
    return _REPULSION / _N_NEGATIVE_SAMPLES * degree * gradient
