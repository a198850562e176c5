"""All methods by the names they have in the literature, imported when they are asked for."""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One method.

    Attributes:
        name: in the literature.
        path: module and class of its estimator.
        several_views: whether it is made for several views; others take them side by side.
        package: what it needs beyond the library itself, by the name under which it is imported.
    """

    name: str
    path: str
    several_views: bool = False
    package: str | None = None

    @property
    def estimator(self) -> Any:
        """Its class."""
        module, name = self.path.split(":")
        return getattr(importlib.import_module(module), name)

    @property
    def class_name(self) -> str:
        """The name of its class, by which it is known in files."""
        return self.path.split(":")[1]


def _one_view(name: str, path: str, package: str | None = None) -> Entry:
    return Entry(name=name, path=f"mvlvm.baselines.{path}", package=package)


def _several_views(name: str, path: str, package: str | None = None) -> Entry:
    return Entry(name=name, path=f"mvlvm.baselines.{path}", several_views=True, package=package)


ENTRIES = (
    _one_view("PCA", "linear:PCA"),
    _one_view("RFLVM", "random_feature_lvm:RFLVM"),
    _several_views("MV-RFLVM", "random_feature_lvm:MVRFLVM"),
)


def entries() -> list[Entry]:
    """Give all methods, those of one view first.

    Example:
        >>> from mvlvm import baselines
        >>> baselines.list()[0].name
        'PCA'
    """
    return list(ENTRIES)


def get(name: str) -> Any:
    """Give the estimator of a method, a class to be called with its parameters.

    Example:
        >>> from mvlvm import baselines
        >>> baselines.get("PCA")(n_components=3)
        PCA(n_components=3)

    Raises:
        ValueError: there is no such method.
    """
    known = {entry.name: entry for entry in ENTRIES}
    if name not in known:
        raise ValueError(f"There is no method {name!r}. Known are: {', '.join(known)}.")
    return known[name].estimator
