"""Weighted k-nearest-neighbour graphs.

Neighbours are found by exact search, and among many rows by random projection trees: a tree recursively splits the rows
at the median of their projections on a random direction until a few hundred are left in a leaf, and all pairs within a
leaf are compared. Near rows are likely to share a leaf in at least one of several trees.

The weights of a row's edges are a Gaussian kernel of the distances, with a bandwidth per row that fixes the perplexity,
as in t-SNE.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

# Distances are computed in the space of at most this many principal components.
MAX_COMPONENTS = 50
# Distances in memory at a time, 64 MB in float32.
DISTANCES_PER_BLOCK = 2**24
# From this number of rows on, graphs have half as many edges, and layouts take half as many iterations.
MANY_ROWS = 10_000
# Exact search up to this number of rows, trees beyond. On MNIST (70,000 x 50, k = 15, one thread) own trees take 5 s at
# a recall of 0.78, pynndescent 16 s at 0.99, scikit-learn's exact search 21 s.
MAX_ROWS_EXACT = 10_000
_N_TREES = 8
# Distances of more neighbours and columns, multiplied, are those of scikit-learn's search, which lose a few digits.
_MAX_RECOMPUTED = 5000
_LEAF_SIZE = 400
# Edges per row. 30 give a higher bound than 15 on five of six data sets, by 0.001 to 0.06 nats per entry.
_N_NEIGHBOURS = 30
# The perplexity of a row's weights, as a fraction of its number of neighbours, and its least value.
_RELATIVE_PERPLEXITY = 1 / 3
_MIN_PERPLEXITY = 5
# Keeps edges that are much longer than the others of their row from vanishing.
_MIN_WEIGHT = 1e-6
# Bisection of the log bandwidth, between these limits.
_N_BISECTIONS = 40
_MAX_LOG_BANDWIDTH = 40.0
# The weight of an edge that connects two components of the graph.
_BRIDGE_WEIGHT = 0.5


class Neighbours(NamedTuple):
    """The nearest neighbours of every row, nearest first.

    Attributes:
        indices: their row numbers.
        squared_distances: their squared Euclidean distances.
    """

    indices: Int[Tensor, "N k"]
    squared_distances: Float[Tensor, "N k"]


class KNNGraph(NamedTuple):
    """A connected, symmetric graph on the CPU: every edge is stored in both directions, sorted by source.

    Attributes:
        source: the first row of every edge.
        target: the second row of every edge.
        weight: positive weights; those of the edges of a row sum to about one.
        n_rows: the number of rows N.
    """

    source: Int[Tensor, " E"]
    target: Int[Tensor, " E"]
    weight: Float[Tensor, " E"]
    n_rows: int

    def matrix(self) -> csr_array:
        """Return the weighted adjacency matrix, sparse (N, N)."""
        indices = self.source.numpy(), self.target.numpy()
        return csr_array((self.weight.double().numpy(), indices), shape=(self.n_rows, self.n_rows))


def knn_graph(Z: Float[Tensor, "N d"], generator: torch.Generator) -> KNNGraph:
    """Build the symmetric k-nearest-neighbour graph of rows, and connect its components.

    The weight of an edge is the mean of the two directed weights of `edge_weights`.

    Args:
        Z: the rows, at least two.
        generator: draws the random projections.
    """
    k = _N_NEIGHBOURS if len(Z) <= MANY_ROWS else _N_NEIGHBOURS // 2
    near = nearest_neighbours(Z, min(k, len(Z) - 1), generator)
    weight = edge_weights(near).clamp_min(_MIN_WEIGHT).cpu().double().numpy()
    indices = np.repeat(np.arange(len(Z)), weight.shape[1]), near.indices.cpu().numpy().ravel()
    directed = csr_array((weight.ravel(), indices), shape=(len(Z), len(Z)))
    adjacency = _connect_components((directed + directed.T) / 2, Z.cpu(), generator).tocoo()
    order = np.lexsort((adjacency.col, adjacency.row))
    source, target, weights = (torch.as_tensor(part[order]) for part in (adjacency.row, adjacency.col, adjacency.data))
    return KNNGraph(source.long(), target.long(), weights.float(), len(Z))


def edge_weights(near: Neighbours, perplexity: float | None = None) -> Float[Tensor, "N k"]:
    """Return a weight for every neighbour, (N, k); those of a row sum to one and have a fixed perplexity.

    Args:
        near: the neighbours.
        perplexity: None stands for a third of the number of neighbours, or five if that is more.
    """
    squared = near.squared_distances.double()
    squared = squared - squared[:, :1]
    # in units of their mean, so that the limits of the bisection suit every row; duplicates all have distance zero
    squared = squared / squared.mean(dim=1, keepdim=True).clamp_min(torch.finfo(squared.dtype).tiny)
    k = squared.shape[1]
    target = math.log(min(k, max(_MIN_PERPLEXITY, _RELATIVE_PERPLEXITY * k) if perplexity is None else perplexity))
    low = torch.full_like(squared[:, :1], -_MAX_LOG_BANDWIDTH)
    high = torch.full_like(squared[:, :1], _MAX_LOG_BANDWIDTH)
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        share = torch.softmax(-squared * middle.exp(), dim=1)
        entropy = torch.special.entr(share).sum(dim=1, keepdim=True)
        low, high = torch.where(entropy > target, middle, low), torch.where(entropy > target, high, middle)
    return torch.softmax(-squared * low.exp(), dim=1)


def _connect_components(graph: csr_array, Z: Float[Tensor, "N d"], generator: torch.Generator) -> csr_array:
    """Connect every component to that with the nearest centroid, by an edge between the rows nearest the centroids."""
    while True:
        n_components, component = connected_components(graph, directed=False)
        if n_components == 1:
            return graph
        labels = torch.as_tensor(component).long()
        centroid = torch.zeros((n_components, Z.shape[1]), dtype=Z.dtype).index_add_(0, labels, Z)
        centroid /= torch.bincount(labels, minlength=n_components)[:, None]
        nearest = nearest_neighbours(centroid, 1, generator).indices[:, 0].numpy()
        squared = (Z - centroid[labels]).square().sum(dim=1).numpy()
        order = np.lexsort((squared, component))
        medoid = order[np.searchsorted(component[order], np.arange(n_components))]
        indices = np.concatenate([medoid, medoid[nearest]]), np.concatenate([medoid[nearest], medoid])
        bridges = csr_array((np.full(len(indices[0]), _BRIDGE_WEIGHT), indices), shape=graph.shape)
        graph = graph + bridges


def nearest_neighbours(Z: Float[Tensor, "N d"], k: int, generator: torch.Generator) -> Neighbours:
    """Find the k nearest other rows of every row: exactly, or approximately if there are more than `MAX_ROWS_EXACT`.

    Args:
        Z: the rows.
        k: the number of neighbours, less than N.
        generator: draws the random projections; on the CPU, so that they are the same on every device.
    """
    if len(Z) > MAX_ROWS_EXACT:
        return _sorted_by_distance(Z, Z, _tree_search(Z, k, generator))
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z.cpu().numpy())
    if k * Z.shape[1] > _MAX_RECOMPUTED:
        distances, indices = (torch.as_tensor(part).to(Z.device) for part in search.kneighbors())
        return Neighbours(indices, distances.square().to(Z))
    return _sorted_by_distance(Z, Z, torch.as_tensor(search.kneighbors(return_distance=False)).to(Z.device))


def nearest_neighbours_among(Z: Float[Tensor, "N d"], others: Float[Tensor, "R d"], k: int) -> Neighbours:
    """Find the k nearest of R other rows for every row, exactly."""
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(others.cpu().numpy())
    indices = torch.as_tensor(search.kneighbors(Z.cpu().numpy(), return_distance=False)).to(Z.device)
    return _sorted_by_distance(Z, others, indices)


def squared_distances(A: Float[Tensor, "*L n d"], B: Float[Tensor, "*L m d"]) -> Float[Tensor, "*L n m"]:
    """Return the squared distances of all pairs, (..., n, m), by |a|^2 + |b|^2 - 2 a'b, which loses digits."""
    products = A @ B.transpose(-1, -2)
    return A.square().sum(dim=-1)[..., None] + B.square().sum(dim=-1)[..., None, :] - 2 * products


