"""Input validation: views are checked and converted to float64 matrices before any computation.

`as_views` validates training views. `as_new_views` validates the views of new rows, whose names and columns must match
those of the fitted model.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from mvlvm.checks import is_number, listed
from mvlvm.errors import ViewError
from mvlvm.views.column_names import match_columns, match_positions
from mvlvm.views.interop import as_dense, has_sparse_columns, is_anndata, is_mudata, is_sparse
from mvlvm.views.labels import LabelFormat, encode_labels, infer_label_format, is_label_column
from mvlvm.views.layout import Container, Layout, Views, infer_layout, unpack
from mvlvm.views.scaling import observed_rows

_MIN_ROWS = 2
# Squares of numbers beyond these bounds may underflow or overflow in float64.
_SMALLEST, _LARGEST = 1e-100, 1e100
_RESCALE = "Express the view in other units."


def as_views(views: Any) -> Views:
    """Validate views and return them as named float64 matrices.

    Matrices that are float64 already are not copied; the result is a read-only view of the user's array.

    Args:
        views: a matrix, sparse matrix, DataFrame or AnnData (one view); a list of matrices or DataFrames (named view0,
            view1, ...); a dict of them; or a MuData. Sparse views are converted to dense arrays. Elements of a list or
            dict can also be columns of labels: 1-D, or one column of text or pandas categories.

    Returns:
        The validated views with their layout.

    Raises:
        ViewError: the views cannot be used; the message states the problem and a remedy.
        TypeError: an entry is not a number.
    """
    container, tables = unpack(views)
    _check_names(tables)
    if not tables:
        raise ViewError("At least one view is needed. Got none. Pass a matrix, a list of matrices or a dict of them.")
    several = container in (Container.LIST, Container.DICT)
    labels = {
        name: infer_label_format(name, table) for name, table in tables.items() if several and is_label_column(table)
    }
    arrays = check_matrices(tables, min_rows=_MIN_ROWS, labels=labels)
    for name, array in arrays.items():
        _check_observed(name, array)
    return Views(arrays, infer_layout(container, tables, labels))


def as_new_views(views: Any, layout: Layout, widths: Mapping[str, int]) -> Views:
    """Validate the views of new rows for a fitted model.

    Args:
        views: as for `as_views`, but any subset of the model's views and a single row are sufficient. None denotes a
            missing view. A model of one view also accepts a matrix without a name. Columns with names are matched by
            name, whatever their order.
        layout: the layout of the training views.
        widths: view name -> number of columns in training; 1 for a label view.

    Returns:
        The validated views, with views and columns in the order of training, and their layout.

    Raises:
        ViewError: the views cannot be used; the message states the problem and a remedy.
    """
    container, tables = unpack(views)
    if container is Container.SINGLE and _is_scalar(next(iter(tables.values()))):
        raise ViewError(
            f"New rows must be {'a matrix' if len(widths) == 1 else 'a dict of matrices'}. "
            f"Got {'None' if views is None else type(views).__name__}. Pass one or more of {listed(list(widths))}."
        )
    tables = _match_names(container, tables, layout, list(widths))
    given = {name: table for name, table in tables.items() if table is not None}
    if not given:
        raise ViewError(f"At least one view is needed. Got none. Pass one of {listed(list(widths))}.")
    unknown = [name for name in given if name not in widths]
    if unknown:
        raise ViewError(
            f"There was no view {listed(unknown)} in training. The model's views are {listed(list(widths))}: "
            "leave the others out."
        )
    ordered = {name: _match_columns(name, given[name], layout, widths[name]) for name in widths if name in given}
    labels = {
        name: infer_label_format(name, ordered[name], label_format.classes)
        for name, label_format in layout.labels.items()
        if name in ordered
    }
    arrays = check_matrices(ordered, min_rows=1, labels=labels)
    for name, array in arrays.items():
        if array.shape[1] != widths[name]:
            raise ViewError(
                f"View '{name}': X has {array.shape[1]} features, but it is expecting {widths[name]} features "
                "as input. Pass the columns of training, in their order, with NaN for missing entries."
            )
    return Views(arrays, infer_layout(container, {**tables, **ordered}, labels))


def check_matrices(
    tables: Mapping[str, Any], *, min_rows: int, labels: Mapping[str, LabelFormat]
) -> dict[str, Float[np.ndarray, "N _"]]:
    """Convert tables with the same rows to float64 matrices, with NaN for missing entries, and check them.

    Args:
        tables: view name -> matrix or DataFrame.
        min_rows: the minimum number of rows.
        labels: view name -> label format, for label views, which are converted to class codes.

    Returns:
        View name -> matrix.

    Raises:
        ViewError: the tables cannot be used.
        TypeError: an entry is not a number.
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
    """Convert one view to a float64 matrix, with NaN for missing entries.

    Args:
        name: the view, for messages.
        table: a matrix, sparse matrix or DataFrame.

    Raises:
        ViewError: the table is not a matrix of numbers.
        TypeError: an entry is not a number.
    """
    if is_anndata(table) or is_mudata(table):
        raise ViewError(
            f"View '{name}' must be a matrix or DataFrame. Got {type(table).__name__} inside a list or dict. "
            "Pass a single AnnData directly, and several as mudata.MuData({name: adata, ...})."
        )
    array = _as_array(name, table)
    if np.iscomplexobj(array):
        raise ViewError(
            f"Complex data not supported: view '{name}' is complex. Pass its real and imaginary parts as two views."
        )
    if array.ndim != 2:
        raise ViewError(
            f"Expected a 2-dimensional view, got view '{name}' with shape {array.shape}. Reshape your data: "
            "view.reshape(-1, 1) if it has one column, view.reshape(len(view), -1) if its rows are images."
        )
    return _as_float(name, array)


