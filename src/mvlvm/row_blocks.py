"""Rows in blocks: what is made on the way from one large array to another stays small."""

# The largest array that is made of one block has about so many numbers, 16 MB in float64: small beside any data set
# that needs blocks, and large enough for products of matrices at full speed.
NUMBERS_PER_BLOCK = 2_000_000
# Blocks begin at multiples of this: random numbers are then the same as without blocks, and memory is aligned.
_ALIGNMENT = 16


def row_blocks(n_rows: int, numbers_per_row: int) -> list[slice]:
    """Cut rows into blocks, as few as keep each below `NUMBERS_PER_BLOCK`, and alike in size.

    They depend on nothing but the arguments, so that sums over blocks are the same in every run.

    Args:
        n_rows: how many rows there are.
        numbers_per_row: how many numbers the largest array that is made of a row has.

    Example:
        >>> row_blocks(100_000, 50)
        [slice(0, 33344, None), slice(33344, 66688, None), slice(66688, 100000, None)]
    """
    most = max(1, NUMBERS_PER_BLOCK // max(1, numbers_per_row))
    n_blocks = -(-n_rows // most)
    if n_blocks <= 1:
        return [slice(0, n_rows)] if n_rows else []
    size = -(-n_rows // n_blocks)
    size = -(-size // _ALIGNMENT) * _ALIGNMENT
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
