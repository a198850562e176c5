"""Readers of the supported file formats: from a path to tables of numbers, with row names as index if available."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from mvlvm.checks import require
from mvlvm.errors import ViewError
from mvlvm.io.delimited_text import read_delimited, read_delimited_labels
from mvlvm.io.hdf5 import read_h5_labels, read_h5ad, read_h5mu
from mvlvm.io.numpy_files import read_npy, read_npz
from mvlvm.io.size_limits import SizeLimit
from mvlvm.io.table_content import (
    ReadOptions,
    check_unique_columns,
    column_not_found_error,
    find_row_name_column,
    label_column_error,
    no_rows_error,
    to_numeric,
)

T = TypeVar("T")
# View name -> table. The key is None if the file holds a single table without a name.
Tables = Mapping[str | None, Any]

_FLOAT_BYTES = np.dtype(np.float64).itemsize
_BATCH_ROWS = 4096


def _read_csv(path: Path, options: ReadOptions) -> Tables:
    return {None: read_delimited(path, ",", options)}


def _read_tsv(path: Path, options: ReadOptions) -> Tables:
    return {None: read_delimited(path, "\t", options)}


def _read_parquet(path: Path, options: ReadOptions) -> Tables:
    require("pyarrow", "Reading Parquet files")
    with require("pyarrow.parquet", "Reading Parquet files").ParquetFile(path) as file:
        check_unique_columns(path, file.schema_arrow.names)
        options.limit.reserve(path, _FLOAT_BYTES * float(file.metadata.num_rows) * max(len(file.schema_arrow.names), 1))
        frame = _read_batches(path, file, options.limit).to_pandas()
    return {None: to_numeric(_set_row_names(frame, path, options.row_names), path)}


def _read_batches(path: Path, file: Any, limit: SizeLimit) -> Any:
    """Return the table of a Parquet file, whose text is checked in batches: it can be longer than the file declares."""
    pyarrow, batches, n_text_bytes = require("pyarrow", "Reading Parquet files"), [], 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS):
        n_text_bytes += sum(
            column.nbytes for column in batch.columns if not pyarrow.types.is_primitive(column.type)
        )  # fmt: skip
        limit.check(path, n_text_bytes, whole=False)
        batches.append(batch)
    return pyarrow.Table.from_batches(batches, schema=file.schema_arrow)


def _set_row_names(frame: Any, path: Path, row_names: str | None) -> Any:
    """Return a DataFrame with the row names as index; they may be a column or the index already."""
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
    return rest.set_axis(pd.Index(as_text, dtype=object, name=names.name), axis=0)


def _split_row_names(frame: Any) -> tuple[Any, Any]:
    """Return the row names, None if there are none, and the DataFrame without them.

    A column takes precedence over an unnamed index of integers, which may be left over from another table.
    """
    types = pd.api.types
    numbered = frame.index.name is None and types.is_integer_dtype(frame.index.dtype)
    if not numbered:
        return frame.index.to_flat_index(), frame
    if frame.shape[1]:
        first = frame.iloc[:, 0].dropna()
        entries = [str(entry + 0 if types.is_bool_dtype(first.dtype) else entry) for entry in first]
        position = find_row_name_column([str(label) for label in frame.columns], entries)
        if position is not None:
            return frame.iloc[:, position], frame.iloc[:, position + 1 :]
    is_range = frame.index.equals(pd.RangeIndex(len(frame)))
    return None if is_range else frame.index, frame


def _name_text(name: Any) -> str:
    """Return a row name as text; integers that pandas converted to floats are written as integers."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


READERS: dict[str, Callable[[Path, ReadOptions], Tables]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
}


