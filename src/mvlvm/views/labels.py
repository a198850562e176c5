"""Labels of rows and columns, as a saved model holds them."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def plain_label(label: Any) -> str | int | float:
    """Give a label as JSON can hold it; what is neither text nor number becomes text.

    Example:
        >>> plain_label(np.int64(3)), plain_label(("a", 1)), plain_label(None)
        (3, "('a', 1)", 'None')
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        return str(plain)
    return math.nan if plain != plain else plain  # one NaN for all, which is found in lists and sets


def plain_labels(labels: Iterable[Any]) -> list[str | int | float]:
    """Give labels as a saved model holds them. Two such lists are equal if their labels are, NaN included."""
    return [plain_label(label) for label in labels]
