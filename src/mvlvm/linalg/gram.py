"""Products of a matrix with its own transpose, of which only the lower half is needed.

Products of two matrices over their many rows, in float32 where that is fast, and as precise as their sums need.

Products on the tensor cores of a GPU, with the precision of float32.

TF32 has eleven bits, and products of two such numbers are exact in float32. So where both factors are numbers of eleven
bits, a TF32 product is as precise as a float32 one, and three times as fast. Features and columns of views are rounded
to that grid once, as data are; a small matrix of any numbers is taken apart into two that lie on it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

# A processor gains from skipping the upper half, stripe by stripe; a GPU loses more by small products than it saves.
_STRIPES = 2
_NARROWEST = 32


def add_lower_gram(total: Float[Tensor, "F F"], Phi: Float[Tensor, "N F"]) -> None:
    """Add Phi' Phi to the lower half of `total`; the upper half is left undefined."""
    F = Phi.shape[1]
    width = F if Phi.is_cuda else max(_NARROWEST, -(-F // _STRIPES))
    for first in range(0, F, width):
        last = min(first + width, F)
        torch.addmm(total[first:last, :last], Phi[:, first:last].T, Phi[:, :last], out=total[first:last, :last])


def lower_gram(Phi: Float[Tensor, "N F"]) -> Float[Tensor, "F F"]:
    """Give the lower half of Phi' Phi; the upper half is left undefined."""
    total = Phi.new_zeros((Phi.shape[1], Phi.shape[1]))
    add_lower_gram(total, Phi)
    return total


# Rows whose products are summed in their own precision; sums of more are float64. A float32 sum of so many is off by
# less than a millionth, and the sums of a GPU's tensor cores, which cut rather than round, by a few.
_ROWS = 1024


def transposed_matmul(A: Float[Tensor, "N F"], B: Float[Tensor, "N r"]) -> Float[Tensor, "F r"]:
    """Give A' B in float64, all blocks of rows at once, as a GPU likes it."""
    n_blocks = len(A) // _ROWS
    whole = n_blocks * _ROWS
    if not n_blocks:
        return (A.T @ B).double()
    A_blocks, B_blocks = (matrix[:whole].unflatten(0, (n_blocks, _ROWS)) for matrix in (A, B))
    total = torch.bmm(A_blocks.mT, B_blocks).sum(dim=0, dtype=torch.float64)
    return total if whole == len(A) else total.add_(A[whole:].T @ B[whole:])


# A float32 has thirteen bits more.
_EXTRA_BITS = 13


def supports_tf32(values: Tensor) -> bool:
    """Tell whether products with these numbers may be TF32."""
    return values.is_cuda and values.dtype == torch.float32


@contextmanager
def allow_tf32_matmul(device: torch.device) -> Iterator[None]:
    """Let float32 products of a GPU round their factors to TF32, eleven bits, inside this block alone."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def round_to_tf32(values: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Round float32 numbers to the nearest that TF32 can hold."""
    bits = values.contiguous().view(torch.int32)
    half = (1 << (_EXTRA_BITS - 1)) - 1 + ((bits >> _EXTRA_BITS) & 1)  # ties go to the even one
    return ((bits + half) & -(1 << _EXTRA_BITS)).view(torch.float32)


def split_precision_matmul(
    A: Float[Tensor, "n k"], B: Float[Tensor, "k m"], into: Float[Tensor, "n m"], *, add: bool = False
) -> Float[Tensor, "n m"]:
    """Write A B, or add it; on a GPU A is taken apart, and B is taken to lie on the grid."""
    if not supports_tf32(B):
        return into.addmm_(A, B, beta=float(add))
    coarse = _veltkamp_high(A)
    with allow_tf32_matmul(B.device):
        return into.addmm_(coarse, B, beta=float(add)).addmm_(A - coarse, B)


def _veltkamp_high(A: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Round as `round_to_tf32` does, with fewer kernels, numbers that are no larger than 1e34 (Veltkamp)."""
    times = A * (2.0**_EXTRA_BITS + 1)
    return times - (times - A)
