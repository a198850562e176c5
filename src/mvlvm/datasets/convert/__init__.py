"""Converters from raw file formats: each reads the raw files of a data set and writes its cached `.npz` file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def write_arrays(target: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays to a compressed `.npz` file with exactly the given file name."""
    with target.open("wb") as stream:  # given a path, NumPy would append ".npz"
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def content_digest(path: Path) -> str:
    """Return the SHA-256 digest of the contents of an `.npz` file: names, dtypes, shapes and values of its arrays.

    The digest is independent of compression, byte order, memory layout and the order of the arrays.
    """
    digest = hashlib.sha256()
    with np.load(path, allow_pickle=False) as file:
        for name in sorted(file.files):
            array = file[name]
            little_endian = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
            digest.update(f"{name}\0{little_endian.dtype.str}\0{array.shape}\0".encode())
            digest.update(little_endian.tobytes())
    return digest.hexdigest()
