"""Reader of channel coefficients exported from QuaDRiGa to MATLAB, GNU Octave or HDF5 files."""

import os
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
from jaxtyping import Complex, Shaped

from mvlvm.checks import require
from mvlvm.datasets.channel_coefficients import Normalise, channel_dataset
from mvlvm.datasets.dataset import Dataset
from mvlvm.io.hdf5 import check_local_storage

_HDF5 = "Reading HDF5, and MATLAB 7.3 files,"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HDF5_OFFSETS = (0, 512, 1024, 2048)  # HDF5 may follow a user block, in which MATLAB 7.3 writes its header
# MATLAB 5 format: header, element types
_HEADER_BYTES = 128
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}  # last two bytes of the header
_CHUNK_BYTES = 2**16
_MATRIX, _COMPRESSED = 14, 15
_DATA_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, _MATRIX, 16, 17, 18})

Arrays = Mapping[str, Shaped[np.ndarray, "..."]]


def read_quadriga(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    normalise: Normalise = "row",
    n_snapshots: int | None = None,
) -> Dataset:
    """Read complex channel coefficients, user x snapshot x antenna, from a file.

    Supported formats are MATLAB (version 5 or later, including 7.3), GNU Octave (`save -v7`, `save -hdf5`) and plain
    HDF5. MATLAB and Octave store the axes in reverse order in HDF5, which is undone here. Two real arrays named "real"
    and "imag", at the top level or in the same struct or group, are combined into a complex array. Four-dimensional
    arrays are interpreted as user x snapshot x receive antenna x transmit antenna, with a single receive antenna.

    Args:
        path: path of the file; the format is determined from its contents.
        variable: name of the array, with dots or slashes for members of structs or groups, for example "h.coeff". Not
            needed if there is only one complex three-dimensional array.
        normalise: see `channel_dataset`.
        n_snapshots: see `channel_dataset`.

    Returns:
        A data set with the views "real" and "imag" of shape (users * snapshots, antennas), see `channel_dataset`.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file is damaged, has an unsupported format, or does not contain the array.
        ModuleNotFoundError: The file is an HDF5 file, and h5py is not installed.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"File {source} does not exist. Provide the path of a MATLAB, Octave or HDF5 file.")
    arrays = dict(_with_combined_parts(_read_arrays(source)))
    name = _single_candidate(source, arrays) if variable is None else _check_variable(source, arrays, variable)
    coefficients = _check_axes(source, name, arrays[name])
    data = channel_dataset(coefficients, normalise=normalise, n_snapshots=n_snapshots)
    return replace(data, origin=f"{name} in {source.name}")


def _read_arrays(source: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Return all numeric arrays of a file by name."""
    with source.open("rb") as file:
        head = file.read(max(_HDF5_OFFSETS) + len(_HDF5_SIGNATURE))
    if any(head.startswith(_HDF5_SIGNATURE, offset) for offset in _HDF5_OFFSETS):
        read = _read_hdf5
        require("h5py", _HDF5)
    elif is_mat_file(head):
        read = numeric_arrays
    else:
        raise ValueError(
            f"{source} is neither a MATLAB file of version 5 or later nor HDF5. Save it in MATLAB or Octave with "
            "save('-v7', ...), or write it with h5py."
        )
    try:
        return dict(read(source))
    except Exception as error:  # corrupted bytes can raise any exception
        raise ValueError(
            f"{source} cannot be read: it is damaged, truncated or too large for memory ({error}). Copy or export it "
            "again."
        ) from error


def _read_hdf5(source: Path) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    h5py = require("h5py", _HDF5)
    datasets = {}
    with h5py.File(source, "r") as file:
        file.visititems(lambda path, item: datasets.update({path: item}) if isinstance(item, h5py.Dataset) else None)
        for path, dataset in datasets.items():
            octave = "OCTAVE_NEW_FORMAT" in dataset.parent.attrs
            name = path.replace("/", ".")
            if octave:
                name = name.removesuffix(".value").replace(".value.", ".")
            if name.startswith("#") or not _is_numeric(dataset.dtype):
                continue
            check_local_storage(source, dataset)
            array = _as_complex(dataset[()])
            if dataset.attrs.get("MATLAB_empty"):  # the data are then the shape of the empty array
                yield name, np.empty(array.astype(int))
                continue
            yield name, array.T if octave or "MATLAB_class" in dataset.attrs else array


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return np.issubdtype(dtype, np.number) or dtype.names == ("real", "imag")


def _as_complex(array: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Convert MATLAB's records of real and imaginary parts to a complex array."""
    return _combine_parts(array["real"], array["imag"]) if array.dtype.names else array


def _with_combined_parts(arrays: Arrays) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    """Iterate over all arrays, and over a complex array for each pair of siblings named real and imag."""
    yield from arrays.items()
    for name, real in arrays.items():
        stem, _, last = name.rpartition(".")
        imag = arrays.get(f"{stem}.imag" if stem else "imag")
        if last != "real" or imag is None or imag.shape != real.shape:
            continue
        if not np.iscomplexobj(real) and not np.iscomplexobj(imag):
            yield stem or "real and imag", _combine_parts(real, imag)


def _combine_parts(real: Shaped[np.ndarray, "..."], imag: Shaped[np.ndarray, "..."]) -> Complex[np.ndarray, "..."]:
    """Return real + i imag; unlike complex arithmetic, a NaN in one part does not propagate to the other."""
    joined = np.empty(real.shape, np.result_type(real, imag, np.complex64))
    joined.real, joined.imag = real, imag
    return joined


def _single_candidate(source: Path, arrays: Arrays) -> str:
    candidates = [name for name, array in arrays.items() if np.iscomplexobj(array) and _n_axes(array.shape) == 3]
    if not candidates:
        raise ValueError(
            f"{source} contains no complex array of three dimensions, user x snapshot x antenna. Found: "
            f"{_format_arrays(arrays)}. Export the complex coefficients, or their parts as 'real' and 'imag'."
        )
    if len(candidates) > 1:
        raise ValueError(
            f"{source} contains several complex arrays: {_format_arrays({name: arrays[name] for name in candidates})}. "
            f"Select one, for example variable={candidates[0]!r}."
        )
    return candidates[0]


def _check_variable(source: Path, arrays: Arrays, variable: str) -> str:
    name = variable.strip("/").replace("/", ".")
    if name not in arrays:
        raise ValueError(
            f"{source} contains no array {variable!r}. Found: {_format_arrays(arrays)}. Specify one of these."
        )
    return name


def _check_axes(source: Path, name: str, array: Shaped[np.ndarray, "..."]) -> Complex[np.ndarray, "U T A"]:
    described = _format_arrays({name: array})
    if not np.iscomplexobj(array):
        raise ValueError(
            f"The array in {source} must be complex. Got {described}. Export the complex coefficients, or their parts "
            "as 'real' and 'imag'."
        )
    if _n_axes(array.shape) != 3:
        raise ValueError(
            f"The array in {source} must have three dimensions, user x snapshot x antenna, or four with a third of "
            f"length one. Got {described}. Rearrange it with permute and reshape."
        )
    if array.size == 0:
        raise ValueError(f"The array in {source} is empty. Got {described}. Export it again.")
    return array if array.ndim == 3 else array[:, :, 0, :]


def _n_axes(shape: Sequence[int]) -> int:
    """Return the number of dimensions, not counting that of a single receive antenna."""
    return 3 if len(shape) == 4 and shape[2] == 1 else len(shape)


def _format_arrays(arrays: Arrays) -> str:
    return ", ".join(
        f"{name} ({' x '.join(map(str, array.shape)) or 'scalar'}, {'complex' if np.iscomplexobj(array) else 'real'})"
        for name, array in arrays.items()
    ) or "no numeric array"  # fmt: skip


def is_mat_file(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a MATLAB file of version 5 to 7.2."""
    return head[_HEADER_BYTES - 2 : _HEADER_BYTES] in _BYTE_ORDERS


def numeric_arrays(source: Path) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    """Iterate over the names and values of all numeric arrays; members of structs are named "struct.field".

    Files of MATLAB 5 to 7.2 and of GNU Octave's `save -v7` are supported.

    Raises:
        Exception: The file is damaged; any type of exception is possible.
    """
    with source.open("rb") as file:
        order = _BYTE_ORDERS[file.read(_HEADER_BYTES)[-2:]]
        _check_elements(file, source.stat().st_size, order, _DATA_TYPES | {_COMPRESSED})
    with warnings.catch_warnings(action="error"):  # SciPy only warns about variables that it cannot read
        content = scipy.io.loadmat(source, appendmat=False)
    for name, value in content.items():
        if not name.startswith("__"):
            yield from _iter_numeric(name, value)


def _check_elements(file: BinaryIO, end: int, order: str, allowed: frozenset[int]) -> None:
    """Check the types of all elements up to `end`, since SciPy can crash on invalid data types."""
    while (position := file.tell()) < end:
        kind, size = struct.unpack(f"{order}II", file.read(8))
        if kind >> 16:  # small element: the size is in the upper 16 bits, the data in place of the size
            kind, size = kind & 0xFFFF, 0
        after = position + 8 + size
        if kind not in allowed or after > end:
            raise ValueError(f"invalid element of type {kind} and {size} bytes at byte {position}")
        if kind == _MATRIX:
            _check_elements(file, after, order, _DATA_TYPES)
        if kind == _COMPRESSED:
            _verify_checksum(file, size)
        file.seek(after if kind == _COMPRESSED else after + -size % 8)


def _verify_checksum(file: BinaryIO, size: int) -> None:
    """Decompress and discard the data, since SciPy verifies the checksum only after parsing the contents."""
    stream = zlib.decompressobj()
    while size > 0 and not stream.eof:
        compressed = file.read(min(size, _CHUNK_BYTES))
        size -= len(compressed)
        stream.decompress(compressed)
    if not stream.eof:
        raise ValueError("compressed data are truncated")


def _iter_numeric(name: str, value: Any) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    """Iterate recursively over structs, skipping text, cells and objects."""
    if not isinstance(value, np.ndarray):
        return
    if value.dtype.names and value.size == 1:
        for field in value.dtype.names:
            yield from _iter_numeric(f"{name}.{field}", value[field].item())
    elif np.issubdtype(value.dtype, np.number):
        yield name, value
