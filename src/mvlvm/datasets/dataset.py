"""The `Dataset` container, its validation, its registry entry, and the selection of rows and views."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped
from scipy.sparse import issparse

from mvlvm.checks import check_choice, check_integer, listed
from mvlvm.errors import ViewError
from mvlvm.io.anndata_objects import as_mudata
from mvlvm.views.interop import as_dense, is_sparse

_NUMERIC_KINDS = "biuf"  # NumPy's codes for bool, signed, unsigned and float


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Mapping[str, Any]):
    """Named views of the same samples, with labels, ground truth and provenance where available.

    A data set is a mapping from view names to matrices and can be passed directly to every estimator:
    `est.fit(load("bridges"))`.

    Attributes:
        views: view name -> matrix with one row per sample; NaN marks missing entries. Sparse if the data are sparse.
        labels: class index of every sample, starting at zero; -1 if unknown. None if the data set has no classes.
        label_names: class names, in the order of the class indices.
        truth: ground truth of simulated data, for example "latents" and "kernels"; empty if unknown.
        rows: sample names.
        columns: view name -> column names, for views with named columns.
        image_shapes: view name -> (height, width) or (height, width, channels), for views whose rows are images.
        name: name of the data set in `load`.
        description: what was measured, and how the data were processed.
        origin: authors and source of the data.
        licence: terms of use, as far as they are known.
    """

    views: dict[str, Any]
    labels: Int[np.ndarray, " N"] | None = None
    label_names: tuple[str, ...] | None = None
    truth: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[str] | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    image_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    name: str = ""
    description: str = ""
    origin: str = ""
    licence: str = ""

    def as_frames(self) -> dict[str, Any]:
        """Convert the views to pandas DataFrames.

        Returns:
            View name -> (N, M) DataFrame, with row and column names where available. The data are copied.
        """
        rows = None if self.rows is None else pd.Index(self.rows)
        columns = {name: pd.Index(labels) for name, labels in self.columns.items()}
        return {
            name: pd.DataFrame(
                as_dense(name, Y) if is_sparse(Y) else Y, index=rows, columns=columns.get(name), copy=True
            )
            for name, Y in self.views.items()
        }  # fmt: skip

    def as_mudata(self) -> Any:
        """Convert the data set to a MuData object.

        Returns:
            A MuData object with one modality per view. A modality contains only the samples observed in its view.
            Labels are stored in `obs["label"]`: as a categorical if they have names, otherwise as integers.

        Raises:
            ViewError: Row names are not unique.
        """
        self._check_rows()
        observed = {name: frame.dropna(how="all") for name, frame in self.as_frames().items()}
        mdata = as_mudata(observed)
        if self.labels is not None:
            names = map(str, range(len(self.labels)) if self.rows is None else self.rows)
            labels = self.labels
            if self.label_names is not None:
                labels = pd.Categorical.from_codes(labels, list(self.label_names))
            mdata.obs["label"] = pd.Series(labels, index=list(names)).reindex(mdata.obs_names)
        return mdata

    def _check_rows(self) -> None:
        rows = [] if self.rows is None else list(self.rows)
        repeated = [row for row, count in Counter(rows).items() if count > 1]
        if repeated:
            raise ViewError(
                f"Row names must be unique to be matched across the modalities of a MuData object. Got duplicates: "
                f"{listed(repeated)}. Rename them: dataclasses.replace(data, rows=...)."
            )

    __eq__ = object.__eq__  # Mapping.__eq__ would evaluate the truth value of element-wise array comparisons
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]

    def __getitem__(self, view: str) -> Any:
        return self.views[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {' x '.join(map(str, Y.shape))}" for name, Y in self.views.items())
        classes = "" if self.label_names is None else f"; {len(self.label_names)} classes"
        return f"<Dataset {self.name!r}: {shapes}{classes}>"


DatasetLoader = Callable[..., Dataset]


@dataclass(frozen=True, kw_only=True)
class DatasetEntry:
    """Registry entry of a data set.

    Attributes:
        loader: function of a `FileCache`, a seed and options that returns the `Dataset`. The options of the data set
            are the keyword-only parameters of this function, documented in its docstring.
        views: names of the views under default options, so that they can be listed without loading the data.
        files: files that are read under default options.
        labelled: whether the rows have classes.
        simulated: whether the data are simulated on loading.
        description: what was measured, and how the data are processed.
        origin: authors and source of the data.
        licence: terms of use, as far as they are known.
    """

    loader: DatasetLoader
    views: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    labelled: bool = True
    simulated: bool = False
    description: str
    origin: str
    licence: str


def check_dataset(data: Dataset) -> None:
    """Check that the views are numeric matrices and that views, labels and names have consistent lengths.

    Raises:
        ValueError: The data set is inconsistent; the message names the first problem found.
    """
    for name, Y in data.views.items():
        _check_view(name, Y)
    _check_lengths(data)
    if data.labels is not None:
        n_classes = len(data.label_names or ())
        if data.labels.min() < -1 or data.labels.max() >= n_classes:
            raise ValueError(
                f"labels must be between -1 and {n_classes - 1}, but range from {data.labels.min()} to "
                f"{data.labels.max()}"
            )
    for name, Y in data.views.items():
        _check_columns(data, name, Y.shape[1])


def _check_view(name: str, Y: Any) -> None:
    if not (issparse(Y) or isinstance(Y, np.ndarray)) or Y.dtype.kind not in _NUMERIC_KINDS:
        raise ValueError(f"view '{name}' is not numeric")
    if len(Y.shape) != 2 or 0 in Y.shape:
        shape = " x ".join(map(str, Y.shape)) or "a scalar"
        raise ValueError(f"view '{name}' must be a non-empty matrix, but its shape is {shape}")


def _check_lengths(data: Dataset) -> None:
    lengths = {view: Y.shape[0] for view, Y in data.views.items()}
    lengths |= {
        part: len(values) for part, values in (("labels", data.labels), ("row names", data.rows)) if values is not None
    }
    if len(set(lengths.values())) > 1:
        raise ValueError(f"numbers of rows differ ({_format_lengths(lengths)})")


def _check_columns(data: Dataset, view: str, n_columns: int) -> None:
    lengths = {view: n_columns}
    if view in data.columns:
        lengths["column names"] = len(data.columns[view])
    if view in data.image_shapes:
        lengths["pixels"] = math.prod(data.image_shapes[view])
    if len(set(lengths.values())) > 1:
        raise ValueError(f"numbers of columns differ ({_format_lengths(lengths)})")


def _format_lengths(lengths: dict[str, int]) -> str:
    return ", ".join(f"{part}: {length}" for part, length in lengths.items())


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