def _read_parquet_labels(path: Path, column: str | None, options: ReadOptions) -> pd.Series:
    with require("pyarrow.parquet", "Reading Parquet files").ParquetFile(path) as file:
        check_unique_columns(path, file.schema_arrow.names)
        options.limit.reserve(path, _FLOAT_BYTES * float(file.metadata.num_rows) * max(len(file.schema_arrow.names), 1))
        frame = _set_row_names(_read_batches(path, file, options.limit).to_pandas(), path, options.row_names)
    if column is None and frame.shape[1] == 1:
        (column,) = frame.columns
    if column not in frame.columns:
        raise label_column_error(path, column, list(frame.columns))
    entries = [
        None if missing else str(entry) for entry, missing in zip(frame[column], frame[column].isna(), strict=True)
    ]
    return pd.Series(entries, index=frame.index, dtype=object, name=column)


LABEL_READERS: dict[str, Callable[[Path, str | None, ReadOptions], pd.Series]] = {
    ".csv": lambda path, column, options: read_delimited_labels(path, ",", column, options),
    ".tsv": lambda path, column, options: read_delimited_labels(path, "\t", column, options),
    ".parquet": _read_parquet_labels,
    ".h5ad": read_h5_labels,
    ".h5mu": read_h5_labels,
}
LABEL_READERS |= {f"{suffix}.gz": LABEL_READERS[suffix] for suffix in (".csv", ".tsv")}


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


def read_file(path: Path, options: ReadOptions) -> Tables:
    """Read all tables of one file.

    Args:
        path: the file, which is not modified.
        options: how to read it; the memory of its tables is counted.

    Returns:
        View name -> DataFrame of float64; the name is None for formats without view names.

    Raises:
        ViewError: the file cannot be read, is larger than the limit, or does not hold tables of finite numbers.
    """
    tables = _call(lambda: READERS[suffix_of(path)](path, options), path)
    for name, table in tables.items():
        source = str(path) if name is None else f"'{name}' in {path}"
        if not len(table):
            raise no_rows_error(source)
        _check_finite(source, table)
    return tables


def read_label_file(path: Path, column: str | None, options: ReadOptions) -> pd.Series:
    """Read one column of a file as text, None where it is missing; its index holds the row names.

    Args:
        path: the file.
        column: its name; None for the only one besides the row names.
        options: how to read the file.

    Raises:
        ViewError: the file cannot be read, is larger than the limit, or has no such column.
    """
    suffix = suffix_of(path)
    if suffix not in LABEL_READERS:
        raise ViewError(f"Labels must be in a file of type {', '.join(LABEL_READERS)}. Got {path}.")
    return _call(lambda: LABEL_READERS[suffix](path, column, options), path)


def _call(read: Callable[[], T], path: Path) -> T:
    """Call a reader, and report any error as one of the file."""
    _check_regular(path)
    try:
        return read()
    except (ViewError, ModuleNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:  # the libraries raise many types of errors for damaged files
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise ViewError(
            f"{path} is damaged, or not in the format of its name: {reason}. The file was not changed. "
            "Copy or write it again."
        ) from error


def _check_regular(path: Path) -> None:
    """Check that a path is that of a file; a pipe, for example, would be read without end."""
    if path.is_dir():
        raise ViewError(f"{path} is a folder. Pass the files in it.")
    if not path.exists():
        raise ViewError(f"File not found: {path}. Check its name; the current folder is {Path.cwd()}.")
    if not path.is_file():
        raise ViewError(f"{path} must be a regular file. Got a pipe, socket or device. Save its content to a file.")


def _check_finite(source: str, table: Any) -> None:
    """Check that a table holds no infinity, without copying it."""
    values = table.to_numpy()
    for start in range(0, len(values), _BATCH_ROWS):
        infinite = np.isinf(values[start : start + _BATCH_ROWS])
        if infinite.any():
            row, column = (int(position) for position in np.argwhere(infinite)[0])
            raise ViewError(
                f"Column {table.columns[column]!r} of {source} must hold finite numbers only. Got "
                f"{values[start + row, column]} in row {table.index[start + row]!r}. Write missing entries as NaN, and "
                "values beyond the range of measurement as the largest that can be measured."
            )
