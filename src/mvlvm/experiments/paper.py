"""The paper's own numbers, as printed."""

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Printed(NamedTuple):
    """A mean and a standard deviation over five runs; accuracies in percent."""

    mean: float
    std: float


def printed(table: str, method: str, column: str) -> Printed | None:
    """Give what the paper prints; None where it prints nothing.

    Args:
        table: "multi-view", "single-view", "challenging" or "reconstruction".
        method: the row.
        column: a data set, and a classifier where there are several: "MNIST KNN".

    Example:
        >>> printed("multi-view", "NG-MVLVM", "BRIDGES KNN")
        Printed(mean=85.31, std=1.47)
    """
    numbers = _tables().get(table, {}).get(method, {}).get(column)
    return None if numbers is None else Printed(*numbers)


@cache
def _tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    return json.loads((files("mvlvm.experiments") / "paper.json").read_text())
