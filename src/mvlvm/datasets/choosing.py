"""Choices that the options of many data sets have in common: which rows, which views."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from mvlvm.checks import check_choice, check_integer

SPLITS = ("all", "train", "test")


class OptionError(ValueError):
    """An option asks for what the data do not have, which is known only when they are read."""


def check_count(value: Any, parameter: str) -> None:
    """Refuse what is neither None, for all, nor a positive number of things."""
    if value is not None:
        check_integer(value, parameter, at_least=1)


def check_available(value: int, parameter: str, n_available: int) -> None:
    """Refuse a number of things that there are not."""
    if value > n_available:
        raise OptionError(f"{parameter} must be at most {n_available}, which is all there are. Got {value}.")


def as_list(value: Any, parameter: str) -> list[Any]:
    """Give a list or tuple as a list, and a text as a list of one."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence):
        raise ValueError(f"{parameter} must be a list. Got {value!r}.")
    return list(value)


def draw_rows(
    n_available: int, n_samples: int | None, rng: np.random.Generator, parameter: str = "n_samples"
) -> Int[np.ndarray, " K"] | slice:
    """Draw rows without putting back; None keeps all of them, in order."""
    if n_samples is None:
        return slice(None)
    check_available(n_samples, parameter, n_available)
    return rng.choice(n_available, n_samples, replace=False)


def drawn_names(source: str, rows: Int[np.ndarray, " K"] | slice, start: int = 0) -> tuple[str, ...] | None:
    """Name rows that were drawn by their place in the file, counted from zero; rows in order need no names."""
    return None if isinstance(rows, slice) else tuple(f"{source} {start + row}" for row in rows)


def rows_of_split(split: str, n_train: Shaped[np.ndarray, ""], n_rows: int) -> slice:
    """Give the rows of the original training or test set, or of both; training rows come first in the files."""
    cut = int(n_train)
    if not 0 <= cut <= n_rows:
        raise ValueError(f"n_train must be from 0 to {n_rows}, the number of rows, but is {cut}")
    return {"all": slice(0, n_rows), "train": slice(0, cut), "test": slice(cut, n_rows)}[split]


def class_numbers(labels: Shaped[np.ndarray, "..."]) -> Int[np.ndarray, " N"]:
    """Give labels as integers, if they are whole numbers."""
    if labels.ndim != 1 or labels.dtype.kind not in "biuf" or not np.array_equal(labels, np.floor(labels)):
        raise ValueError(f"labels must be a list of whole numbers, but are {labels.dtype}, {labels.shape}")
    return labels.astype(np.int64)


def choose_views(known: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Give the views to load, in the order asked for; None means all."""
    if wanted is None:
        return list(known)
    names = as_list(wanted, "views")
    if not names:
        raise ValueError(f"views must name at least one view. Known are: {', '.join(known)}.")
    for name in names:
        check_choice(name, "views", known)
    if len(set(names)) < len(names):
        raise ValueError(f"views must name no view twice. Got {names}.")
    return names


def pick(options: Mapping[str, Any], chosen: str, parameter: str) -> Any:
    """Give what the chosen name stands for."""
    return options[check_choice(chosen, parameter, tuple(options))]
