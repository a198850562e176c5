"""What every data set must be, whatever its file holds: matrices of numbers whose parts fit together."""

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mvlvm.datasets.dataset import Dataset

_NUMBERS = "biuf"


def check_sound(data: Dataset) -> None:
    """Refuse a data set whose views are no matrices of numbers, or whose parts are of different lengths.

    Raises:
        ValueError: says what is wrong.
    """
    for name, Y in data.views.items():
        _check_view(name, Y)
    _check_lengths(data)
    if data.labels is not None:
        n_classes = len(data.label_names or ())
        if data.labels.min() < -1 or data.labels.max() >= n_classes:
            raise ValueError(
                f"labels must be from -1 to {n_classes - 1}, but go from {data.labels.min()} to {data.labels.max()}"
            )
    for name, Y in data.views.items():
        _check_columns(data, name, Y.shape[1])


def _check_view(name: str, Y: Any) -> None:
    if not (issparse(Y) or isinstance(Y, np.ndarray)) or Y.dtype.kind not in _NUMBERS:
        raise ValueError(f"view '{name}' is not made of numbers")
    if len(Y.shape) != 2 or 0 in Y.shape:
        shape = " x ".join(map(str, Y.shape)) or "a number"
        raise ValueError(f"view '{name}' must have rows and columns, but is {shape}")


def _check_lengths(data: Dataset) -> None:
    lengths = {view: Y.shape[0] for view, Y in data.views.items()}
    lengths |= {
        part: len(found) for part, found in (("labels", data.labels), ("row names", data.rows)) if found is not None
    }
    if len(set(lengths.values())) > 1:
        raise ValueError(f"its parts have different numbers of rows ({_listed(lengths)})")


def _check_columns(data: Dataset, view: str, n_columns: int) -> None:
    lengths = {view: n_columns}
    if view in data.columns:
        lengths["column names"] = len(data.columns[view])
    if view in data.image_shapes:
        lengths["pixels"] = math.prod(data.image_shapes[view])
    if len(set(lengths.values())) > 1:
        raise ValueError(f"its parts have different numbers of columns ({_listed(lengths)})")


def _listed(lengths: dict[str, int]) -> str:
    return ", ".join(f"{part}: {length}" for part, length in lengths.items())
