"""Readers of the supported file formats: from a path to tables of numbers, with row names as index if available."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import getitem
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np

from mvlvm.checks import require
from mvlvm.errors import ViewError
from mvlvm.views.csv import (
    check_unique_columns,
    column_not_found_error,
    find_row_name_column,
    no_rows_error,
    read_delimited,
    to_numeric,
)
from mvlvm.views.interop import anndata_to_frame, check_shared_rows, suppress_anndata_warnings

# View name -> table. The key is None if the file holds a single table without a name.
Tables = Mapping[str | None, Any]

# Kinds of NumPy arrays.
_NUMBERS = "iuf"
_NUMERIC = f"b{_NUMBERS}"  # booleans are not read from an archive, where they are more likely a mask than a view
_TEXT = "US"
# Names of arrays in an archive written by scipy.sparse.save_npz.
_SPARSE_PARTS = {"format", "shape", "data"}


def _read_csv(path: Path, row_names: str | None) -> Tables:
    return {None: read_delimited(path, ",", row_names)}


def _read_tsv(path: Path, row_names: str | None) -> Tables:
    return {None: read_delimited(path, "\t", row_names)}


def _read_parquet(path: Path, row_names: str | None) -> Tables:
    require("pyarrow", "Reading Parquet files")
    check_unique_columns(path, require("pyarrow.parquet", "Reading Parquet files").read_schema(path).names)
    frame = require("pandas", "Reading Parquet files").read_parquet(path, engine="pyarrow")
    return {None: to_numeric(_set_row_names(frame, path, row_names), path)}


def _set_row_names(frame: Any, path: Path, row_names: str | None) -> Any:
    """Return a DataFrame with the row names as index; they may be a column or the index already."""
    pandas = require("pandas", "Reading Parquet files")
    if row_names is None:
        return frame.reset_index(drop=True)
    if row_names == "auto":
        names, rest = _split_row_names(frame)
    elif row_names in frame.index.names:
        names, rest = frame.index.get_level_values(row_names), frame
    elif row_names in frame.columns:
        names, rest = frame[row_names], frame.drop(columns=row_names)
    else:
        raise column_not_found_error(path, row_names, list(frame.columns))
    if names is None:
        return rest.reset_index(drop=True)
    as_text = ["" if missing else _name_text(name) for name, missing in zip(names, names.isna(), strict=True)]
    return rest.set_axis(pandas.Index(as_text, dtype=object), axis=0)


def _split_row_names(frame: Any) -> tuple[Any, Any]:
    """Return the row names, None if there are none, and the DataFrame without them.

    A column takes precedence over an unnamed index of integers, which may be left over from another table.
    """
    pandas = require("pandas", "Reading Parquet files")
    types = pandas.api.types
    numbered = frame.index.name is None and types.is_integer_dtype(frame.index.dtype)
    if not numbered:
        return frame.index.to_flat_index(), frame
    if frame.shape[1]:
        first = frame.iloc[:, 0].dropna()
        entries = [str(entry + 0 if types.is_bool_dtype(first.dtype) else entry) for entry in first]
        position = find_row_name_column([str(label) for label in frame.columns], entries)
        if position is not None:
            return frame.iloc[:, position], frame.iloc[:, position + 1 :]
    is_range = frame.index.equals(pandas.RangeIndex(len(frame)))
    return None if is_range else frame.index, frame


def _name_text(name: Any) -> str:
    """Return a row name as text; integers that pandas converted to floats are written as integers."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _read_npy(path: Path, row_names: str | None) -> Tables:
    with path.open("rb") as file:
        array = _load_without_pickle(str(path), partial(np.lib.format.read_array, file, allow_pickle=False))
    if array.ndim != 2 or array.dtype.kind not in _NUMERIC:
        raise ViewError(
            f"{path} must hold a two-dimensional array of numbers, rows and columns. Got shape {array.shape} of "
            f"{array.dtype}. Reshape it: array.reshape(-1, 1) if it has one column, array.reshape(len(array), -1) if "
            "its rows are images."
        )
    return {None: _to_frame(array)}


