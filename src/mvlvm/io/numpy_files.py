"""Reading NPY and NPZ files: headers are checked before arrays are allocated, and nothing is unpickled."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
import pandas as pd

from mvlvm.errors import ViewError
from mvlvm.io.size_limits import SizeLimit
from mvlvm.io.table_content import ReadOptions

# Kinds of NumPy arrays.
_NUMBERS = "iuf"
_NUMERIC = f"b{_NUMBERS}"  # booleans are not read from an archive, where they are more likely a mask than a view
_TEXT = "US"
# Names of arrays in an archive written by scipy.sparse.save_npz.
_SPARSE_PARTS = {"format", "shape", "data"}
_FLOAT_BYTES = np.dtype(np.float64).itemsize
_EXTENSION = ".npy"

Headers = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]


def read_npy(path: Path, options: ReadOptions) -> dict[str | None, Any]:
    """Read the matrix of an NPY file as a DataFrame."""
    with path.open("rb") as file:
        shape, dtype = _read_header(str(path), file)
        if len(shape) != 2 or dtype.kind not in _NUMERIC:
            raise ViewError(
                f"{path} must hold a two-dimensional array of numbers, rows and columns. Got shape {shape} of "
                f"{dtype}. Reshape it: array.reshape(-1, 1) if it has one column, array.reshape(len(array), -1) if "
                "its rows are images."
            )
        _reserve(path, shape, dtype, options.limit)
        _check_length(path.stat().st_size - file.tell(), shape, dtype)
        file.seek(0)
        return {None: _to_frame(np.lib.format.read_array(file, allow_pickle=False))}


def read_npz(path: Path, options: ReadOptions) -> dict[str | None, Any]:
    """Read all matrices of numbers in an NPZ file as DataFrames."""
    if not is_zipfile(path):
        raise BadZipFile("it is not an archive of arrays, or incomplete")
    with ZipFile(path) as archive:
        headers = {name: _member_header(archive, name) for name in array_names(archive)}
        if headers.keys() >= _SPARSE_PARTS and headers["format"][1].kind in _TEXT:
            raise ViewError(
                f"{path} must hold two-dimensional arrays. Got the parts of a sparse matrix, as written by "
                "scipy.sparse.save_npz. Read it with scipy.sparse.load_npz; estimators accept sparse matrices."
            )
        views = [name for name, (shape, dtype) in headers.items() if len(shape) == 2 and dtype.kind in _NUMBERS]
        if not views:
            given = (f"{name} {shape} of {dtype}" for name, (shape, dtype) in headers.items())
            raise ViewError(
                f"{path} must hold at least one two-dimensional array of numbers, rows and columns. Got: "
                f"{', '.join(given) or 'nothing'}."
            )
        for name in views:
            _reserve(f"The array '{name}' in {path}", *headers[name], options.limit)
        return {name: _to_frame(read_member(archive, name), _column_names(archive, headers, name)) for name in views}


def array_names(archive: ZipFile) -> list[str]:
    """Return the names of the arrays in an NPZ file."""
    return [name.removesuffix(_EXTENSION) for name in archive.namelist()]


def member_size(archive: ZipFile, name: str) -> int:
    """Return the size in bytes of an array in an NPZ file, according to its header.

    Raises:
        ValueError: the header is damaged, or does not match the length of the member.
    """
    return _size(*_member_header(archive, name))


def read_member(archive: ZipFile, name: str) -> np.ndarray:
    """Read an array of an NPZ file, whose size the caller has checked.

    Raises:
        ValueError: it is damaged, or holds Python objects.
    """
    with archive.open(_member_name(archive, name)) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _member_name(archive: ZipFile, name: str) -> str:
    return name if name in archive.NameToInfo else name + _EXTENSION


def _member_header(archive: ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    member_name = _member_name(archive, name)
    with archive.open(member_name) as member:
        shape, dtype = _read_header(f"The array '{name}' in {archive.filename}", member)
        _check_length(archive.getinfo(member_name).file_size - member.tell(), shape, dtype)
    return shape, dtype


def _column_names(archive: ZipFile, headers: Headers, view: str) -> np.ndarray | None:
    """Return the column names of a view, None if there is not one name for every column."""
    shape, dtype = headers.get(f"{view}_names", ((), np.dtype(np.float64)))
    if shape != headers[view][0][1:] or dtype.kind not in _TEXT:
        return None
    return read_member(archive, f"{view}_names")


def _read_header(source: str, file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type of an array in the NPY format, and leave the file at the beginning of its values."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ViewError(
            f"{source} holds Python objects, which are not loaded because unpickling can execute arbitrary code. "
            "Save it as numbers: array.astype(float)."
        )
    return shape, dtype


def _check_length(n_bytes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Check that an array has as many values as its header declares."""
    if n_bytes < _size(shape, dtype) or any(length < 0 for length in shape):
        raise ValueError(f"it declares an array of shape {shape} and type {dtype}, and holds {n_bytes} bytes of values")


def _size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def _reserve(source: object, shape: tuple[int, ...], dtype: np.dtype[Any], limit: SizeLimit) -> None:
    limit.reserve(source, math.prod(shape) * max(dtype.itemsize, _FLOAT_BYTES))


def _to_frame(array: np.ndarray, names: np.ndarray | None = None) -> Any:
    """Return an array as a DataFrame."""
    return pd.DataFrame(array.astype(np.float64, copy=False), columns=None if names is None else names.astype(str))