def _as_array(name: str, table: Any) -> np.ndarray:
    """Convert a view to an array of any type, with NaN for missing entries."""
    try:
        if is_sparse(table) or (isinstance(table, pd.DataFrame) and has_sparse_columns(table)):
            return as_dense(name, table)
        if isinstance(table, pd.DataFrame):
            array = table.to_numpy()  # na_value is needed for object arrays only; numeric arrays represent it as NaN
            return table.to_numpy(dtype=object, na_value=np.nan) if array.dtype == object else array
        if isinstance(table, np.ma.MaskedArray):
            return np.ma.filled(table.astype(np.float64), np.nan)
        array = np.asarray(table)
    except ViewError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise ViewError(
            f"View '{name}' cannot be read as a matrix: {error}. Pass N rows of M numbers, all rows of the same length."
        ) from None
    if array.ndim == 0:
        raise ViewError(
            f"View '{name}' must be a matrix. Got {type(table).__name__}. "
            "Pass a matrix or DataFrame, a list of them, or a dict, view name -> matrix."
        )
    return array


def _as_float(name: str, array: np.ndarray) -> Float[np.ndarray, "N M"]:
    if array.dtype.kind in "mM":
        raise ViewError(
            f"View '{name}' must hold numbers only. Got {'dates' if array.dtype.kind == 'M' else 'durations'}. "
            "Convert them to numbers first, for example days since the first date."
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
    """Return a read-only view of the user's array, which is not copied."""
    array = array.view()
    array.flags.writeable = False
    return array


def _check_names(tables: Mapping[Any, Any]) -> None:
    for name in tables:
        if not isinstance(name, str):
            raise ViewError(
                f"The names of views must be strings. Got {name!r}, which is of type {type(name).__name__}. "
                f"Use '{name}' instead."
            )


def _check_row_labels(tables: Mapping[str, Any]) -> None:
    """Check that all tables have the same row labels in the same order, as rows of the same samples do."""
    frames = [(name, table) for name, table in tables.items() if isinstance(table, pd.DataFrame | pd.Series)]
    for name, frame in frames[1:]:
        first_name, first = frames[0]
        if not frame.index.equals(first.index):
            raise ViewError(
                "Row i must be the same sample in every view. "
                f"The row labels of '{name}' differ from those of '{first_name}'. "
                "Reorder the rows with .loc, or drop the labels with .reset_index(drop=True)."
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
    largest = _largest_magnitude(array)
    if largest > _LARGEST or 0 < largest < _SMALLEST:
        raise ViewError(
            f"The largest entry of view '{name}' must lie between {_SMALLEST:g} and {_LARGEST:g} in magnitude. "
            f"Got {largest:g}. {_RESCALE}"
        )


def _largest_magnitude(array: Float[np.ndarray, "N M"]) -> float:
    """Return the largest magnitude of the observed entries, without copying the array."""
    if not array.size:
        return 0.0
    low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)
    return 0.0 if np.isnan(high) else float(max(-low, high))


def _check_finite(name: str, array: Float[np.ndarray, "N M"], table: Any) -> None:
    if not np.isinf(_largest_magnitude(array)):
        return
    infinite = np.isinf(array)
    row, column = (int(position) for position in np.argwhere(infinite)[0])
    label = f"'{table.columns[column]}'" if isinstance(table, pd.DataFrame) else column
    raise ViewError(
        f"View '{name}' contains infinity: {infinite.sum()} of its {array.size} entries are infinite, the first in row "
        f"{row}, column {label}. Use NaN for missing entries."
    )


def _check_observed(name: str, array: Float[np.ndarray, "N M"]) -> None:
    n_rows = int(observed_rows(array).sum())
    if n_rows < _MIN_ROWS:
        raise ViewError(
            f"View '{name}' must be observed in at least {_MIN_ROWS} rows. Got {n_rows}: all other rows are NaN in "
            "every column. Leave the view out."
        )


def _is_scalar(views: Any) -> bool:
    try:
        return np.ndim(views) == 0
    except (TypeError, ValueError, RuntimeError):  # ragged lists, which are reported later
        return False


def _match_columns(name: str, table: Any, layout: Layout, width: int) -> Any:
    """Return a view of new rows with its columns in the order of training, if they have names."""
    if not isinstance(table, pd.DataFrame) or name in layout.labels:
        return table
    if name in layout.columns:
        return match_columns(name, table, layout.columns[name])
    return match_positions(name, table, width)


def _match_names(
    container: Container, tables: Mapping[Any, Any], layout: Layout, names: list[str]
) -> Mapping[Any, Any]:
    """Return tables by view name. An unnamed matrix or a list is matched to the training views by position."""
    if not container.single and container is not Container.LIST:
        return tables
    if len(names) > 1:
        _check_unnamed(container, layout, names)
    if len(tables) != len(names):
        raise ViewError(
            f"A list must have one entry for every view of training, {len(names)}. Got {len(tables)}. Use None for a "
            f"missing view, or pass a dict, for example {{'{names[-1]}': matrix}}."
        )
    return dict(zip(names, tables.values(), strict=True))


def _check_unnamed(container: Container, layout: Layout, names: list[str]) -> None:
    """Check that several views are given as a list, and were given as a list in training."""
    if container is Container.ANNDATA:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one AnnData without a name. "
            f"Pass a MuData, for example mudata.MuData({{'{names[0]}': adata}})."
        )
    if container is Container.SINGLE:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one matrix without a name. "
            f"Pass a dict, for example {{'{names[0]}': matrix}}."
        )
    if layout.container is not Container.LIST:
        raise ViewError(
            f"The model's views have names: {listed(names)}. Got a list. Pass a dict, for example "
            f"{{'{names[0]}': matrix}}."
        )
