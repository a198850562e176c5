"""Products of two matrices over their many rows, in float32 where that is fast, and as precise as their sums need."""

import torch
from jaxtyping import Float
from torch import Tensor

# Rows whose products are summed in their own precision; sums of more are float64. A float32 sum of so many is off by
# less than a millionth, and the sums of a GPU's tensor cores, which cut rather than round, by a few.
_ROWS = 1024


def row_product(A: Float[Tensor, "N F"], B: Float[Tensor, "N r"]) -> Float[Tensor, "F r"]:
    """Give A' B in float64, all blocks of rows at once, as a GPU likes it."""
    n_blocks = len(A) // _ROWS
    whole = n_blocks * _ROWS
    if not n_blocks:
        return (A.T @ B).double()
    A_blocks, B_blocks = (matrix[:whole].unflatten(0, (n_blocks, _ROWS)) for matrix in (A, B))
    total = torch.bmm(A_blocks.mT, B_blocks).sum(dim=0, dtype=torch.float64)
    return total if whole == len(A) else total.add_(A[whole:].T @ B[whole:])
