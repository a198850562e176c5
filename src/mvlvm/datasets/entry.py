"""One entry of the registry: how a data set is made, and what is to be said of it."""

from collections.abc import Callable
from dataclasses import dataclass

from mvlvm.datasets.dataset import Dataset

Recipe = Callable[..., Dataset]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A data set that `load` knows.

    Attributes:
        recipe: makes it from a `FileStore`, a seed and options, which are the recipe's keyword-only parameters.
        views: the names of its views with its default options, so that they can be listed without loading.
        files: the files that it reads with its default options.
        labelled: whether its rows have classes.
        simulated: whether it is made when it is loaded.
        description: what was measured, and what is done to it.
        origin: who made it and where it comes from.
        licence: the terms of use, as far as they are known.
    """

    recipe: Recipe
    views: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    labelled: bool = True
    simulated: bool = False
    description: str
    origin: str
    licence: str
