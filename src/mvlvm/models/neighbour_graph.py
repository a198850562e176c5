"""Which rows are alike: a weighted graph of nearest neighbours."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from mvlvm.models.nearest_rows import Neighbours, nearest_rows

# Neighbours of a row, half of them where there are many rows; a third as many equally near ones would weigh the same.
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


class Graph(NamedTuple):
    """A symmetric graph: every edge is there in both directions, sorted by its first end.

    Attributes:
        start: one end of every edge.
        end: the other.
        weight: of the edge, positive; the weights of a row's edges sum to about one.
        n_rows: N.
    """

    start: Int[Tensor, " E"]
    end: Int[Tensor, " E"]
    weight: Float[Tensor, " E"]
    n_rows: int

    def matrix(self) -> csr_array:
        """Give the graph as a sparse matrix."""
        ends = self.start.numpy(), self.end.numpy()
        return csr_array((self.weight.double().numpy(), ends), shape=(self.n_rows, self.n_rows))


def neighbour_graph(Z: Float[Tensor, "N d"], generator: torch.Generator) -> Graph:
    """Join every row to its nearest ones, and all rows to one graph. It is on the CPU.

    A row's weights are a normal density of the distances, as wide as makes their entropy that of a third as many
    neighbours, all equally near; the weight of an edge is the mean of what its two ends say.

    Args:
        Z: the rows, at least two of them.
        generator: of the search for neighbours.
    """
    k = _N_NEIGHBOURS if len(Z) <= _MANY else _N_NEIGHBOURS // 2
    near = nearest_rows(Z, min(k, len(Z) - 1), generator)
    weight = neighbour_weights(near).clamp_min(_LEAST_WEIGHT).cpu().double().numpy()
    ends = np.repeat(np.arange(len(Z)), weight.shape[1]), near.rows.cpu().numpy().ravel()
    directed = csr_array((weight.ravel(), ends), shape=(len(Z), len(Z)))
    both = _joined((directed + directed.T) / 2, Z.cpu(), generator).tocoo()
    order = np.lexsort((both.col, both.row))
    start, end, weights = (torch.as_tensor(part[order]) for part in (both.row, both.col, both.data))
    return Graph(start.long(), end.long(), weights.float(), len(Z))


def neighbour_weights(near: Neighbours) -> Float[Tensor, "N k"]:
    """Give the weight of every neighbour; those of a row sum to one."""
    squared = near.squared.double()
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
        nearest = nearest_rows(centre, 1, generator).rows[:, 0].numpy()
        middle = _nearest_row_of_each(part, (Z - centre[where]).square().sum(dim=1).numpy(), n_parts)
        ends = np.concatenate([middle, middle[nearest]]), np.concatenate([middle[nearest], middle])
        ties = csr_array((np.full(len(ends[0]), 0.5), ends), shape=graph.shape)
        graph = graph + ties


def _nearest_row_of_each(part: np.ndarray, squared: np.ndarray, n_parts: int) -> np.ndarray:
    """Give for every part the row of least distance."""
    order = np.lexsort((squared, part))
    return order[np.searchsorted(part[order], np.arange(n_parts))]