def _sorted_by_distance(
    Z: Float[Tensor, "N d"], others: Float[Tensor, "R d"], indices: Int[Tensor, "N k"]
) -> Neighbours:
    """Sort neighbours by their distances, computed anew from differences, which do not cancel."""
    squared = torch.stack([(Z - others[column]).square().sum(dim=1) for column in indices.T], dim=1)
    order = squared.argsort(dim=1, stable=True)
    return Neighbours(indices.gather(1, order), squared.gather(1, order))


def _tree_search(Z: Float[Tensor, "N d"], k: int, generator: torch.Generator) -> Int[Tensor, "N k"]:
    """Return approximate nearest neighbours: the nearest among all rows that share a leaf in one of the trees."""
    index = torch.full((len(Z), k), -1, device=Z.device)
    squared = torch.full((len(Z), k), torch.inf, dtype=Z.dtype, device=Z.device)
    for _ in range(_N_TREES):
        for leaves in _tree_leaves(Z, generator).split(max(1, DISTANCES_PER_BLOCK // _LEAF_SIZE**2)):
            rows, new_index, new_squared = _search_leaves(Z, leaves, k)
            both = torch.cat([index[rows], new_index], dim=1), torch.cat([squared[rows], new_squared], dim=1)
            index[rows], squared[rows] = _nearest_unique(*both, k)
    return index


def _tree_leaves(Z: Float[Tensor, "N d"], generator: torch.Generator) -> Int[Tensor, "L n"]:
    """Return the leaves of one random projection tree, (L, n); some rows are repeated to make leaves equally large."""
    N, depth = len(Z), 0
    while _LEAF_SIZE << depth < N:
        depth += 1
    projections = Z @ torch.randn((Z.shape[1], depth), generator=generator).to(Z)
    n_repeated = -N % 2**depth
    nodes = torch.cat([torch.randperm(N, generator=generator), torch.randperm(N, generator=generator)[:n_repeated]])
    nodes = nodes.to(Z.device)[None]
    for level in range(depth):
        order = projections[nodes, level].argsort(dim=1, stable=True)
        nodes = nodes.gather(1, order).reshape(2 * len(nodes), -1)
    return nodes


def _search_leaves(
    Z: Float[Tensor, "N d"], leaves: Int[Tensor, "L n"], k: int
) -> tuple[Int[Tensor, " R"], Int[Tensor, "R k"], Float[Tensor, "R k"]]:
    """Return the rows in some leaves without repetition, (R,), their neighbours and squared distances there, (R, k)."""
    squared = squared_distances(Z[leaves], Z[leaves])
    squared.masked_fill_(leaves[:, :, None] == leaves[:, None, :], torch.inf)
    squared, position = squared.topk(k, largest=False)
    index = leaves[:, None, :].expand(-1, leaves.shape[1], -1).gather(2, position)
    rows = leaves.flatten()
    first = torch.full((len(Z),), len(rows), device=Z.device)
    first.scatter_reduce_(0, rows, torch.arange(len(rows), device=Z.device), "amin")
    unique = first[first < len(rows)]
    return rows[unique], index.flatten(0, 1)[unique], squared.flatten(0, 1)[unique]


def _nearest_unique(
    index: Int[Tensor, "R K"], squared: Float[Tensor, "R K"], k: int
) -> tuple[Int[Tensor, "R k"], Float[Tensor, "R k"]]:
    """Return the k nearest candidates without repetition, and their squared distances."""
    index, order = index.sort(dim=1, stable=True)
    squared = squared.gather(1, order)
    squared[:, 1:].masked_fill_(index[:, 1:] == index[:, :-1], torch.inf)
    squared, position = squared.topk(k, largest=False)
    return index.gather(1, position), squared
