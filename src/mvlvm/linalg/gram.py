"""Gram matrices, sums of products over many rows, and matrix products on tensor cores.

**Gram matrices.** Cholesky factorisations read only the lower triangle of Phi' Phi, so only that is computed.

**Sums over rows.** Products of float32 matrices are accumulated in float32 within blocks of rows and in float64 across
blocks.

**TF32.** The tensor cores of a GPU round the factors of a float32 product to TF32, which has eleven significant bits.
The product of two such numbers is exact in float32. If both factors are already TF32 numbers, a TF32 product is
therefore as accurate as a float32 product, and three times as fast. Features and the columns of views are rounded once,
as data are; a small matrix of arbitrary float32 numbers is split into the sum of two TF32 matrices.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

# On a CPU, skipping the upper triangle stripe by stripe saves time; on a GPU, smaller products cost more than they
# save.
_N_STRIPES = 2
_MIN_STRIPE_WIDTH = 32
# Rows accumulated in the precision of the factors. The relative error of a float32 sum over this many rows is below
# 1e-6; that of tensor cores, which truncate instead of rounding, is a few times 1e-6.
_ROWS_PER_BLOCK = 1024
# Significant bits of float32 beyond those of TF32.
_EXTRA_BITS = 13


def add_lower_gram(total: Float[Tensor, "F F"], Phi: Float[Tensor, "N F"]) -> None:
    """Add Phi' Phi to the lower triangle of `total` in place; the upper triangle becomes undefined."""
    F = Phi.shape[1]
    width = F if Phi.is_cuda else max(_MIN_STRIPE_WIDTH, -(-F // _N_STRIPES))
    for first in range(0, F, width):
        last = min(first + width, F)
        torch.addmm(total[first:last, :last], Phi[:, first:last].T, Phi[:, :last], out=total[first:last, :last])


def lower_gram(Phi: Float[Tensor, "N F"]) -> Float[Tensor, "F F"]:
    """Return the lower triangle of Phi' Phi, F x F; the upper triangle is undefined."""
    total = Phi.new_zeros((Phi.shape[1], Phi.shape[1]))
    add_lower_gram(total, Phi)
    return total


def transposed_matmul(A: Float[Tensor, "N F"], B: Float[Tensor, "N r"]) -> Float[Tensor, "F r"]:
    """Return A' B in float64, F x r; blocks of rows are multiplied as one batch, which is fast on a GPU."""
    n_blocks = len(A) // _ROWS_PER_BLOCK
    n_batched = n_blocks * _ROWS_PER_BLOCK
    if not n_blocks:
        return (A.T @ B).double()
    A_blocks, B_blocks = (matrix[:n_batched].unflatten(0, (n_blocks, _ROWS_PER_BLOCK)) for matrix in (A, B))
    total = torch.bmm(A_blocks.mT, B_blocks).sum(dim=0, dtype=torch.float64)
    return total if n_batched == len(A) else total.add_(A[n_batched:].T @ B[n_batched:])


def supports_tf32(values: Tensor) -> bool:
    """Return whether products with this tensor may run in TF32: float32 on a GPU."""
    return values.is_cuda and values.dtype == torch.float32


@contextmanager
def allow_tf32_matmul(device: torch.device) -> Iterator[None]:
    """Allow TF32 in the float32 matrix products of a GPU within a `with` block, and restore the setting afterwards."""
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
    """Round float32 numbers to the nearest TF32 numbers, ties to even; the result has the same shape and dtype."""
    bits = values.contiguous().view(torch.int32)
    half = (1 << (_EXTRA_BITS - 1)) - 1 + ((bits >> _EXTRA_BITS) & 1)  # ties to even
    return ((bits + half) & -(1 << _EXTRA_BITS)).view(torch.float32)


def split_precision_matmul(
    A: Float[Tensor, "n k"], B: Float[Tensor, "k m"], out: Float[Tensor, "n m"], *, accumulate: bool = False
) -> Float[Tensor, "n m"]:
    """Write A B to `out`, or add it; on a GPU in two TF32 products with float32 accuracy.

    Args:
        A: any matrix; on a GPU it is split into the sum of two TF32 matrices.
        B: a matrix that on a GPU already consists of TF32 numbers.
        out: the matrix written to.
        accumulate: whether A B is added to `out`.

    Returns:
        `out`, n x m.
    """
    if not supports_tf32(B):
        return out.addmm_(A, B, beta=float(accumulate))
    high = _veltkamp_high(A)
    with allow_tf32_matmul(B.device):
        return out.addmm_(high, B, beta=float(accumulate)).addmm_(A - high, B)


def _veltkamp_high(A: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Return the leading eleven bits of each entry (Veltkamp splitting), for entries up to 1e34 in size.

    Rounds as `round_to_tf32` does up to ties, with fewer kernel launches.
    """
    scaled = A * (2.0**_EXTRA_BITS + 1)
    return scaled - (scaled - A)
