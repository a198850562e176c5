"""Writing tables to files that `read` reads back: CSV, TSV, Parquet and H5MU."""

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from mvlvm.checks import listed, require
from mvlvm.errors import ViewError
from mvlvm.io.anndata_objects import as_mudata, suppress_anndata_warnings
from mvlvm.io.atomic import open_atomically, path_atomically

_PACKAGES = {".parquet": "pyarrow", ".h5mu": "mudata"}
# Types whose text would be read as other numbers, or as words, and those with the same values.
_STORED_AS = {"float16": "float64", "float32": "float64", "bool": "int64", "boolean": "Int64"}


def write(path: str | os.PathLike[str], tables: Any) -> None:
    """Write tables to a file, whose name determines the format.

    A .csv, .tsv (also .csv.gz and .tsv.gz) or .parquet file holds one table, an .h5mu file one or several. `read`
    returns the same numbers with the same row and column names. Columns without names are called x0, x1 and so on. If
    the rows have no names, and the first column is called like one of row names, such as "id", `read` needs
    `row_names=None`. The file is replaced atomically.

    Args:
        path: the file to write.
        tables: a DataFrame or a two-dimensional array, or a dict of them, view name -> table.

    Raises:
        ViewError: the format is unknown or cannot hold the tables, or names would not be read back.
        OSError: the file cannot be written; its previous content is intact.
        ModuleNotFoundError: a package that writes the format is not installed.
    """
    target = Path(path).expanduser()
    check_format(target)
    writer = WRITERS[_suffix_of(target)]
    named = dict(tables) if isinstance(tables, Mapping) else {target.name.partition(".")[0]: tables}
    if not named:
        raise ViewError(f"At least one table is needed to write {target}. Got none.")
    writer(target, {name: _as_frame(name, table) for name, table in named.items()})


def check_format(path: str | os.PathLike[str]) -> None:
    """Check that tables can be written to a file of this name.

    Raises:
        ViewError: the format is unknown.
        ModuleNotFoundError: a package that writes the format is not installed.
    """
    suffix = _suffix_of(Path(path))
    if suffix in _PACKAGES:
        require(_PACKAGES[suffix], f"Writing {suffix} files")


def _suffix_of(path: Path) -> str:
    matching = [suffix for suffix in WRITERS if path.name.lower().endswith(suffix)]
    if not matching:
        raise ViewError(f"The format of {path} is unknown: its name must end in one of {', '.join(WRITERS)}.")
    return matching[0]


def _as_frame(name: str, table: Any) -> Any:
    """Return a table as a DataFrame with text as column names, and as row names unless the rows are numbered."""
    if not isinstance(table, pd.DataFrame):
        array = np.asarray(table)
        if array.ndim != 2:
            raise ViewError(f"Table '{name}' must have two dimensions, rows and columns. Got shape {array.shape}.")
        table = pd.DataFrame(array)
    columns = [f"x{i}" for i in range(table.shape[1])] if _is_numbered(table.columns) else list(map(str, table.columns))
    rows = pd.RangeIndex(len(table)) if _is_numbered(table.index) else pd.Index(map(str, table.index))
    rows = rows.rename(table.index.name)
    types = [_STORED_AS.get(str(dtype), dtype) for dtype in table.dtypes]
    positions = table.set_axis(pd.RangeIndex(table.shape[1]), axis=1).astype(dict(enumerate(types)))
    return positions.set_axis(pd.Index(columns, dtype=object), axis=1).set_axis(rows, axis=0)


def _is_numbered(index: Any) -> bool:
    """Return whether the names of rows or columns are their positions, which pandas assigns if there are no names."""
    return index.equals(pd.RangeIndex(len(index)))


def _write_csv(path: Path, frames: Mapping[str, Any]) -> None:
    _write_delimited(path, _single(path, frames), ",")


def _write_tsv(path: Path, frames: Mapping[str, Any]) -> None:
    _write_delimited(path, _single(path, frames), "\t")


def _write_delimited(path: Path, frame: Any, separator: str) -> None:
    for kind, names in (("row", frame.index), ("column", frame.columns)):
        padded = [name for name in names if isinstance(name, str) and name != " ".join(name.splitlines()).strip()]
        if padded:
            raise ViewError(
                f"The {kind} names of a text file must not contain line ends, or begin or end with spaces. Got "
                f"{padded[0]!r} for {path}. Rename it, or write an .h5mu or .parquet file."
            )
    text = frame.to_csv(sep=separator, index=not _is_numbered(frame.index), lineterminator="\n", na_rep="NA").encode()
    with open_atomically(path) as file:
        if path.suffix.lower() == ".gz":
            _write_gzip(file, text)
        else:
            file.write(text)


def _write_gzip(file: BinaryIO, content: bytes) -> None:
    """Write compressed content, without name and time, so that the same content gives the same file."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
        compressed.write(content)


def _write_parquet(path: Path, frames: Mapping[str, Any]) -> None:
    frame = _single(path, frames)
    with open_atomically(path) as file:
        frame.to_parquet(file, engine="pyarrow")


def _write_h5mu(path: Path, frames: Mapping[str, Any]) -> None:
    """Write all tables as modalities; rows without names are named by their numbers."""
    for name, frame in frames.items():
        _check_numbers(name, frame)
        _check_unique(path, f"row names of '{name}'", frame.index)
        if "/" in str(name) or name in ("", "."):
            raise ViewError(f"A table in an .h5mu file must have a name without a slash. Got {name!r}. Rename it.")
    mdata = as_mudata({name: _as_floats(frame) for name, frame in frames.items()})
    with path_atomically(path) as part, suppress_anndata_warnings():
        mdata.write(part)


def _as_floats(frame: Any) -> Any:
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def _single(path: Path, frames: Mapping[str, Any]) -> Any:
    """Return the only table, after checking that its names can be read back."""
    if len(frames) > 1:
        raise ViewError(
            f"{path} can hold one table. Got {len(frames)}: {listed(list(frames))}. Write one file per table, or an "
            ".h5mu file."
        )
    frame = next(iter(frames.values()))
    for kind, names in (("row names", frame.index), ("columns", frame.columns)):
        _check_unique(path, kind, names)
        if (names == "").any():
            raise ViewError(f"The {kind} of {path} must have names. Got an empty one. Name it.")
    return frame


def _check_unique(path: Path, kind: str, names: Any) -> None:
    repeated = names[names.duplicated()].unique()
    if len(repeated):
        raise ViewError(f"The {kind} in {path} must be unique. Got several called {listed(repeated)}. Rename them.")


def _check_numbers(name: str, frame: Any) -> None:
    types = pd.api.types
    text = [label for label, dtype in frame.dtypes.items() if not types.is_numeric_dtype(dtype)]
    if text:
        raise ViewError(
            f"Table '{name}' must hold numbers to be written to an .h5mu file. Got other values in column {text[0]!r}. "
            "Leave the column out, or write a .csv or .parquet file."
        )


WRITERS: dict[str, Callable[[Path, Mapping[str, Any]], None]] = {
    ".csv": _write_csv,
    ".csv.gz": _write_csv,
    ".tsv": _write_tsv,
    ".tsv.gz": _write_tsv,
    ".parquet": _write_parquet,
    ".h5mu": _write_h5mu,
}
