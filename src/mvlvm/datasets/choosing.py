"""Choices that the options of many data sets have in common: which rows, which views."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from mvlvm.checks import check_choice, check_integer

SPLITS = ("all", "train", "test")


def draw_rows(n_available: int, n_samples: int | None, rng: np.random.Generator) -> Int[np.ndarray, " K"] | slice:
    """Draw rows without putting back; None keeps all of them, in order."""
    if n_samples is None:
        return slice(None)
    check_integer(n_samples, "n_samples", at_least=1)
    if n_samples > n_available:
        raise ValueError(f"n_samples must be at most {n_available}, which is all there are. Got {n_samples}.")
    return rng.choice(n_available, n_samples, replace=False)


def rows_of_split(split: str, n_train: int) -> slice:
    """Give the rows of the original training or test set, or of both; training rows come first in the files."""
    check_choice(split, "split", SPLITS)
    return {"all": slice(None), "train": slice(n_train), "test": slice(n_train, None)}[split]


def choose_views(known: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Give the views to load, in the order asked for; None means all."""
    if wanted is None:
        return list(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise ValueError(f"views must name at least one view. Known are: {', '.join(known)}.")
    for name in names:
        check_choice(name, "views", known)
    return names


def pick(options: Mapping[str, Any], chosen: str, parameter: str) -> Any:
    """Give what the chosen name stands for."""
    return options[check_choice(chosen, parameter, tuple(options))]
