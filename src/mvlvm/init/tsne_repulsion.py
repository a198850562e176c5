r"""Repulsive forces of t-SNE between all pairs of rows of a layout.

With $w_{ij} = 1 / (1 + |x_i - x_j|^2)$, the force on row i is $\sum_j w_{ij}^2 (x_i - x_j)$, and the normaliser of the
neighbourhood probabilities is $Z = \sum_{i \neq j} w_{ij}$. Both are sums of kernels, w and its square, over points.
For many rows they are interpolated (Linderman et al., 2019): the layout is covered by boxes, the charges of a box's
points are spread to a few nodes by Lagrange polynomials, a convolution by FFTs gives the potentials at all nodes, and
the same polynomials interpolate them at the points.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

# Rows of the matrix of pairs in memory at a time: blocks of it that fit into the cache of a core are fastest.
_ROWS_PER_BLOCK = 128
# Nodes per box and dimension, the width of a box, and the least number of boxes per dimension. The relative error of
# the force is 3 to 4 %; boxes of half the width reduce it to 0.4 %, and take four times as long.
_NODES_PER_BOX = 3
_BOX_WIDTH = 1.0
_MIN_BOXES = 50
# Larger layouts have wider boxes, so that the grid fits in memory.
_MAX_BOXES = 400
# The number of boxes is a multiple of this one.
_BOXES_STEP = 10


class Repulsion(NamedTuple):
    """Repulsion between all pairs of rows.

    Attributes:
        force: the force on every row.
        normalizer: Z, the sum of w over all pairs.
    """

    force: Float[Tensor, "D N"]
    normalizer: Float[Tensor, ""]


def charges_of(X: Float[Tensor, "D N"]) -> Float[Tensor, "C N"]:
    """Return the charges (x_i, 1) whose weighted sums give forces."""
    return torch.cat([X, X.new_ones((1, X.shape[1]))])


def weighted_differences(X: Float[Tensor, "D N"], sums: Float[Tensor, "C N"]) -> Float[Tensor, "D N"]:
    """Return sum_j a_ij (x_i - x_j), given sum_j a_ij (x_j, 1)."""
    return X * sums[-1] - sums[:-1]


def exact_repulsion(X: Float[Tensor, "D N"]) -> Repulsion:
    """Return the repulsion, computed for one half of the symmetric matrix of pairs."""
    N = X.shape[1]
    squared_norm, charges = X.square().sum(dim=0, keepdim=True), charges_of(X)
    # 1 + |x_i - x_j|^2 as a product of D + 2 columns
    left = torch.cat([-2.0 * X, torch.ones_like(squared_norm), 1.0 + squared_norm]).T.contiguous()
    right = torch.cat([X, squared_norm, torch.ones_like(squared_norm)])
    sums, normalizer = torch.zeros_like(charges), X.new_zeros((), dtype=torch.float64)
    scratch = X.new_empty(min(_ROWS_PER_BLOCK, N) * N)
    for first in range(0, N, _ROWS_PER_BLOCK):
        last = min(N, first + _ROWS_PER_BLOCK)
        w = scratch[: (last - first) * (N - first)].view(last - first, N - first)
        torch.mm(left[first:last], right[:, first:], out=w).reciprocal_()
        normalizer += 2.0 * w.sum() - w[:, : last - first].sum()
        w.square_()
        sums[:, first:last] += charges[:, first:] @ w.T
        sums[:, last:] += charges[:, first:last] @ w[:, last - first :]
    return Repulsion(weighted_differences(X, sums), normalizer - N)


def interpolated_repulsion(X: Float[Tensor, "D N"], box_width: float = _BOX_WIDTH) -> Repulsion:
    """Return the repulsion by interpolation on a grid, for layouts of one or two dimensions.

    Args:
        X: the layout.
        box_width: width of the boxes; halving it reduces the error to a ninth.
    """
    D, N = X.shape
    low, high = X.amin(dim=1, keepdim=True), X.amax(dim=1, keepdim=True)
    extent = float((high - low).max()) * (1 + 1e-6) + 1e-12
    # few different numbers of boxes of one width, so that the transforms of the kernels can be used again
    n_boxes = _BOXES_STEP * math.ceil(extent / (box_width * _BOXES_STEP))
    n_boxes = min(_MAX_BOXES, max(_MIN_BOXES, n_boxes))
    width = box_width if _MIN_BOXES * box_width < extent <= _MAX_BOXES * box_width else extent / n_boxes
    n_nodes, spacing = n_boxes * _NODES_PER_BOX, width / _NODES_PER_BOX
    nodes, weights = _interpolation((X - low) / spacing, n_boxes)

    centred = X - low - 0.5 * extent
    charges = torch.cat([X.new_ones((1, N)), centred])
    on_grid = X.new_zeros((D + 1, n_nodes**D))
    for node, weight in zip(nodes, weights, strict=True):
        on_grid.index_add_(1, node, charges * weight)
    potentials = _potentials(on_grid.view(D + 1, *(n_nodes,) * D), spacing)
    at_rows = X.new_zeros((D + 2, N))
    for node, weight in zip(nodes, weights, strict=True):
        at_rows.addcmul_(potentials[:, node], weight)
    return Repulsion(centred * at_rows[1] - at_rows[2:], at_rows[0].sum(dtype=torch.float64) - N)


def _interpolation(
    position: Float[Tensor, "D N"], n_boxes: int
) -> tuple[list[Int[Tensor, " N"]], list[Float[Tensor, " N"]]]:
    """Return the nodes that interpolate every point and their weights, one pair per node of a box.

    Args:
        position: coordinates in units of the spacing of nodes, from zero.
        n_boxes: number of boxes per dimension.
    """
    first = (position / _NODES_PER_BOX).floor().clamp_max(n_boxes - 1) * _NODES_PER_BOX
    offset = position - first - 0.5  # nodes are at 0, 1, 2, ...
    polynomials = []
    for k in range(_NODES_PER_BOX):
        others = [m for m in range(_NODES_PER_BOX) if m != k]
        polynomials.append(torch.stack([(offset - m) / (k - m) for m in others]).prod(dim=0))
    first = first.long()
    nodes, weights = [first[0] + k for k in range(_NODES_PER_BOX)], [polynomial[0] for polynomial in polynomials]
    for d in range(1, len(position)):
        nodes = [node * n_boxes * _NODES_PER_BOX + first[d] + k for node in nodes for k in range(_NODES_PER_BOX)]
        weights = [weight * polynomial[d] for weight in weights for polynomial in polynomials]
    return nodes, weights


def _potentials(charges: Float[Tensor, "C ..."], spacing: float) -> Float[Tensor, "K nodes"]:
    """Return the potentials at all nodes: of w for the first charge, then of w squared for all charges."""
    n_nodes, dims = charges.shape[1], tuple(range(1, charges.ndim))
    size = _fast_fft_size(2 * n_nodes)
    kernels = _kernel_transforms(size, len(dims), spacing, charges.dtype, charges.device)
    transformed = torch.fft.rfftn(charges, s=(size,) * len(dims), dim=dims)
    products = torch.cat([transformed[:1] * kernels[:1], transformed * kernels[1:]])
    potentials = torch.fft.irfftn(products, s=(size,) * len(dims), dim=dims)
    for dim in dims:
        potentials = potentials.narrow(dim, 0, n_nodes)
    return potentials.flatten(1)


@lru_cache(maxsize=1)
def _kernel_transforms(
    size: int, n_dims: int, spacing: float, dtype: torch.dtype, device: torch.device
) -> Complex[Tensor, "2 ..."]:
    """Return the Fourier transforms of w and its square on a periodic grid; those of the last call are kept."""
    index = torch.arange(size, device=device)
    squared = (torch.minimum(index, size - index).to(dtype) * spacing).square()
    if n_dims == 2:
        squared = squared[:, None] + squared
    w = 1 / (1 + squared)
    return torch.fft.rfftn(torch.stack([w, w.square()]), dim=tuple(range(1, n_dims + 1)))


def _fast_fft_size(n: int) -> int:
    """Return the smallest number of at least n without prime factors above five."""
    while True:
        rest = n
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n += 1
