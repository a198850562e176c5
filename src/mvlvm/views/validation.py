"""The door: what is wrong with the data is said here, in a sentence, before anything is computed.

The second door: rows that come to a fitted model must have its views and its columns.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.optional_dependencies import is_dataframe, is_series
from mvlvm.views.anndata import is_anndata, is_mudata
from mvlvm.views.csv import is_number
from mvlvm.views.labels import LabelFormat, encode_labels, infer_label_format, is_label_column, json_labels
from mvlvm.views.layout import Container, Layout, Views, infer_layout, unpack
from mvlvm.views.scaling import observed_rows
from mvlvm.views.sparse import as_dense, has_sparse_columns, is_sparse

_FEWEST_ROWS = 2
# Squares of numbers beyond these are no longer safe in float64.
_SMALLEST, _LARGEST = 1e-100, 1e100
_RESCALE = "Give the view in other units."


def as_views(views: Any) -> Views:
    """Check views and give them names.

    What is float64 already is not copied: its matrix is the user's own, which cannot be written to from here.

    Args:
        views: a matrix, sparse matrix, DataFrame or AnnData (one view), a list of matrices or DataFrames (named view0,
            view1, ...), a dict of them, or a MuData. Sparse views are made dense. In a list or dict, a column of labels
            is a view, too: one axis, or one column of text or pandas categories.

    Raises:
        ViewError: they cannot be used; the message says why and what to do.
        TypeError: an entry is no number.
    """
    container, tables = unpack(views)
    _check_names(tables)
    if not tables:
        raise ViewError("At least one view is needed. Got none. Give a matrix, a list of matrices or a dict of them.")
    several = container in (Container.LIST, Container.DICT)
    labels = {
        name: infer_label_format(name, table) for name, table in tables.items() if several and is_label_column(table)
    }
    arrays = check_matrices(tables, min_rows=_FEWEST_ROWS, labels=labels)
    for name, array in arrays.items():
        _check_observed(name, array)
    return Views(arrays, infer_layout(container, tables, labels))


def check_matrices(
    tables: Mapping[str, Any], *, min_rows: int, labels: Mapping[str, LabelFormat]
) -> dict[str, Float[np.ndarray, "N _"]]:
    """Turn tables that share their rows into float64 matrices, NaN where they mark an entry as missing.

    Args:
        tables: view name -> matrix or DataFrame.
        min_rows: how many rows there must be.
        labels: view name -> form, for label views, which become codes.

    Raises:
        ViewError: they cannot be used.
        TypeError: an entry is no number.
    """
    arrays = {
        name: encode_labels(name, table, labels[name].classes) if name in labels else as_matrix(name, table)
        for name, table in tables.items()
    }
    _check_rows(arrays)
    _check_row_labels(tables)
    for name, array in arrays.items():
        _check_size(name, array, min_rows)
        _check_finite(name, array, tables[name])
        _check_range(name, array)
    return arrays


def as_matrix(name: str, table: Any) -> Float[np.ndarray, "N M"]:
    """Turn one view into a float64 matrix, with NaN for whatever it marks as missing.

    Args:
        name: the view, for messages.
        table: a matrix, sparse matrix or DataFrame.

    Raises:
        ViewError: it is no matrix of numbers.
        TypeError: an entry is no number.
    """
    if is_anndata(table) or is_mudata(table):
        raise ViewError(
            f"View '{name}' must be a matrix or DataFrame. Got {type(table).__name__} inside a list or dict. "
            "Give an AnnData by itself, and several as mudata.MuData({name: adata, ...})."
        )
    array = _as_array(name, table)
    if np.iscomplexobj(array):
        raise ViewError(
            f"Complex data not supported: view '{name}' is complex. Give its real and imaginary parts as two views."
        )
    if array.ndim != 2:
        raise ViewError(
            f"Expected a 2-dimensional view, got view '{name}' with shape {array.shape}. Reshape your data: "
            "view.reshape(-1, 1) if it has one column, view.reshape(len(view), -1) if its rows are images."
        )
    return _as_float(name, array)


def _as_array(name: str, table: Any) -> np.ndarray:
    """Read a view, with NaN for whatever it marks as missing."""
    try:
        if is_sparse(table) or (is_dataframe(table) and has_sparse_columns(table)):
            return as_dense(name, table)
        if is_dataframe(table):
            array = table.to_numpy()  # numbers of one type have no mark of their own for what is missing
            return table.to_numpy(dtype=object, na_value=np.nan) if array.dtype == object else array
        if isinstance(table, np.ma.MaskedArray):
            return np.ma.filled(table.astype(np.float64), np.nan)
        array = np.asarray(table)
    except ViewError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise ViewError(
            f"View '{name}' cannot be read as a matrix: {error}. Give N rows of M numbers, all rows of the same length."
        ) from None
    if array.ndim == 0:
        raise ViewError(
            f"View '{name}' must be a matrix. Got {type(table).__name__}. "
            "Give a matrix or DataFrame, a list of them, or a dict of them with the views' names."
        )
    return array


def _as_float(name: str, array: np.ndarray) -> Float[np.ndarray, "N M"]:
    if array.dtype.kind in "mM":
        raise ViewError(
            f"View '{name}' must hold numbers only. Got {'dates' if array.dtype.kind == 'M' else 'durations'}. "
            "Turn them into numbers first, for example days since the first one."
        )
    try:
        numbers = array.astype(np.float64, copy=False)
        return _read_only(numbers) if numbers is array else numbers
    except OverflowError:
        raise ViewError(f"View '{name}' holds numbers beyond the range of floating point. {_RESCALE}") from None
    except ValueError:
        culprit = next(entry for entry in array.flat if not is_number(entry))
        raise ViewError(
            f"View '{name}' must hold numbers only. Got {str(culprit)!r}. "
            "Encode text and categories as numbers first, for example one column per category."
        ) from None
    except TypeError as error:
        raise TypeError(f"View '{name}' must hold numbers only: {error}.") from None


def _read_only(array: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Give an array that cannot be written to: it is the user's own, which is not copied."""
    array = array.view()
    array.flags.writeable = False
    return array


