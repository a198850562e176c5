"""Views as figures take them: matrices of numbers with the same samples in their rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mvlvm.errors import ViewError


def as_matrices(views: Mapping[str, Any]) -> dict[str, Any]:
    """Give views as numeric arrays, or sparse as they are; None in an array of objects becomes NaN.

    Raises:
        ViewError: there are none, one is no matrix of numbers or is empty, or their rows are not the same in number.
    """
    if not views:
        raise ViewError("There is nothing to show: no view was given. Give at least one.")
    matrices = {name: _as_matrix(name, Y) for name, Y in views.items()}
    lengths = {name: Y.shape[0] for name, Y in matrices.items()}
    if len(set(lengths.values())) > 1:
        raise ViewError(
            "Views must have a row for every sample, the same number in all. Got "
            f"{', '.join(f'{name}: {length}' for name, length in lengths.items())}."
        )
    return matrices


def _as_matrix(name: str, Y: Any) -> Any:
    matrix = Y if issparse(Y) else np.asarray(Y)
    if matrix.dtype.kind not in "biuf":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ViewError(f"View '{name}' must be made of numbers. Got {matrix.dtype}.") from error
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = " x ".join(map(str, matrix.shape)) or "a number"
        raise ViewError(f"View '{name}' must be a matrix with at least one row and one column. Got {shape}.")
    return matrix
