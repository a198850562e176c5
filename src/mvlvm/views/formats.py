"""One reader per file format: from a path to tables of numbers, with row names as index where the file has them."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import getitem
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np

from mvlvm.errors import ViewError
from mvlvm.views.annotated import frame_of, quietly
from mvlvm.views.columns import looks_like_row_names, no_such_column, numbers_only
from mvlvm.views.delimited import read_delimited
from mvlvm.views.optional import require

# View name -> table. A file that holds one table and no name for it has the key None.
Tables = Mapping[str | None, Any]

_NUMERIC = "biuf"
_TEXT = "US"


def _read_csv(path: Path, row_names: str | None) -> Tables:
    return {None: read_delimited(path, ",", row_names)}


def _read_tsv(path: Path, row_names: str | None) -> Tables:
    return {None: read_delimited(path, "\t", row_names)}


def _read_parquet(path: Path, row_names: str | None) -> Tables:
    require("pyarrow", "Reading Parquet files")
    frame = require("pandas", "Reading Parquet files").read_parquet(path, engine="pyarrow")
    return {None: numbers_only(_with_row_names(frame, path, row_names), path)}


def _with_row_names(frame: Any, path: Path, row_names: str | None) -> Any:
    """Make row names the index of a table whose index may hold them already."""
    pandas = require("pandas", "Reading Parquet files")
    counted = isinstance(frame.index, pandas.RangeIndex)
    if row_names is None or (row_names == "auto" and counted and not _names_come_first(frame)):
        return frame.reset_index(drop=True)
    if row_names == "auto" and not counted:
        names, rest = frame.index.to_flat_index(), frame
    elif row_names in frame.index.names:
        names, rest = frame.index.get_level_values(row_names), frame
    else:
        column = frame.columns[0] if row_names == "auto" else row_names
        if column not in frame.columns:
            raise no_such_column(path, column, list(frame.columns))
        names, rest = frame[column], frame.drop(columns=column)
    as_text = ["" if missing else str(name) for name, missing in zip(names, names.isna(), strict=True)]
    return rest.set_axis(pandas.Index(as_text, dtype=object), axis=0)


def _names_come_first(frame: Any) -> bool:
    pandas = require("pandas", "Reading Parquet files")
    if not frame.shape[1]:
        return False
    first = frame.iloc[:, 0]
    entries = [] if pandas.api.types.is_numeric_dtype(first.dtype) else map(str, first.dropna())
    return looks_like_row_names(str(first.name), entries)


def _read_npy(path: Path, row_names: str | None) -> Tables:
    with path.open("rb") as file:
        array = _without_pickle(str(path), partial(np.lib.format.read_array, file, allow_pickle=False))
    if array.ndim != 2 or array.dtype.kind not in _NUMERIC:
        raise ViewError(
            f"{path} must hold an array of numbers with two axes, rows and columns. Got shape {array.shape} of "
            f"{array.dtype}. Reshape it: array.reshape(-1, 1) if it has one column, array.reshape(len(array), -1) if "
            "its rows are images."
        )
    return {None: _table(array)}


def _read_npz(path: Path, row_names: str | None) -> Tables:
    if not is_zipfile(path):
        raise BadZipFile("it is no archive of arrays, or an incomplete one")
    with np.load(path, allow_pickle=False) as file:
        arrays = {
            name: _without_pickle(f"The array '{name}' in {path}", partial(getitem, file, name)) for name in file.files
        }
    views = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in _NUMERIC}
    if not views:
        raise ViewError(
            f"{path} must hold at least one array of numbers with two axes, rows and columns. Got: "
            f"{', '.join(f'{name} {array.shape}' for name, array in arrays.items()) or 'nothing'}."
        )
    return {name: _table(array, arrays.get(f"{name}_names")) for name, array in views.items()}


def _table(array: np.ndarray, names: np.ndarray | None = None) -> Any:
    """Make a table of an array, with column names if there is one for every column."""
    pandas = require("pandas", "Reading files")
    if names is not None and (names.shape != array.shape[1:] or names.dtype.kind not in _TEXT):
        names = None
    return pandas.DataFrame(array.astype(np.float64), columns=None if names is None else names.astype(str))


def _without_pickle(what: str, load: Callable[[], np.ndarray]) -> np.ndarray:
    """Load an array, but nothing that would have to be executed."""
    try:
        return load()
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ViewError(
            f"{what} holds Python objects, which are not read because reading them can run any code. "
            "Save it as numbers: array.astype(float)."
        ) from None


def _read_h5ad(path: Path, row_names: str | None) -> Tables:
    anndata = require("anndata", "Reading H5AD files")
    with quietly():
        adata = anndata.read_h5ad(path)
    return {None: frame_of(str(path), adata).astype(np.float64)}


def _read_h5mu(path: Path, row_names: str | None) -> Tables:
    mudata = require("mudata", "Reading H5MU files")
    with quietly():
        mdata = mudata.read_h5mu(path)
    return {name: frame_of(f"{name} of {path}", adata).astype(np.float64) for name, adata in mdata.mod.items()}


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
    """Give the part of a file's name that tells its format.

    Raises:
        ViewError: it tells none that is known.
    """
    fitting = [suffix for suffix in READERS if path.name.lower().endswith(suffix)]
    if not fitting:
        raise ViewError(
            f"The format of {path} is not known: its name must end in one of {', '.join(READERS)}. "
            "Rename the file, or save it in one of these formats."
        )
    return fitting[0]


def read_file(path: Path, row_names: str | None) -> Tables:
    """Read all tables of one file, which stays as it is.

    Args:
        path: the file.
        row_names: the column of row names, "auto" or None; for CSV, TSV and Parquet.

    Raises:
        ViewError: it cannot be read, or does not hold tables of numbers.
    """
    reader = READERS[suffix_of(path)]
    if path.is_dir():
        raise ViewError(f"{path} is a folder. Give the files in it.")
    if not path.exists():
        raise ViewError(f"There is no file {path}. Check its name; the current folder is {Path.cwd()}.")
    try:
        return reader(path, row_names)
    except (ViewError, ModuleNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:  # a damaged file can bring five libraries to any kind of failure
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise ViewError(
            f"{path} is damaged, or is not what its name says: {reason}. The file is left as it is. "
            "Copy or write it again."
        ) from error
