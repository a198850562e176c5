"""How a method that knows one matrix takes several views: side by side, each with the same say."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float


def side_by_side(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N M"]:
    """Give scaled views as one matrix, in which all have the same total variance, that of the widest."""
    return np.hstack([Y * weight for Y, weight in zip(views.values(), _weights(widths_of(views)), strict=True)])


def apart(joined: Float[np.ndarray, "N M"], widths: Mapping[str, int]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Undo `side_by_side`.

    Args:
        joined: the views side by side.
        widths: view name -> columns.
    """
    parts = counts_apart(joined, widths)
    return {name: part / weight for (name, part), weight in zip(parts.items(), _weights(widths), strict=True)}


def counts_side_by_side(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N M"]:
    """Give views of counts as one matrix, as they are: a count that is weighed is none any more."""
    return np.hstack(list(views.values()))


def counts_apart(joined: Float[np.ndarray, "N M"], widths: Mapping[str, int]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Undo `counts_side_by_side`."""
    return dict(zip(widths, np.split(joined, np.cumsum(list(widths.values()))[:-1], axis=1), strict=True))


def widths_of(views: Mapping[str, Float[np.ndarray, "N _"]]) -> dict[str, int]:
    """Give view name -> columns."""
    return {name: Y.shape[1] for name, Y in views.items()}


def _weights(widths: Mapping[str, int]) -> list[float]:
    widest = max(widths.values())
    return [float(np.sqrt(widest / width)) for width in widths.values()]
