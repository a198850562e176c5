"""The registry of data sets, and `load`, which loads a data set by name."""

import difflib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm.checks import check_flag
from mvlvm.datasets import builtin, digits, images, omics, synthetic, tabular, text, wireless
from mvlvm.datasets.cache import FileCache, damaged
from mvlvm.datasets.dataset import Dataset, DatasetEntry, OptionError, check_dataset
from mvlvm.randomness import RandomStateLike, seed_from

REGISTRY: dict[str, DatasetEntry] = {
    **synthetic.ENTRIES,
    **builtin.ENTRIES,
    **tabular.ENTRIES,
    **digits.ENTRIES,
    **images.ENTRIES,
    **text.ENTRIES,
    **wireless.ENTRIES,
    **omics.ENTRIES,
}

LABEL_VIEW = "label"
_LOAD_PARAMETERS = ("data_home", "random_state", "with_labels_as_view")
# Raised by a loader if a file does not have the expected contents.
_CONTENT_ERRORS = (TypeError, IndexError, ValueError)


def load(
    name: str,
    *,
    data_home: str | Path | None = None,
    random_state: RandomStateLike = 0,
    with_labels_as_view: bool = False,
    **options: Any,
) -> Dataset:
    """Load a data set by name.

    Files are searched for in `data_home`, in the folder given by the environment variable `MVLVM_DATA`, and in the
    user's cache folder. Files not found there are downloaded from their public source.

    Args:
        name: one of the names returned by `list()`.
        data_home: folder that is searched first, and the destination of downloads.
        random_state: seed for subsampling, pairing or simulation, depending on the data set; the same rows by default,
            and others in every call if it is None.
        with_labels_as_view: add the labels as a one-hot view named "label", as in the paper. Rows with an unknown
            label are missing (NaN) in this view.
        **options: options of the data set; `options(name)` lists them with their defaults, which follow the paper
            where it specifies them.

    Returns:
        The data set, with one (N, M) matrix per view.

    Raises:
        ValueError: The data set or option does not exist, or the value of an option is invalid.
        DataFileError: A file is damaged, or is not found and cannot be downloaded.

    Example:
        >>> data = load("s-curve", kernels=["rbf", "gibbs", "rbf"], n_samples=50, n_features=8, random_state=0)
        >>> data
        <Dataset 's-curve': view1: 50 x 8, view2: 50 x 8, view3: 50 x 8>
        >>> data.truth["latents"].shape
        (50, 2)
    """
    return load_from(
        FileCache.at(data_home), name, options, random_state=random_state, with_labels_as_view=with_labels_as_view
    )


def load_from(
    cache: FileCache,
    name: str,
    options: Mapping[str, Any],
    *,
    random_state: RandomStateLike = None,
    with_labels_as_view: bool = False,
) -> Dataset:
    """Load a data set like `load`, but from a given `FileCache`, which records the files that are read."""
    entry = find_entry(name)
    _check_options(name, options)
    if check_flag(with_labels_as_view, "with_labels_as_view") and not entry.labelled:
        raise ValueError(f"Data set '{name}' has no labels, so with_labels_as_view=True is not possible.")
    data = _run_loader(entry, cache, seed_from(random_state), options)
    if with_labels_as_view:
        data = _add_label_view(data)
    given = {**options, "with_labels_as_view": with_labels_as_view}
    return replace(
        data,
        name=name,
        description=f"{entry.description}{_describe_options(name, given)}",
        origin=data.origin or entry.origin,
        licence=entry.licence,
    )


def list_names() -> list[str]:
    """Return the names of all data sets.

    Example:
        >>> "bridges" in list_names()
        True
    """
    return list(REGISTRY)


def options(name: str) -> dict[str, Any]:
    """Return the options of a data set as a dict from option name to default value.

    Example:
        >>> options("r-cifar")["n_per_class"]
        400
    """
    parameters = inspect.signature(find_entry(name).loader).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def find_entry(name: str) -> DatasetEntry:
    """Return the registry entry of a data set; the error for an unknown name suggests the closest match."""
    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    raise ValueError(
        f"Unknown data set {name!r}.{_suggest(name, list(REGISTRY))} Available data sets: {', '.join(REGISTRY)}."
    )


def _check_options(name: str, given: Mapping[str, Any]) -> None:
    known = options(name)
    for option in given:
        if option not in known:
            available = f"Available options: {', '.join(known)}." if known else "It has no options."
            suggestion = _suggest(option, [*known, *_LOAD_PARAMETERS])
            raise ValueError(f"Data set '{name}' has no option '{option}'.{suggestion} {available}")


def _suggest(given: object, known: Sequence[str]) -> str:
    hyphenated = {name.replace("_", "-"): name for name in known}
    matches = difflib.get_close_matches(str(given).lower().replace("_", "-"), hyphenated, n=1, cutoff=0.5)
    return f" Did you mean '{hyphenated[matches[0]]}'?" if matches else ""


def _run_loader(entry: DatasetEntry, cache: FileCache, seed: int, options: Mapping[str, Any]) -> Dataset:
    """Call the loader. An error before any file is read is due to an option; afterwards it is due to the file."""
    try:
        data = entry.loader(cache, seed, **options)
        check_dataset(data)
    except OptionError:
        raise
    except _CONTENT_ERRORS as error:
        if not cache.opened:
            raise
        raise damaged(cache.opened, error) from error
    return data


def _describe_options(name: str, given: Mapping[str, Any]) -> str:
    defaults = {**options(name), "with_labels_as_view": False}
    changed = {key: value for key, value in given.items() if _plain(value) != _plain(defaults[key])}
    return f" Loaded with {', '.join(f'{key}={_plain(value)!r}' for key, value in changed.items())}." if changed else ""


def _plain(value: Any) -> Any:
    """Convert tuples to lists and NumPy scalars to Python scalars."""
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, np.generic) else value


def _add_label_view(data: Dataset) -> Dataset:
    assert data.labels is not None
    assert data.label_names is not None
    return replace(data, views={**data.views, LABEL_VIEW: one_hot(data.labels, len(data.label_names))},
                   columns={**data.columns, LABEL_VIEW: data.label_names})  # fmt: skip


def one_hot(labels: Int[np.ndarray, " N"], n_classes: int) -> Float[np.ndarray, "N C"]:
    """Return the (N, C) one-hot encoding of class indices; rows with an unknown label (-1) are NaN."""
    view = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    view[labels < 0] = np.nan
    return view
