r"""Repulsive forces of t-SNE between all pairs of rows of a layout.

With $w_{ij} = 1 / (1 + |x_i - x_j|^2)$, the force on row i is $\sum_j w_{ij}^2 (x_i - x_j)$, and the normaliser of the
neighbourhood probabilities is $Z = \sum_{i \neq j} w_{ij}$. Both are sums of kernels, w and its square, over points.
For many rows they are interpolated (Linderman et al., 2019): the layout is covered by boxes, the charges of a box's
points are spread to a few nodes by Lagrange polynomials, a convolution by FFTs gives the potentials at all nodes, and
the same polynomials interpolate them at the points.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Rows of the matrix of pairs in memory at a time. Smaller blocks are faster with one thread, and slower with several.
_ROWS_PER_BLOCK = 1024
# Nodes per box and dimension, the width of a box, and the least number of boxes per dimension. The relative error of
# the force is 3 to 4 %; boxes of half the width reduce it to 0.4 %, and take four times as long.
_NODES_PER_BOX = 3
_BOX_WIDTH = 1.0
_MIN_BOXES = 50
# Larger layouts have wider boxes, so that the grid fits in memory.
_MAX_BOXES = 400


class Repulsion(NamedTuple):
    """Repulsion between all pairs of rows.

    Attributes:
        force: the force on every row.
        normalizer: Z, the sum of w over all pairs.
    """

    force: Float[Tensor, "D N"]
    normalizer: Float[Tensor, ""]


def kernel_blocks(X: Float[Tensor, "D N"]) -> Iterator[tuple[slice, Float[Tensor, "n N"]]]:
    """Yield w of blocks of rows with all rows; squared distances are expanded into products."""
    squared_norm = X.square().sum(dim=0)
    for first in range(0, X.shape[1], _ROWS_PER_BLOCK):
        rows = slice(first, first + _ROWS_PER_BLOCK)
        squared = torch.addmm(squared_norm, X[:, rows].T, X, alpha=-2.0).add_(1 + squared_norm[rows, None])
        yield rows, squared.clamp_min_(1.0).reciprocal_()


def charges_of(X: Float[Tensor, "D N"]) -> Float[Tensor, "C N"]:
    """Return the charges (x_i, 1) whose weighted sums give forces."""
    return torch.cat([X, X.new_ones((1, X.shape[1]))])


def weighted_differences(X: Float[Tensor, "D N"], sums: Float[Tensor, "C N"]) -> Float[Tensor, "D N"]:
    """Return sum_j a_ij (x_i - x_j), given sum_j a_ij (x_j, 1)."""
    return X * sums[-1] - sums[:-1]


def interpolated_repulsion(X: Float[Tensor, "D N"], box_width: float = _BOX_WIDTH) -> Repulsion:
    """Return the repulsion by interpolation on a grid, for layouts of one or two dimensions.

    Args:
        X: the layout.
        box_width: width of the boxes; halving it reduces the error to a ninth.
    """
    D, N = X.shape
    low = X.amin(dim=1, keepdim=True)
    extent = float((X.amax(dim=1, keepdim=True) - low).max()) * (1 + 1e-6) + 1e-12
    n_boxes = min(_MAX_BOXES, max(_MIN_BOXES, int(extent / box_width) + 1))
    spacing = extent / (n_boxes * _NODES_PER_BOX)
    n_nodes = n_boxes * _NODES_PER_BOX
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
    index = torch.arange(size, device=charges.device)
    distance = torch.minimum(index, size - index).to(charges) * spacing
    squared = distance.square()
    if len(dims) == 2:
        squared = squared[:, None] + squared
    w = 1 / (1 + squared)
    kernels = torch.fft.rfftn(torch.stack([w, w.square()]), dim=dims)
    transformed = torch.fft.rfftn(charges, s=(size,) * len(dims), dim=dims)
    products = torch.cat([transformed[:1] * kernels[:1], transformed * kernels[1:]])
    potentials = torch.fft.irfftn(products, s=(size,) * len(dims), dim=dims)
    for dim in dims:
        potentials = potentials.narrow(dim, 0, n_nodes)
    return potentials.flatten(1)


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
