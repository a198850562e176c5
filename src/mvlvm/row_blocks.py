"""Sums over rows in blocks, which keep the intermediate results of computations on large arrays small."""

from collections.abc import Callable, Iterable
from operator import iadd
from typing import TypeVarTuple

Terms = TypeVarTuple("Terms")

# Numbers in the largest array of a block, 16 MB in float64: small compared with any data set that needs blocks, and
# large enough for matrix products at full speed.
NUMBERS_PER_BLOCK = 2_000_000
# Blocks begin at multiples of this number: random draws are then the same as without blocks, and memory is aligned.
_ALIGNMENT = 16


def row_blocks(n_rows: int, numbers_per_row: int) -> list[slice]:
    """Return slices that divide the rows into the fewest blocks of similar size within `NUMBERS_PER_BLOCK`.

    The slices depend on the arguments only, so that sums over blocks are reproducible.

    Args:
        n_rows: the number of rows.
        numbers_per_row: the numbers per row of the largest array that is computed for a block.

    Returns:
        Consecutive slices that cover all rows.

    Example:
        >>> row_blocks(100_000, 50)
        [slice(0, 33344, None), slice(33344, 66688, None), slice(66688, 100000, None)]
    """
    max_rows = max(1, NUMBERS_PER_BLOCK // max(1, numbers_per_row))
    n_blocks = -(-n_rows // max_rows)
    if n_blocks <= 1:
        return [slice(0, n_rows)] if n_rows else []
    size = -(-n_rows // n_blocks)
    size = -(-size // _ALIGNMENT) * _ALIGNMENT
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def row_sum(blocks: Iterable[slice], term: Callable[[slice], tuple[*Terms]]) -> tuple[*Terms]:
    """Sum terms over blocks of rows.

    All sums over rows go through this function: it determines their order, one block after the other, so that results
    are reproducible.

    Args:
        blocks: slices that cover all rows, as from `row_blocks`; without any, the terms of no rows are returned.
        term: returns the terms of a block of rows as new arrays, tensors or numbers, to which later ones are added.

    Returns:
        The sums, one for every term.

    Example:
        >>> import numpy as np
        >>> Y = np.arange(6.0).reshape(3, 2)
        >>> sums, count = row_sum(row_blocks(*Y.shape), lambda rows: (Y[rows].sum(axis=0), len(Y[rows])))
        >>> sums.tolist(), count
        ([6.0, 9.0], 3)
    """
    first, *others = list(blocks) or [slice(0, 0)]
    sums = term(first)
    for rows in others:
        sums = tuple(iadd(total, part) for total, part in zip(sums, term(rows), strict=True))
    return sums  # pyright: ignore[reportReturnType]
