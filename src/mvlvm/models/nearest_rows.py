"""The nearest other rows of every row: all pairs in blocks, or for many rows the pairs that random trees put together.

A tree halves the rows again and again, each time by how far they lie along a random direction, until a few hundred are
left in a leaf. Near rows mostly end in the same leaf of some tree, and within leaves all pairs are looked at.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Up to this many rows all pairs are looked at. Beyond, trees find about three of four (MNIST,
# 70,000 rows), which is enough for a start.
MOST_FOR_ALL_PAIRS = 10_000
_N_TREES = 8
_LEAF = 400
# Rows are compared by at most this many principal components.
MOST_DIRECTIONS = 50
# Distances held at a time, 64 MB in float32.
BLOCK = 2**24


class Neighbours(NamedTuple):
    """The nearest other rows of every row, nearest first, and their squared distances."""

    rows: Int[Tensor, "N k"]
    squared: Float[Tensor, "N k"]


def nearest_rows(Z: Float[Tensor, "N d"], k: int, generator: torch.Generator) -> Neighbours:
    """Find the k nearest other rows of every row.

    Args:
        Z: the rows.
        k: fewer than there are rows.
        generator: of the trees' directions; on the CPU, so that they are the same on every device.
    """
    rows = _by_all_pairs(Z, k) if len(Z) <= MOST_FOR_ALL_PAIRS else _by_trees(Z, k, generator)
    return _measured(Z, Z, rows)


def nearest_among(Z: Float[Tensor, "N d"], others: Float[Tensor, "R d"], k: int) -> Neighbours:
    """Find for every row the k nearest of some other rows."""
    blocks = Z.split(max(1, BLOCK // len(others)))
    return _measured(Z, others, torch.cat([_nearest(squared_distances(block, others), k) for block in blocks]))


def _measured(Z: Float[Tensor, "N d"], others: Float[Tensor, "R d"], rows: Int[Tensor, "N k"]) -> Neighbours:
    """Sort by distances, taken once more: small differences of large squares are rounding."""
    squared = torch.stack([(Z - others[column]).square().sum(dim=1) for column in rows.T], dim=1)
    order = squared.argsort(dim=1, stable=True)
    return Neighbours(rows.gather(1, order), squared.gather(1, order))


def _nearest(squared: Float[Tensor, "n m"], k: int) -> Int[Tensor, "n k"]:
    return squared.topk(k, largest=False).indices


def _by_all_pairs(Z: Float[Tensor, "N d"], k: int) -> Int[Tensor, "N k"]:
    found = []
    for block in torch.arange(len(Z), device=Z.device).split(max(1, BLOCK // len(Z))):
        squared = squared_distances(Z[block], Z)
        squared[torch.arange(len(block), device=Z.device), block] = torch.inf
        found.append(_nearest(squared, k))
    return torch.cat(found)


def _by_trees(Z: Float[Tensor, "N d"], k: int, generator: torch.Generator) -> Int[Tensor, "N k"]:
    index = torch.full((len(Z), k), -1, device=Z.device)
    squared = torch.full((len(Z), k), torch.inf, dtype=Z.dtype, device=Z.device)
    for _ in range(_N_TREES):
        for leaves in _grow(Z, generator).split(max(1, BLOCK // _LEAF**2)):
            rows, near, far = _within_leaves(Z, leaves, k)
            both = torch.cat([index[rows], near], dim=1), torch.cat([squared[rows], far], dim=1)
            index[rows], squared[rows] = _nearest_of(*both, k)
    return index


def _grow(Z: Float[Tensor, "N d"], generator: torch.Generator) -> Int[Tensor, "L n"]:
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