def _check_names(tables: Mapping[Any, Any]) -> None:
    for name in tables:
        if not isinstance(name, str):
            raise ViewError(
                f"The names of views must be strings. Got {name!r}, which is of type {type(name).__name__}. "
                f"Write '{name}' instead."
            )


def _check_row_labels(tables: Mapping[str, Any]) -> None:
    """Two tables with other row labels, or the same ones in another order, do not describe the same samples."""
    frames = [(name, table) for name, table in tables.items() if is_dataframe(table) or is_series(table)]
    for name, frame in frames[1:]:
        first_name, first = frames[0]
        if not frame.index.equals(first.index):
            raise ViewError(
                "Row i must be the same sample in every view. "
                f"The rows of '{name}' are labelled otherwise than those of '{first_name}'. "
                "Put them in the same order with .loc, or drop the labels with .reset_index(drop=True)."
            )


def _check_rows(arrays: Mapping[str, Float[np.ndarray, "_ _"]]) -> None:
    if len({len(array) for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name}: {array.shape}" for name, array in arrays.items())
        raise ViewError(
            f"All views must have the same number of rows. Got {shapes}. "
            "Row i must be the same sample in every view: drop or add rows so that they match."
        )


def _check_size(name: str, array: Float[np.ndarray, "N M"], min_rows: int) -> None:
    N, M = array.shape
    if M == 0:
        raise ViewError(
            f"View '{name}' has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required. "
            "Leave the view out."
        )
    if min_rows > N:
        raise ViewError(
            f"View '{name}' has {N} sample(s) (shape={array.shape}) while a minimum of {min_rows} is required. "
            "Rows are samples, columns are features: check that the view is not transposed."
        )


def _check_range(name: str, array: Float[np.ndarray, "N M"]) -> None:
    largest = _largest(array)
    if largest > _LARGEST or 0 < largest < _SMALLEST:
        raise ViewError(
            f"The largest entry of view '{name}' must lie between {_SMALLEST:g} and {_LARGEST:g} in magnitude. "
            f"Got {largest:g}. {_RESCALE}"
        )


def _largest(array: Float[np.ndarray, "N M"]) -> float:
    """Give the largest magnitude of what was observed, without a copy of the array."""
    if not array.size:
        return 0.0
    low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)
    return 0.0 if np.isnan(high) else float(max(-low, high))


def _check_finite(name: str, array: Float[np.ndarray, "N M"], table: Any) -> None:
    if not np.isinf(_largest(array)):
        return
    infinite = np.isinf(array)
    row, column = (int(place) for place in np.argwhere(infinite)[0])
    label = f"'{table.columns[column]}'" if is_dataframe(table) else column
    raise ViewError(
        f"View '{name}' contains infinity: {infinite.sum()} of its {array.size} entries are infinite, the first in row "
        f"{row}, column {label}. Put NaN where an entry is missing."
    )


def _check_observed(name: str, array: Float[np.ndarray, "N M"]) -> None:
    n_rows = int(observed_rows(array).sum())
    if n_rows < _FEWEST_ROWS:
        raise ViewError(
            f"View '{name}' must be observed in at least {_FEWEST_ROWS} rows. Got {n_rows}: all others are NaN "
            "throughout. Leave the view out."
        )


_MOST_NAMES = 5


