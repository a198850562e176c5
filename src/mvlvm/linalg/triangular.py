"""The inverse of a triangular matrix."""

import torch
from jaxtyping import Float
from torch import Tensor

# A GPU solves with one triangle column block by column block; four small ones at a time are three times faster.
_LEAVES_ON_GPU = 4


def inverse_of_lower(L: Float[Tensor, "F F"], n_leaves: int | None = None) -> Float[Tensor, "F F"]:
    """Invert a lower triangular matrix.

    It may be cut into blocks, those of the diagonal inverted together, and joined in pairs:

        [ A  0 ]^-1   [    A^-1          0   ]
        [ C  B ]    = [ -B^-1 C A^-1    B^-1 ]

    Args:
        L: the matrix.
        n_leaves: how many blocks the diagonal is cut into, a power of two; None takes four on a GPU where they are
            all of one size, or else one.
    """
    F = len(L)
    n_leaves = (_LEAVES_ON_GPU if L.is_cuda and F % _LEAVES_ON_GPU == 0 else 1) if n_leaves is None else n_leaves
    if n_leaves == 1:
        return torch.linalg.solve_triangular(L, _identity(F, L), upper=False)
    inverse, width = torch.zeros_like(L), F // n_leaves
    leaves = torch.linalg.solve_triangular(_diagonal_blocks(L, width), _identity(width, L), upper=False)
    _diagonal_blocks(inverse, width).copy_(leaves)
    while width < F:
        joined, given = _diagonal_blocks(inverse, 2 * width), _diagonal_blocks(L, 2 * width)
        first, second = joined[:, :width, :width], joined[:, width:, width:]
        joined[:, width:, :width] = (second @ given[:, width:, :width] @ first).neg_()
        width *= 2
    return inverse


def _diagonal_blocks(A: Float[Tensor, "F F"], width: int) -> Float[Tensor, "n w w"]:
    """Give the square blocks along the diagonal, as a view."""
    n = len(A) // width
    return A.view(n, width, n, width).diagonal(dim1=0, dim2=2).permute(2, 0, 1)


def _identity(n: int, like: Tensor) -> Float[Tensor, "n n"]:
    return torch.eye(n, dtype=like.dtype, device=like.device)
