"""Conversion of sparse views to dense arrays; the entries of a centred Gaussian view are not sparse."""

import math
import os
import sys
from typing import Any

import numpy as np

from mvlvm.errors import ViewError

_GIB = 2**30


def is_sparse(value: object) -> bool:
    """Return whether a value is a SciPy sparse matrix or array, without importing SciPy."""
    return isinstance(getattr(value, "format", None), str) and callable(getattr(value, "toarray", None))


def has_sparse_columns(frame: Any) -> bool:
    """Return whether a DataFrame has columns of a sparse data type."""
    return any(isinstance(dtype, sys.modules["pandas"].SparseDtype) for dtype in frame.dtypes)


def as_dense(name: str, table: Any) -> np.ndarray:
    """Return a sparse matrix, or a DataFrame with sparse columns, as a dense (N, M) array.

    Args:
        name: the view, for messages.
        table: the view.

    Raises:
        ViewError: the array does not fit into memory.
    """
    size, memory = math.prod(table.shape) * np.dtype(np.float64).itemsize, _physical_memory()
    try:
        if size > memory:
            raise MemoryError
        if is_sparse(table):
            return table.toarray()
        return _dense_frame(table)
    except MemoryError:
        shape = " x ".join(map(str, table.shape))
        raise ViewError(
            f"View '{name}' is sparse, and its {shape} entries must fit into memory as a dense array. They need "
            f"{size / _GIB:,.1f} GiB, and this machine has {memory / _GIB:,.1f} GiB in total. Keep fewer columns, for "
            "example those with the largest variance, or reduce the view first with sklearn.decomposition.TruncatedSVD."
        ) from None


def _dense_frame(frame: Any) -> np.ndarray:
    try:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):  # text or dates, which validation rejects with a specific message
        return frame.to_numpy(dtype=object, na_value=np.nan)


def _physical_memory() -> float:
    """Return the physical memory in bytes, infinity if the operating system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf
