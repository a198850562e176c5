"""Conversion of sparse matrices to dense arrays, and of AnnData, MuData and tables of other libraries to DataFrames.

Sparse views are converted, because the entries of a centred Gaussian view are not sparse.
"""

import math
import sys
from typing import Any

import numpy as np
import pandas as pd

from mvlvm.checks import listed, require
from mvlvm.errors import ViewError
from mvlvm.io.anndata_objects import suppress_anndata_warnings as suppress_anndata_warnings
from mvlvm.io.hdf5 import check_shared_rows
from mvlvm.io.size_limits import physical_memory

_GIB = 2**30


def is_sparse(value: object) -> bool:
    """Return whether a value is a SciPy sparse matrix or array, without importing SciPy."""
    return isinstance(getattr(value, "format", None), str) and callable(getattr(value, "toarray", None))


def is_foreign_table(value: object) -> bool:
    """Return whether a value is a table with column names of another library than pandas: polars, pyarrow, modin."""
    if isinstance(value, type | np.ndarray | pd.DataFrame):
        return False
    if callable(getattr(value, "__dataframe__", None)):
        return True
    has_values = any(callable(getattr(value, protocol, None)) for protocol in ("__array__", "__arrow_c_stream__"))
    return has_values and _column_names(value) is not None


def as_dataframe(table: Any) -> Any:
    """Return a table of another library as a DataFrame; anything else, and what cannot be converted, unchanged.

    The values are read by `__array__` where available, otherwise by the Arrow C stream or the DataFrame interchange
    protocol.
    """
    if not is_foreign_table(table):
        return table
    try:
        if callable(getattr(table, "__array__", None)):
            rows = getattr(table, "index", None)
            index = rows if isinstance(rows, pd.Index) else None
            names = _column_names(table)
            columns = None if names is None else pd.Index(names)
            return pd.DataFrame(np.asarray(table), columns=columns, index=index)
        if callable(getattr(table, "__arrow_c_stream__", None)):
            return require("pyarrow", "Reading Arrow tables").table(table).to_pandas()
        return pd.api.interchange.from_dataframe(table)
    except (TypeError, ValueError, AttributeError):  # validation rejects it with a specific message
        return table


def _column_names(table: Any) -> list[Any] | None:
    """Return the column names of a table; None if it has none."""
    for attribute in ("column_names", "columns"):  # pyarrow, whose columns are arrays; other libraries
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            return list(names)
    return None


def has_sparse_columns(frame: Any) -> bool:
    """Return whether a DataFrame has columns of a sparse data type."""
    return any(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes)


def as_dense(name: str, table: Any) -> np.ndarray:
    """Return a sparse matrix, or a DataFrame with sparse columns, as a dense (N, M) array.

    Args:
        name: the view, for messages.
        table: the view.

    Raises:
        ViewError: the array does not fit into memory, or the parts of the sparse matrix do not match.
    """
    size, memory = math.prod(table.shape) * np.dtype(np.float64).itemsize, physical_memory()
    try:
        if size > memory:
            raise MemoryError
        if is_sparse(table):
            _check_sparse(name, table)
            return table.toarray()
        return _dense_frame(table)
    except MemoryError:
        shape = " x ".join(map(str, table.shape))
        raise ViewError(
            f"View '{name}' is sparse, and its {shape} entries must fit into memory as a dense array. They need "
            f"{size / _GIB:,.1f} GiB, and this machine has {memory / _GIB:,.1f} GiB in total. Keep fewer columns, for "
            "example those with the largest variance, or reduce the view first with sklearn.decomposition.TruncatedSVD."
        ) from None


def _check_sparse(name: str, table: Any) -> None:
    """Check the indices of a sparse matrix, which `toarray` reads and writes without checks."""
    try:
        if table.format in ("csr", "csc", "bsr"):
            table.check_format(full_check=True)
        if table.format == "coo":
            _check_coordinates(table)
    except ValueError as error:
        raise ViewError(
            f"View '{name}' is a damaged sparse matrix: {error}. Create it again; a matrix that was read from a file "
            "may have been stored with wrong indices."
        ) from None


def _check_coordinates(table: Any) -> None:
    for axis, (positions, length) in enumerate(zip((table.row, table.col), table.shape, strict=True)):
        if len(positions) != len(table.data):
            raise ValueError(f"it has {len(table.data)} values and {len(positions)} indices of axis {axis}")
        if len(positions) and not 0 <= positions.min() <= positions.max() < length:
            raise ValueError(f"an index of axis {axis} is not from 0 to {length - 1}")


def _dense_frame(frame: Any) -> np.ndarray:
    try:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):  # text or dates, which validation rejects with a specific message
        return frame.to_numpy(dtype=object, na_value=np.nan)


def is_anndata(value: object) -> bool:
    """Return whether a value is an AnnData, without importing anndata."""
    anndata = sys.modules.get("anndata")
    return anndata is not None and isinstance(value, anndata.AnnData)


def is_mudata(value: object) -> bool:
    """Return whether a value is a MuData, without importing mudata."""
    mudata = sys.modules.get("mudata")
    return mudata is not None and isinstance(value, mudata.MuData)


def anndata_to_frame(name: str, adata: Any) -> Any:
    """Return the X of an AnnData as a DataFrame with its observation and variable names.

    Args:
        name: the view, for messages.
        adata: the AnnData.

    Raises:
        ViewError: X is absent, on disk, or too large for a dense array.
    """
    if not is_anndata(adata):
        raise ViewError(
            f"View '{name}' must be an AnnData. Got {type(adata).__name__} as a modality. "
            "Move the modalities of the nested MuData into the outer one."
        )
    if adata.isbacked:
        raise ViewError(
            f"View '{name}' is an AnnData whose X is still on disk (backed). Read it into memory first: "
            "adata.to_memory(), or read the file with backed=False."
        )
    if adata.X is None:
        raise ViewError(f"View '{name}' is an AnnData without X. Set it first: adata.X = adata.layers[...].")
    X = as_dense(name, adata.X) if is_sparse(adata.X) else np.asarray(adata.X)
    return pd.DataFrame(X, index=adata.obs_names, columns=adata.var_names)


def mudata_to_frames(mdata: Any) -> dict[str, Any]:
    """Return the modalities of a MuData as DataFrames with the rows of the MuData.

    Returns:
        Modality name -> DataFrame; rows that are absent from a modality are NaN.

    Raises:
        ViewError: the modalities do not share rows, or observation names are not unique.
    """
    check_shared_rows(mdata.axis)
    rows = mdata.obs_names
    if not rows.is_unique:
        repeated = rows[rows.duplicated()].unique()
        raise ViewError(
            f"The observation names of a MuData must be unique. Got duplicates: {listed(repeated)}. "
            "Call obs_names_make_unique() on the modalities, and mdata.update()."
        )
    frames = {name: anndata_to_frame(name, adata) for name, adata in mdata.mod.items()}
    for name, frame in frames.items():
        if not frame.index.isin(rows).all():
            raise ViewError(
                f"Modality '{name}' has rows that are not in the MuData, such as "
                f"{frame.index[~frame.index.isin(rows)][0]!r}. Call mdata.update()."
            )
        if not frame.index.is_unique:
            raise ViewError(
                f"The observation names of modality '{name}' must be unique. Got duplicates: "
                f"{listed(frame.index[frame.index.duplicated()].unique())}. Call obs_names_make_unique() on it, and "
                "mdata.update()."
            )
    return {name: frame.reindex(rows) for name, frame in frames.items()}