def _read_npz(path: Path, row_names: str | None) -> Tables:
    if not is_zipfile(path):
        raise BadZipFile("it is not an archive of arrays, or incomplete")
    with np.load(path, allow_pickle=False) as file:
        arrays = {
            name: _load_without_pickle(f"The array '{name}' in {path}", partial(getitem, file, name))
            for name in file.files
        }
    if arrays.keys() >= _SPARSE_PARTS and arrays["format"].dtype.kind in _TEXT:
        raise ViewError(
            f"{path} must hold two-dimensional arrays. Got the parts of a sparse matrix, as written by "
            "scipy.sparse.save_npz. Read it with scipy.sparse.load_npz; estimators accept sparse matrices."
        )
    views = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in _NUMBERS}
    if not views:
        given = (f"{name} {array.shape} of {array.dtype}" for name, array in arrays.items())
        raise ViewError(
            f"{path} must hold at least one two-dimensional array of numbers, rows and columns. Got: "
            f"{', '.join(given) or 'nothing'}."
        )
    return {name: _to_frame(array, arrays.get(f"{name}_names")) for name, array in views.items()}


def _to_frame(array: np.ndarray, names: np.ndarray | None = None) -> Any:
    """Return an array as a DataFrame, with column names if there is one name for every column."""
    pandas = require("pandas", "Reading files")
    if names is not None and (names.shape != array.shape[1:] or names.dtype.kind not in _TEXT):
        names = None
    return pandas.DataFrame(array.astype(np.float64), columns=None if names is None else names.astype(str))


def _load_without_pickle(source: str, load: Callable[[], np.ndarray]) -> np.ndarray:
    """Load an array, and reject pickled objects, which can execute code."""
    try:
        return load()
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ViewError(
            f"{source} holds Python objects, which are not loaded because unpickling can execute arbitrary code. "
            "Save it as numbers: array.astype(float)."
        ) from None


def _read_h5ad(path: Path, row_names: str | None) -> Tables:
    anndata = require("anndata", "Reading H5AD files")
    with suppress_anndata_warnings():
        adata = anndata.read_h5ad(path)
    return {None: _numeric_frame(str(path), adata, row_names)}


def _read_h5mu(path: Path, row_names: str | None) -> Tables:
    mudata = require("mudata", "Reading H5MU files")
    with suppress_anndata_warnings():
        mdata = mudata.read_h5mu(path)
    check_shared_rows(mdata)
    return {name: _numeric_frame(f"{name} of {path}", adata, row_names) for name, adata in mdata.mod.items()}


def _numeric_frame(source: str, adata: Any, row_names: str | None) -> Any:
    frame = anndata_to_frame(source, adata).astype(np.float64)
    return frame.reset_index(drop=True) if row_names is None else frame


READERS: dict[str, Callable[[Path, str | None], Tables]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_parquet,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".h5ad": _read_h5ad,
    ".h5mu": _read_h5mu,
}


def suffix_of(path: Path) -> str:
    """Return the suffix of a file name that identifies its format.

    Raises:
        ViewError: the format is unknown.
    """
    matching = [suffix for suffix in READERS if path.name.lower().endswith(suffix)]
    if not matching:
        raise ViewError(
            f"The format of {path} is unknown: its name must end in one of {', '.join(READERS)}. "
            "Rename the file, or save it in one of these formats."
        )
    return matching[0]


def read_file(path: Path, row_names: str | None) -> Tables:
    """Read all tables of one file.

    Args:
        path: the file, which is not modified.
        row_names: the column of row names in CSV, TSV and Parquet files, or "auto"; None if rows have no names.

    Returns:
        View name -> DataFrame of float64; the name is None for formats without view names.

    Raises:
        ViewError: the file cannot be read, or does not hold tables of numbers.
    """
    reader = READERS[suffix_of(path)]
    if path.is_dir():
        raise ViewError(f"{path} is a folder. Pass the files in it.")
    if not path.exists():
        raise ViewError(f"File not found: {path}. Check its name; the current folder is {Path.cwd()}.")
    try:
        tables = reader(path, row_names)
    except (ViewError, ModuleNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:  # the libraries raise many types of errors for damaged files
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise ViewError(
            f"{path} is damaged, or not in the format of its name: {reason}. The file was not changed. "
            "Copy or write it again."
        ) from error
    for name, table in tables.items():
        if not len(table):
            raise no_rows_error(path if name is None else f"'{name}' in {path}")
    return tables