def as_new_views(views: Any, layout: Layout, widths: Mapping[str, int]) -> Views:
    """Check rows for a fitted model.

    Args:
        views: as for `as_views`, but any of the model's views will do, and one row. None stands for a view that is
            missing. A model of one view takes a bare matrix, too, whatever the view is called.
        layout: the form of the training views.
        widths: view name -> columns in training; one for a label view.

    Raises:
        ViewError: they cannot be used; the message says why and what to do.
    """
    container, tables = unpack(views)
    if container is Container.SINGLE and _is_no_table(views):
        raise ViewError(
            f"New rows must be {'a matrix' if len(widths) == 1 else 'a dict of matrices'}. "
            f"Got {'None' if views is None else type(views).__name__}. Give one or more of {listed(list(widths))}."
        )
    tables = _named(container, tables, layout, list(widths))
    given = {name: table for name, table in tables.items() if table is not None}
    if not given:
        raise ViewError(f"At least one view is needed. Got none. Give one of {listed(list(widths))}.")
    unknown = [name for name in given if name not in widths]
    if unknown:
        raise ViewError(
            f"There was no view {listed(unknown)} in training. The model's views are {listed(list(widths))}: "
            "leave the others out."
        )
    ordered = {name: given[name] for name in widths if name in given}
    labels = {name: infer_label_format(name, ordered[name], layout.labels[name].classes) for name in layout.labels
              if name in ordered}  # fmt: skip
    arrays = check_matrices(ordered, min_rows=1, labels=labels)
    for name, table in ordered.items():
        if is_dataframe(table) and name in layout.columns:
            _check_column_names(name, json_labels(table.columns), json_labels(layout.columns[name]))
        if arrays[name].shape[1] != widths[name]:
            raise ViewError(
                f"View '{name}': X has {arrays[name].shape[1]} features, but it is expecting {widths[name]} features "
                "as input. Give the columns of training, in their order, with NaN where nothing was measured."
            )
    return Views(arrays, infer_layout(container, tables, labels))


def _is_no_table(views: Any) -> bool:
    try:
        return np.ndim(views) == 0
    except (TypeError, ValueError, RuntimeError):  # ragged lists, of which more is said later
        return False


def _named(container: Container, tables: Mapping[Any, Any], layout: Layout, names: list[str]) -> Mapping[Any, Any]:
    """Views are told apart by name; a bare matrix or a list has none, and stands for the views of training only."""
    if not container.single and container is not Container.LIST:
        return tables
    if len(names) > 1:
        _check_without_names(container, layout, names)
    if len(tables) != len(names):
        raise ViewError(
            f"A list must have one entry for every view of training, {len(names)}. Got {len(tables)}. Put None in the "
            f"place of a missing view, or give a dict, for example {{'{names[-1]}': matrix}}."
        )
    return dict(zip(names, tables.values(), strict=True))


def _check_without_names(container: Container, layout: Layout, names: list[str]) -> None:
    if container is Container.ANNDATA:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one AnnData without a name. "
            f"Give a MuData, for example mudata.MuData({{'{names[0]}': adata}})."
        )
    if container is Container.SINGLE:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one matrix without a name. "
            f"Give a dict, for example {{'{names[0]}': matrix}}."
        )
    if layout.container is not Container.LIST:
        raise ViewError(
            f"The model's views have names: {listed(names)}. Got a list. Give a dict, for example "
            f"{{'{names[0]}': matrix}}."
        )


def _check_column_names(name: str, given: list[Any], expected: list[Any]) -> None:
    if given == expected:
        return
    now, then = Counter(given), Counter(expected)
    unseen, missing = _written(
        [label for label in now if label not in then], [label for label in then if label not in now]
    )
    lines = [f"View '{name}': The feature names should match those that were passed during fit."]
    if unseen:
        lines += ["Feature names unseen at fit time:", *_shortened(unseen)]
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *_shortened(missing)]
    advice = "Select the columns of training by name, table[names]."
    if not unseen and not missing and now != then:
        repeated = [f"{label}: {now[label]}, at fit time {then[label]}" for label in now if now[label] != then[label]]
        lines += ["Feature names that are there another number of times:", *_shortened(sorted(repeated))]
        advice = "Give every column as often as it was there in fit."
    elif not unseen and not missing:
        lines += ["Feature names must be in the same order as they were in fit."]
    raise ViewError("\n".join([*lines, advice]))


def _written(unseen: list[Any], missing: list[Any]) -> tuple[list[str], list[str]]:
    """Write labels in order, text in quotes where a number would look like it."""
    alike = {str(label) for label in unseen} & {str(label) for label in missing}
    write = repr if alike else str
    return sorted(write(label) for label in unseen), sorted(write(label) for label in missing)


def _shortened(labels: list[str]) -> list[str]:
    return [f"- {label}" for label in labels[:_MOST_NAMES]] + (["- ..."] if len(labels) > _MOST_NAMES else [])
