"""Selection of rows and views, and validation of the options shared by several data sets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from mvlvm.checks import check_choice, check_integer

SPLITS = ("all", "train", "test")


class OptionError(ValueError):
    """An option exceeds what the data contain, which can be checked only after the file has been read."""


def check_count(value: Any, parameter: str) -> None:
    """Check that a value is a positive integer, or None for "all"."""
    if value is not None:
        check_integer(value, parameter, at_least=1)


def check_available(value: int, parameter: str, n_available: int) -> None:
    """Check that a requested number does not exceed the number available."""
    if value > n_available:
        raise OptionError(f"{parameter} must be at most {n_available}, the number available. Got {value}.")


def as_list(value: Any, parameter: str) -> list[Any]:
    """Return a list or tuple as a list, and a string as a list with one element."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence):
        raise ValueError(f"{parameter} must be a list. Got {value!r}.")
    return list(value)


def draw_rows(
    n_available: int, n_samples: int | None, rng: np.random.Generator, parameter: str = "n_samples"
) -> Int[np.ndarray, " K"] | slice:
    """Draw row indices without replacement.

    Returns:
        The (n_samples,) row indices, or a slice that selects all rows in order if `n_samples` is None.
    """
    if n_samples is None:
        return slice(None)
    check_available(n_samples, parameter, n_available)
    return rng.choice(n_available, n_samples, replace=False)


def drawn_names(source: str, rows: Int[np.ndarray, " K"] | slice, start: int = 0) -> tuple[str, ...] | None:
    """Return names of drawn rows, made of the source and the row index in its file; None if all rows are kept."""
    return None if isinstance(rows, slice) else tuple(f"{source} {start + row}" for row in rows)


def rows_of_split(split: str, n_train: Shaped[np.ndarray, ""], n_rows: int) -> slice:
    """Return the rows of the original training set, test set or both; files store the training rows first."""
    cut = int(n_train)
    if not 0 <= cut <= n_rows:
        raise ValueError(f"n_train must be between 0 and {n_rows}, the number of rows, but is {cut}")
    return {"all": slice(0, n_rows), "train": slice(0, cut), "test": slice(cut, n_rows)}[split]


def class_numbers(labels: Shaped[np.ndarray, "..."]) -> Int[np.ndarray, " N"]:
    """Return labels as (N,) int64, after checking that they are integer-valued and one-dimensional."""
    if labels.ndim != 1 or labels.dtype.kind not in "biuf" or not np.array_equal(labels, np.floor(labels)):
        raise ValueError(f"labels must be a vector of integers, but are {labels.dtype}, {labels.shape}")
    return labels.astype(np.int64)


def choose_views(known: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Return the names of the views to load, in the requested order; None selects all views."""
    if wanted is None:
        return list(known)
    names = as_list(wanted, "views")
    if not names:
        raise ValueError(f"views must name at least one view. Available views: {', '.join(known)}.")
    for name in names:
        check_choice(name, "views", known)
    if len(set(names)) < len(names):
        raise ValueError(f"views must not contain duplicates. Got {names}.")
    return names


def pick(options: Mapping[str, Any], chosen: str, parameter: str) -> Any:
    """Return the value of the chosen key, after checking that it is a valid choice."""
    return options[check_choice(chosen, parameter, tuple(options))]
