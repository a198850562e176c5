"""Arrays in a file: writing them, and knowing them again."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def write_arrays(target: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays to a compressed `.npz`, under exactly the name that was given."""
    with target.open("wb") as stream:  # a path would get ".npz" appended
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def content_digest(path: Path) -> str:
    """Give the SHA-256 of what an `.npz` holds: names, dtypes, shapes and values.

    How the file was compressed, in which order its arrays were written and how they lay in memory do not matter.
    """
    digest = hashlib.sha256()
    with np.load(path, allow_pickle=False) as file:
        for name in sorted(file.files):
            array = file[name]
            little_endian = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
            digest.update(f"{name}\0{little_endian.dtype.str}\0{array.shape}\0".encode())
            digest.update(little_endian.tobytes())
    return digest.hexdigest()
