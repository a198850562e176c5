"""The nearest other rows of every row: all pairs in blocks, or for many rows the pairs that random trees put together.

A tree halves the rows again and again, each time by how far they lie along a random direction, until a few hundred are
left in a leaf. Near rows mostly end in the same leaf of some tree, and within leaves all pairs are looked at.

Which rows are alike: a weighted graph of nearest neighbours.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

# Up to this many rows all pairs are looked at. Beyond, trees find about three of four (MNIST,
# 70,000 rows), which is enough for a start.
MAX_ROWS_EXACT = 10_000
_N_TREES = 8
_LEAF = 400
# Rows are compared by at most this many principal components.
MAX_COMPONENTS = 50
# Distances held at a time, 64 MB in float32.
DISTANCES_PER_BLOCK = 2**24


class NearestNeighbours(NamedTuple):
    """The nearest other rows of every row, nearest first, and their squared distances."""

    indices: Int[Tensor, "N k"]
    squared_distances: Float[Tensor, "N k"]


def nearest_neighbours(Z: Float[Tensor, "N d"], k: int, generator: torch.Generator) -> NearestNeighbours:
    """Find the k nearest other rows of every row.

    Args:
        Z: the rows.
        k: fewer than there are rows.
        generator: of the trees' directions; on the CPU, so that they are the same on every device.
    """
    rows = _exact_search(Z, k) if len(Z) <= MAX_ROWS_EXACT else _tree_search(Z, k, generator)
    return _measured(Z, Z, rows)


def nearest_neighbours_among(Z: Float[Tensor, "N d"], others: Float[Tensor, "R d"], k: int) -> NearestNeighbours:
    """Find for every row the k nearest of some other rows."""
    blocks = Z.split(max(1, DISTANCES_PER_BLOCK // len(others)))
    return _measured(Z, others, torch.cat([_nearest(squared_distances(block, others), k) for block in blocks]))


def _measured(Z: Float[Tensor, "N d"], others: Float[Tensor, "R d"], rows: Int[Tensor, "N k"]) -> NearestNeighbours:
    """Sort by distances, taken once more: small differences of large squares are rounding."""
    squared = torch.stack([(Z - others[column]).square().sum(dim=1) for column in rows.T], dim=1)
    order = squared.argsort(dim=1, stable=True)
    return NearestNeighbours(rows.gather(1, order), squared.gather(1, order))


def _nearest(squared: Float[Tensor, "n m"], k: int) -> Int[Tensor, "n k"]:
    return squared.topk(k, largest=False).indices


def _exact_search(Z: Float[Tensor, "N d"], k: int) -> Int[Tensor, "N k"]:
    found = []
    for block in torch.arange(len(Z), device=Z.device).split(max(1, DISTANCES_PER_BLOCK // len(Z))):
        squared = squared_distances(Z[block], Z)
        squared[torch.arange(len(block), device=Z.device), block] = torch.inf
        found.append(_nearest(squared, k))
    return torch.cat(found)


def _tree_search(Z: Float[Tensor, "N d"], k: int, generator: torch.Generator) -> Int[Tensor, "N k"]:
    index = torch.full((len(Z), k), -1, device=Z.device)
    squared = torch.full((len(Z), k), torch.inf, dtype=Z.dtype, device=Z.device)
    for _ in range(_N_TREES):
        for leaves in _tree_leaves(Z, generator).split(max(1, DISTANCES_PER_BLOCK // _LEAF**2)):
            rows, near, far = _within_leaves(Z, leaves, k)
            both = torch.cat([index[rows], near], dim=1), torch.cat([squared[rows], far], dim=1)
            index[rows], squared[rows] = _nearest_of(*both, k)
    return index


def _tree_leaves(Z: Float[Tensor, "N d"], generator: torch.Generator) -> Int[Tensor, "L n"]:
    """Grow one tree and give its leaves, all of one size; some rows are in two of them to make it come out even."""
    N, depth = len(Z), 0
    while _LEAF << depth < N:
        depth += 1
    along = Z @ torch.randn((Z.shape[1], depth), generator=generator).to(Z)
    spare = -N % 2**depth
    nodes = torch.cat([torch.randperm(N, generator=generator), torch.randperm(N, generator=generator)[:spare]])
    nodes = nodes.to(Z.device)[None]
    for level in range(depth):
        order = along[nodes, level].argsort(dim=1, stable=True)
        nodes = nodes.gather(1, order).reshape(2 * len(nodes), -1)
    return nodes


def _within_leaves(
    Z: Float[Tensor, "N d"], leaves: Int[Tensor, "L n"], k: int
) -> tuple[Int[Tensor, " R"], Int[Tensor, "R k"], Float[Tensor, "R k"]]:
    """Give the rows of leaves, each once, with their nearest rows there and how far these are."""
    squared = squared_distances(Z[leaves], Z[leaves])
    squared.masked_fill_(leaves[:, :, None] == leaves[:, None, :], torch.inf)
    far, place = squared.topk(k, largest=False)
    near = leaves[:, None, :].expand(-1, leaves.shape[1], -1).gather(2, place)
    rows = leaves.flatten()
    first = torch.full((len(Z),), len(rows), device=Z.device)
    first.scatter_reduce_(0, rows, torch.arange(len(rows), device=Z.device), "amin")
    once = first[first < len(rows)]
    return rows[once], near.flatten(0, 1)[once], far.flatten(0, 1)[once]


def _nearest_of(
    index: Int[Tensor, "R K"], squared: Float[Tensor, "R K"], k: int
) -> tuple[Int[Tensor, "R k"], Float[Tensor, "R k"]]:
    """Give the nearest among candidates, each once however often it was found."""
    index, order = index.sort(dim=1, stable=True)
    squared = squared.gather(1, order)
    squared[:, 1:].masked_fill_(index[:, 1:] == index[:, :-1], torch.inf)
    squared, place = squared.topk(k, largest=False)
    return index.gather(1, place), squared


def squared_distances(A: Float[Tensor, "*L n d"], B: Float[Tensor, "*L m d"]) -> Float[Tensor, "*L n m"]:
    """Give the squared distance of every two rows, to the precision of differences of squares."""
    products = A @ B.transpose(-1, -2)
    return A.square().sum(dim=-1)[..., None] + B.square().sum(dim=-1)[..., None, :] - 2 * products


# NearestNeighbours of a row, half of them where there are many rows; a third as many equally near ones would weigh the same.
# Measured: 30 give a better bound than 15 on five of six data sets, by 0.001 to 0.06 nats per entry.
_N_NEIGHBOURS = 30
_MANY = 10_000
_EQUALLY_NEAR = 1 / 3
# An edge is an edge, however long it is beside the others of its row.
_LEAST_WEIGHT = 1e-6
_FEWEST = 5
# Halvings of the logarithm of a width. A weight need not be exact.
_HALVINGS = 40
_WIDEST = 40.0


class KNNGraph(NamedTuple):
    """A symmetric graph: every edge is there in both directions, sorted by its first end.

    Attributes:
        start: one end of every edge.
        end: the other.
        weight: of the edge, positive; the weights of a row's edges sum to about one.
        n_rows: N.
    """

    source: Int[Tensor, " E"]
    target: Int[Tensor, " E"]
    weight: Float[Tensor, " E"]
    n_rows: int

    def matrix(self) -> csr_array:
        """Give the graph as a sparse matrix."""
        ends = self.source.numpy(), self.target.numpy()
        return csr_array((self.weight.double().numpy(), ends), shape=(self.n_rows, self.n_rows))


def knn_graph(Z: Float[Tensor, "N d"], generator: torch.Generator) -> KNNGraph:
    """Join every row to its nearest ones, and all rows to one graph. It is on the CPU.

    A row's weights are a normal density of the distances, as wide as makes their entropy that of a third as many
    neighbours, all equally near; the weight of an edge is the mean of what its two ends say.

    Args:
        Z: the rows, at least two of them.
        generator: of the search for neighbours.
    """
    k = _N_NEIGHBOURS if len(Z) <= _MANY else _N_NEIGHBOURS // 2
    near = nearest_neighbours(Z, min(k, len(Z) - 1), generator)
    weight = edge_weights(near).clamp_min(_LEAST_WEIGHT).cpu().double().numpy()
    ends = np.repeat(np.arange(len(Z)), weight.shape[1]), near.indices.cpu().numpy().ravel()
    directed = csr_array((weight.ravel(), ends), shape=(len(Z), len(Z)))
    both = _joined((directed + directed.T) / 2, Z.cpu(), generator).tocoo()
    order = np.lexsort((both.col, both.row))
    start, end, weights = (torch.as_tensor(part[order]) for part in (both.row, both.col, both.data))
    return KNNGraph(start.long(), end.long(), weights.float(), len(Z))


def edge_weights(near: NearestNeighbours) -> Float[Tensor, "N k"]:
    """Give the weight of every neighbour; those of a row sum to one."""
    squared = near.squared_distances.double()
    squared = squared - squared[:, :1]
    # in units of the mean, so that widths are looked for between fixed ends; copies of a row are all equally near
    squared = squared / squared.mean(dim=1, keepdim=True).clamp_min(torch.finfo(squared.dtype).tiny)
    k = squared.shape[1]
    target = math.log(min(k, max(_FEWEST, _EQUALLY_NEAR * k)))
    low, high = torch.full_like(squared[:, :1], -_WIDEST), torch.full_like(squared[:, :1], _WIDEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        share = torch.softmax(-squared * middle.exp(), dim=1)
        entropy = torch.special.entr(share).sum(dim=1, keepdim=True)
        low, high = torch.where(entropy > target, middle, low), torch.where(entropy > target, high, middle)
    return torch.softmax(-squared * low.exp(), dim=1)


def _joined(graph: csr_array, Z: Float[Tensor, "N d"], generator: torch.Generator) -> csr_array:
    """Tie the parts of a graph together: each to the one whose centre is nearest, by the rows nearest the centres."""
    while True:
        n_parts, part = connected_components(graph, directed=False)
        if n_parts == 1:
            return graph
        where = torch.as_tensor(part).long()
        centre = torch.zeros((n_parts, Z.shape[1]), dtype=Z.dtype).index_add_(0, where, Z)
        centre /= torch.bincount(where, minlength=n_parts)[:, None]
        nearest = nearest_neighbours(centre, 1, generator).indices[:, 0].numpy()
        middle = _nearest_row_of_each(part, (Z - centre[where]).square().sum(dim=1).numpy(), n_parts)
        ends = np.concatenate([middle, middle[nearest]]), np.concatenate([middle[nearest], middle])
        ties = csr_array((np.full(len(ends[0]), 0.5), ends), shape=graph.shape)
        graph = graph + ties


def _nearest_row_of_each(part: np.ndarray, squared: np.ndarray, n_parts: int) -> np.ndarray:
    """Give for every part the row of least distance."""
    order = np.lexsort((squared, part))
    return order[np.searchsorted(part[order], np.arange(n_parts))]
