"""`load`: the one door to all data sets."""

import difflib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm.checks import check_flag
from mvlvm.datasets.choosing import OptionError
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.registry import REGISTRY
from mvlvm.datasets.soundness import check_sound
from mvlvm.datasets.store import FileStore, damaged
from mvlvm.randomness import RandomStateLike, seed_from

LABEL_VIEW = "label"
_LOADS_OWN = ("data_home", "random_state", "with_labels_as_view")
# What reading foreign content raises, in the hands of a recipe that expects its own.
_FOREIGN = (TypeError, IndexError, ValueError)


def load(
    name: str,
    *,
    data_home: str | Path | None = None,
    random_state: RandomStateLike = None,
    with_labels_as_view: bool = False,
    **options: Any,
) -> Dataset:
    """Load a data set by name.

    Files are looked for in `data_home`, in the folder that the environment variable `MVLVM_DATA` names, and in the
    user's cache folder; what is in none of them is downloaded from its public home.

    Args:
        name: one of `list()`.
        data_home: a folder to look into first, and to download to.
        random_state: seed of whatever the data set draws: rows, pairs, or all of it.
        with_labels_as_view: add the labels as a one-hot view named "label", as the paper does. Where a label is not
            known, that row of the view is missing (NaN).
        **options: choices that this data set offers; `options(name)` lists them with their defaults, which are the
            paper's where it says.

    Raises:
        ValueError: there is no such data set, it has no such option, or the option has a wrong value.
        DataFileError: a file cannot be had or is damaged.

    Example:
        >>> data = load("s-curve", kernels=["rbf", "gibbs", "rbf"], n_samples=50, n_features=8, random_state=0)
        >>> data
        <Dataset 's-curve': view1: 50 x 8, view2: 50 x 8, view3: 50 x 8>
        >>> data.truth["latents"].shape
        (50, 2)
    """
    return load_from(
        FileStore.at(data_home), name, options, random_state=random_state, with_labels_as_view=with_labels_as_view
    )


def load_from(
    store: FileStore,
    name: str,
    options: Mapping[str, Any],
    *,
    random_state: RandomStateLike = None,
    with_labels_as_view: bool = False,
) -> Dataset:
    """Load a data set as `load` does, out of a store, which knows afterwards the files that were read."""
    entry = find_entry(name)
    _check_options(name, options)
    if check_flag(with_labels_as_view, "with_labels_as_view") and not entry.labelled:
        raise ValueError(f"Data set '{name}' has no labels, so with_labels_as_view=True is not possible.")
    data = _make(entry, store, seed_from(random_state), options)
    if with_labels_as_view:
        data = _add_label_view(data)
    given = {**options, "with_labels_as_view": with_labels_as_view}
    return replace(
        data,
        name=name,
        description=f"{entry.description}{_say_options(name, given)}",
        origin=data.origin or entry.origin,
        licence=entry.licence,
    )


def list_names() -> list[str]:
    """Give the names of all data sets.

    Example:
        >>> "bridges" in list_names()
        True
    """
    return list(REGISTRY)


def options(name: str) -> dict[str, Any]:
    """Give the options of a data set with their defaults.

    Example:
        >>> options("r-cifar")["n_per_class"]
        400
    """
    parameters = inspect.signature(find_entry(name).recipe).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def find_entry(name: str) -> Entry:
    """Give the registry's entry, or an error that suggests the nearest name."""
    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    raise ValueError(
        f"There is no data set {name!r}.{_suggest(name, list(REGISTRY))} Known are: {', '.join(REGISTRY)}."
    )


def _check_options(name: str, given: Mapping[str, Any]) -> None:
    known = options(name)
    for option in given:
        if option not in known:
            offered = f"It has: {', '.join(known)}." if known else "It has none."
            raise ValueError(
                f"Data set '{name}' has no option '{option}'.{_suggest(option, [*known, *_LOADS_OWN])} {offered}"
            )


def _suggest(given: object, known: Sequence[str]) -> str:
    spelled = {name.replace("_", "-"): name for name in known}
    nearest = difflib.get_close_matches(str(given).lower().replace("_", "-"), spelled, n=1, cutoff=0.5)
    return f" Did you mean '{spelled[nearest[0]]}'?" if nearest else ""


def _make(entry: Entry, store: FileStore, seed: int, options: Mapping[str, Any]) -> Dataset:
    """Follow the recipe. What goes wrong before a file is read is a wrong option; afterwards, the file is wrong."""
    try:
        data = entry.recipe(store, seed, **options)
        check_sound(data)
    except OptionError:
        raise
    except _FOREIGN as error:
        if not store.opened:
            raise
        raise damaged(store.opened, error) from error
    return data


def _say_options(name: str, given: Mapping[str, Any]) -> str:
    defaults = {**options(name), "with_labels_as_view": False}
    changed = {key: value for key, value in given.items() if _plain(value) != _plain(defaults[key])}
    return f" Loaded with {', '.join(f'{key}={_plain(value)!r}' for key, value in changed.items())}." if changed else ""


def _plain(value: Any) -> Any:
    """Give tuples as lists and numbers of NumPy as Python's."""
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, np.generic) else value


def _add_label_view(data: Dataset) -> Dataset:
    assert data.labels is not None
    assert data.label_names is not None
    return replace(data, views={**data.views, LABEL_VIEW: one_hot(data.labels, len(data.label_names))},
                   columns={**data.columns, LABEL_VIEW: data.label_names})  # fmt: skip


def one_hot(labels: Int[np.ndarray, " N"], n_classes: int) -> Float[np.ndarray, "N C"]:
    """Give a column for every class, one where a row is of that class, NaN throughout where that is not known."""
    view = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    view[labels < 0] = np.nan
    return view
