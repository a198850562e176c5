"""Sparse views, made dense at the door: a Gaussian view is centred, and nothing stays zero."""

import math
import os
import sys
from typing import Any

import numpy as np

from mvlvm.errors import ViewError

_GIB = 2**30


def is_sparse(value: object) -> bool:
    """Tell whether a value is one of SciPy's sparse containers, without importing SciPy."""
    return isinstance(getattr(value, "format", None), str) and callable(getattr(value, "toarray", None))


def has_sparse_columns(frame: Any) -> bool:
    """Tell whether a DataFrame has columns of a sparse type."""
    return any(isinstance(dtype, sys.modules["pandas"].SparseDtype) for dtype in frame.dtypes)


def as_dense(name: str, table: Any) -> np.ndarray:
    """Give a sparse matrix, or a DataFrame with sparse columns, as an array.

    Args:
        name: the view, for messages.
        table: the view.

    Raises:
        ViewError: the array would not fit into memory.
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
            f"View '{name}' is sparse, and its {shape} numbers must fit into memory when made dense. They take "
            f"{size / _GIB:,.1f} GiB, and this machine has {memory / _GIB:,.1f} GiB in all. Keep fewer columns, for "
            "example those that vary most, or reduce the view first with sklearn.decomposition.TruncatedSVD."
        ) from None


def _dense_frame(frame: Any) -> np.ndarray:
    try:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):  # text or dates among the numbers: what cannot be used is said later
        return frame.to_numpy(dtype=object, na_value=np.nan)


def _physical_memory() -> float:
    """Give the machine's memory in bytes, infinity where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf
