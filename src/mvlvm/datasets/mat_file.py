"""MATLAB files of version 5 to 7.2, and those of GNU Octave's `save -v7`."""

import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
from jaxtyping import Shaped

_HEADER_BYTES = 128
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}  # at the header's end
_CHUNK_BYTES = 2**16
_MATRIX, _COMPRESSED = 14, 15
_DATA_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, _MATRIX, 16, 17, 18})


def is_mat_file(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is a MATLAB file of version 5 to 7.2."""
    return head[_HEADER_BYTES - 2 : _HEADER_BYTES] in _BYTE_ORDERS


def numeric_arrays(source: Path) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    """Give all numeric arrays with their names; what lies in structs is called "struct.field".

    Raises:
        Exception: any, where the file is damaged.
    """
    with source.open("rb") as file:
        order = _BYTE_ORDERS[file.read(_HEADER_BYTES)[-2:]]
        _check_elements(file, source.stat().st_size, order, _DATA_TYPES | {_COMPRESSED})
    with warnings.catch_warnings(action="error"):  # SciPy warns of what it cannot read, and goes on
        content = scipy.io.loadmat(source, appendmat=False)
    for name, value in content.items():
        if not name.startswith("__"):
            yield from _fields(name, value)


def _check_elements(file: BinaryIO, end: int, order: str, allowed: frozenset[int]) -> None:
    """Walk over the elements up to a place, because SciPy can crash on data types that do not exist."""
    while (place := file.tell()) < end:
        kind, size = struct.unpack(f"{order}II", file.read(8))
        if kind >> 16:  # a small element, with its size up here and its data where the size would be
            kind, size = kind & 0xFFFF, 0
        after = place + 8 + size
        if kind not in allowed or after > end:
            raise ValueError(f"at byte {place} stands an element of type {kind} and {size} bytes")
        if kind == _MATRIX:
            _check_elements(file, after, order, _DATA_TYPES)
        if kind == _COMPRESSED:
            _check_sum(file, size)
        file.seek(after if kind == _COMPRESSED else after + -size % 8)


def _check_sum(file: BinaryIO, size: int) -> None:
    """Unpack to nothing: zlib compares the check sum at the end, and SciPy only after it has used what is inside."""
    stream = zlib.decompressobj()
    while size > 0 and not stream.eof:
        packed = file.read(min(size, _CHUNK_BYTES))
        size -= len(packed)
        stream.decompress(packed)
    if not stream.eof:
        raise ValueError("compressed data end too early")


def _fields(name: str, value: Any) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    """Walk into structs; leave out text, cells and objects."""
    if not isinstance(value, np.ndarray):
        return
    if value.dtype.names and value.size == 1:
        for field in value.dtype.names:
            yield from _fields(f"{name}.{field}", value[field].item())
    elif np.issubdtype(value.dtype, np.number):
        yield name, value
