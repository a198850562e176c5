"""Reading AnnData (H5AD) and MuData (H5MU) files: the matrix X and the names of its rows and columns.

Only X and the names are read, with h5py. Everything that a file declares is checked before it is used: the parts of a
sparse matrix, which compiled code does not check; sizes; and links, which could lead to other files.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from mvlvm.checks import listed, require
from mvlvm.errors import ViewError
from mvlvm.io.size_limits import SizeLimit
from mvlvm.io.table_content import ReadOptions, label_column_error

_FLOAT_BYTES = np.dtype(np.float64).itemsize
_NUMERIC = "biuf"
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csc_matrix": sparse.csc_matrix}
_SPARSE_FORMATS = {"csr": "csr_matrix", "csc": "csc_matrix"}  # as written by anndata before version 0.7
_MAX_SOFT_LINKS = 16
# Values of MuData.axis for modalities that share their rows: rows only, or rows and columns.
_SHARED_ROWS = (0, -1)
_UNNAMED = "_index"  # name of an index without a name
# Bytes of a Python string besides its characters, and of a reference to it.
_NAME_BYTES = 64
_MIN_NAMES, _MAX_NAMES = 16, 4096


def read_h5ad(path: Path, options: ReadOptions) -> dict[str | None, Any]:
    """Read the matrix of an H5AD file as a DataFrame."""
    h5py = require("h5py", "Reading H5AD files")
    with h5py.File(path, "r") as file:
        return {None: _Hdf5File(h5py, path, file, options.limit).matrix("/", str(path), options)}


def read_h5mu(path: Path, options: ReadOptions) -> dict[str | None, Any]:
    """Read the matrices of all modalities of an H5MU file as DataFrames."""
    h5py = require("h5py", "Reading H5MU files")
    with h5py.File(path, "r") as file:
        check_shared_rows(int(file.attrs.get("axis", 0)))
        reader = _Hdf5File(h5py, path, file, options.limit)
        modalities = reader.open("/mod")
        if not isinstance(modalities, h5py.Group):
            raise ValueError("it has no modalities")
        names = [str(name) for name in modalities.attrs.get("mod-order", ())]
        if not names or not all(name in modalities for name in names):
            names = list(modalities)
        return {name: reader.matrix(f"/mod/{name}", f"{name} of {path}", options) for name in names}


def read_h5_labels(path: Path, column: str | None, options: ReadOptions) -> pd.Series:
    """Read a column of obs of an H5AD or H5MU file."""
    h5py = require("h5py", "Reading H5AD and H5MU files")
    with h5py.File(path, "r") as file:
        return _Hdf5File(h5py, path, file, options.limit).labels(column)


def check_shared_rows(axis: int) -> None:
    """Check that the modalities of a MuData share their rows, given its axis.

    Raises:
        ViewError: they share their columns only.
    """
    if axis not in _SHARED_ROWS:
        raise ViewError(
            f"The modalities of a MuData must share their rows (axis=0). Got axis={axis}, shared columns: every "
            "modality holds the same variables of different samples. Fit them one by one."
        )


def check_local_storage(source: object, dataset: Any) -> None:
    """Check that the values of an HDF5 dataset are in its own file.

    Args:
        source: the file, for the message.
        dataset: the h5py dataset.

    Raises:
        ViewError: they are in other files (external storage), or composed of other datasets (virtual).
    """
    if dataset.external or dataset.is_virtual:
        kind = "external storage" if dataset.external else "a virtual dataset"
        raise ViewError(
            f"{source} stores {dataset.name} outside of the file ({kind}), and other files are not read. "
            "Write the file again with its data inside."
        )


class _Hdf5File:
    """An open HDF5 file, of which nothing is read without checks."""

    def __init__(self, h5py: Any, path: Path, file: Any, limit: SizeLimit) -> None:
        self._h5py, self._path, self._file, self._limit = h5py, path, file, limit

    def open(self, name: str, n_links: int = 0) -> Any:
        """Return a group or dataset of this file; None if it does not exist.

        Raises:
            ViewError: it is reached by a link to another file, or its values are in another file.
        """
        item = self._file
        parts = [part for part in name.split("/") if part]
        for i, part in enumerate(parts):
            link = item.get(part, getlink=True) if isinstance(item, self._h5py.Group) else None
            if link is None:
                return None
            if isinstance(link, self._h5py.ExternalLink):
                raise ViewError(
                    f"{self._path} refers to another file, {link.filename}, for {item.name.rstrip('/')}/{part}, and "
                    "other files are not read. Write the file again with its data inside."
                )
            if isinstance(link, self._h5py.SoftLink):
                if n_links == _MAX_SOFT_LINKS:
                    raise ValueError(f"{name} is a chain of more than {_MAX_SOFT_LINKS} links")
                start = link.path if link.path.startswith("/") else f"{item.name}/{link.path}"
                return self.open("/".join([start, *parts[i + 1 :]]), n_links + 1)
            item = item[part]
        if isinstance(item, self._h5py.Dataset):
            check_local_storage(self._path, item)
        return item

    def matrix(self, group: str, source: str, options: ReadOptions) -> Any:
        """Return X or a layer of an AnnData as a DataFrame of float64, with its row and column names."""
        if self.open(f"{group}/mod") is not None:
            raise ViewError(f"{source} must hold an AnnData. Got a MuData. Move its modalities into the outer one.")
        X = self.open(f"{group}/X" if options.layer is None else f"{group}/layers/{options.layer}")
        if X is None:
            layers = list(self.open(f"{group}/layers") or ())
            what = "X" if options.layer is None else f"layer {options.layer!r}"
            raise ViewError(f"{source} has no {what}. Its layers are: {listed(layers) or 'none'}. Pass one of them.")
        is_dense = isinstance(X, self._h5py.Dataset)
        shape = X.shape if is_dense else self._declared_shape(X)
        if shape is None or len(shape) != 2:
            raise ValueError(f"{X.name} must have two dimensions, and its shape is {shape}")
        n_bytes = _FLOAT_BYTES * max(shape[0], 1) * max(shape[1], 1)
        self._limit.check(source, n_bytes)
        rows, columns = (self._names(f"{group}/{table}", n) for table, n in zip(("obs", "var"), shape, strict=True))
        values = self._numbers(X) if is_dense else self._dense(X, shape)
        self._limit.reserve(source, n_bytes)
        if rows.isna().any() or columns.isna().any():
            raise ValueError("some of its rows or columns have no names")
        index = pd.RangeIndex(shape[0]) if options.row_names is None else rows
        return pd.DataFrame(values, index=index, columns=columns.rename(None))

    def _declared_shape(self, group: Any) -> tuple[int, ...]:
        declared = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
        shape = () if declared is None else tuple(int(length) for length in declared)
        if any(length < 0 for length in shape):
            raise ValueError(f"{group.name} has the shape {shape}")
        return shape

    def _dense(self, group: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Return a sparse matrix as a dense array, after checking all its parts."""
        kind = _text(group.attrs.get("encoding-type", ""))
        kind = kind or _SPARSE_FORMATS.get(_text(group.attrs.get("h5sparse_format", "")), "")
        if kind not in _SPARSE:
            raise ViewError(
                f"{self._path} stores {group.name} as {kind or 'a group'}, and not as a dense array, "
                "csr_matrix or csc_matrix. Convert X, and write the file again."
            )
        parts = [self.open(f"{group.name}/{part}") for part in ("data", "indices", "indptr")]
        if not all(isinstance(part, self._h5py.Dataset) and part.ndim == 1 for part in parts):
            raise ValueError(f"{group.name} lacks data, indices or indptr")
        data, indices, indptr = (self._numbers(part, keep_integers=i > 0) for i, part in enumerate(parts))
        check_compressed(group.name, shape if kind == "csr_matrix" else shape[::-1], data, indices, indptr)
        n_stored = int(indptr[-1])
        matrix = _SPARSE[kind]((data[:n_stored], indices[:n_stored], indptr), shape=shape)
        return matrix.toarray()

    def _numbers(self, dataset: Any, *, keep_integers: bool = False) -> np.ndarray:
        """Return the values of a dataset as float64, or as 64-bit integers."""
        if dataset.dtype.kind not in ("iu" if keep_integers else _NUMERIC):
            expected = "integers" if keep_integers else "numbers"
            raise ViewError(f"{dataset.name} of {self._path} must hold {expected}. Got {dataset.dtype}.")
        chunk = np.prod(dataset.chunks or (1,), dtype=float)
        n_bytes = max(_FLOAT_BYTES, dataset.dtype.itemsize) * max(float(dataset.size), chunk)
        self._limit.check(f"{dataset.name} of {self._path}", n_bytes)
        return dataset.astype(np.int64 if keep_integers else np.float64)[()]

    def labels(self, column: str | None) -> pd.Series:
        """Return a column of obs as text, None where it is missing, with the row names as index."""
        frame = self.open("/obs")
        names = [] if frame is None else [str(name) for name in frame.attrs.get("column-order", ())]
        if column is None and len(names) == 1:
            (column,) = names
        if column not in names:
            raise label_column_error(self._path, column, names)
        rows = self._names("/obs", None)
        return pd.Series(self._strings(f"/obs/{column}", len(rows)), index=rows, dtype=object, name=column)

    def _names(self, table: str, n_expected: int | None) -> pd.Index:
        """Return the index of obs or var as text, with its name."""
        frame = self.open(table)
        if isinstance(frame, self._h5py.Dataset) and frame.dtype.names:  # as written by anndata before version 0.7
            return pd.Index(self._column(frame, n_expected, field=frame.dtype.names[0]), dtype=object)
        if not isinstance(frame, self._h5py.Group):
            raise ValueError(f"it has no {table}")
        name = _text(frame.attrs.get("_index", _UNNAMED))
        names = self._strings(f"{table}/{name}", n_expected)
        return pd.Index(names, dtype=object, name=None if name == _UNNAMED else name)

    def _strings(self, name: str, n_expected: int | None) -> list[Any]:
        """Return a column of obs or var as text, None where it is missing."""
        column = self.open(name)
        if isinstance(column, self._h5py.Group) and "categories" in column:
            codes = self._numbers(self.open(f"{name}/codes"), keep_integers=True)
            categories = self._column(self.open(f"{name}/categories"), None)
            n_expected = len(codes) if n_expected is None else n_expected
            if len(codes) != n_expected or (len(codes) and not -1 <= codes.min() <= codes.max() < len(categories)):
                raise ValueError(f"{name} has codes that do not match its categories or the number of rows")
            return [None if code < 0 else categories[code] for code in codes]
        if isinstance(column, self._h5py.Group):  # nullable strings: values and mask
            column = self.open(f"{name}/values")
        return self._column(column, n_expected)

    def _column(self, dataset: Any, n_expected: int | None, field: str | None = None) -> list[str]:
        """Return a one-dimensional dataset of names, in blocks, since strings can be longer than the file declares."""
        if not isinstance(dataset, self._h5py.Dataset) or dataset.ndim != 1:
            raise ValueError("the names of its rows or columns are not a list")
        n = dataset.shape[0]
        if n_expected is not None and n != n_expected:
            raise ValueError(f"{dataset.name} holds {n} names, and X has {n_expected}")
        source, n_bytes, names = f"{dataset.name} of {self._path}", 0.0, []
        self._limit.check(source, n * (_NAME_BYTES + float(dataset.dtype.itemsize)))
        # a string of variable length is not compressed, and so not longer than the file
        longest = max(self._path.stat().st_size, 1)
        step = int(min(max(self._limit.remaining // longest, _MIN_NAMES), _MAX_NAMES))
        for start in range(0, n, step):
            block = dataset[start : start + step]
            names += [_text(name) for name in (block if field is None else block[field]).tolist()]
            n_bytes += sum(map(len, names[start:])) + _NAME_BYTES * len(block)
            self._limit.check(source, n_bytes, whole=False)
        self._limit.reserve(source, n_bytes)
        return names


def check_compressed(
    name: str, shape: tuple[int, ...], data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> None:
    """Check all parts of a compressed sparse matrix, which SciPy's compiled code reads without checks.

    Args:
        name: the matrix, for messages.
        shape: the length of the compressed axis (rows of CSR, columns of CSC), and of the other axis.
        data: the stored values.
        indices: their positions on the other axis.
        indptr: for every position on the compressed axis, where its values begin; followed by their number.

    Raises:
        ValueError: they do not describe a matrix.
    """
    n_major, n_minor = shape
    if len(data) != len(indices):
        raise ValueError(f"{name} has {len(data)} values and {len(indices)} indices")
    if len(indptr) != n_major + 1:
        raise ValueError(f"indptr of {name} must have {n_major + 1} entries, and has {len(indptr)}")
    if indptr[0] != 0 or indptr[-1] > len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError(f"indptr of {name} must increase from 0 to at most {len(indices)}, the number of values")
    wrong = indices[(indices < 0) | (indices >= n_minor)]
    if len(wrong):
        raise ValueError(f"indices of {name} must be from 0 to {n_minor - 1}, and {listed(wrong)} occur")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
