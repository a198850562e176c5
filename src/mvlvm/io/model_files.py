"""Files of fitted models: one safetensors file with named arrays and a JSON header. Reading executes no code.

The file contains the SHA-256 digest of header and arrays, so that damaged files are rejected; it is no signature, which
would prove who wrote them. Files of earlier format versions are converted step by step.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from mvlvm.errors import ModelFileError
from mvlvm.io.atomic import write_atomically
from mvlvm.version import __version__

Header = dict[str, Any]
Arrays = Mapping[str, np.ndarray]

FORMAT = "mvlvm-model"
FORMAT_VERSION = 5
# The first version whose files contain a digest.
_FIRST_WITH_DIGEST = 5
_FILE_NAME = "model.safetensors"
_HEADER, _DIGEST = "mvlvm", "sha256"
_ADVICE = "Use the path that was passed to estimator.save."


class ModelFile(NamedTuple):
    """The contents of a file, in the current format.

    Attributes:
        source: the file.
        header: values for JSON.
        arrays: name -> array.
    """

    source: Path
    header: Header
    arrays: Arrays


def write_model(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model atomically.

    Args:
        path: a file, or a directory for `model.safetensors`; one that ends in a slash is created.
        header: values for JSON.
        arrays: name -> array.
    """
    if not os.fspath(path):
        raise ValueError("The path to save to is empty. Provide a file name, for example 'model.safetensors'.")
    target = _file_at(path)
    if os.fspath(path).endswith(os.sep):
        target = Path(path) / _FILE_NAME
        target.parent.mkdir(exist_ok=True)
    marked = {**header, "format": FORMAT, "format_version": FORMAT_VERSION, "library_version": __version__}
    # files store raw memory, so every array must be contiguous
    whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    text = json.dumps(marked | {_DIGEST: digest(marked, whole)})
    write_atomically(target, to_bytes(whole, metadata={_HEADER: text}))


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a header and arrays, check that they are those that were written, and convert them to the current format.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    source = _file_at(path)
    try:
        mode = source.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no saved model at {source}. Write one with estimator.save(path).") from None
    if not stat.S_ISREG(mode):  # to open a pipe would wait for its writer
        raise ModelFileError(f"{source} is not a saved mvlvm model: it is not a regular file. {_ADVICE}")
    try:
        with safe_open(source, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except PermissionError:
        raise
    except (SafetensorError, OSError, TypeError):  # TypeError: a data type that NumPy does not have
        raise ModelFileError(f"{source} is not a saved mvlvm model: it is not a safetensors file. {_ADVICE}") from None
    header = _parse_header(source, metadata)
    version = header["format_version"]
    if version >= _FIRST_WITH_DIGEST and header.pop(_DIGEST, None) != digest(header, arrays):
        raise ModelFileError(
            f"{source} is damaged: its digest is not that of its contents. Copy the file or save the model again."
        )
    with damage_reported(source):
        for step in range(version, FORMAT_VERSION):
            header, arrays = _MIGRATIONS[step](header, arrays)
    return ModelFile(source, header, arrays)


@contextmanager
def damage_reported(source: str | os.PathLike[str]) -> Iterator[None]:
    """Report any error that the contents of a file cause as damage."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"{source} is damaged: its parts do not match ({error!r:.300}). Save the model again."
        ) from error


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 digest of a header and of named arrays."""
    total = hashlib.sha256(json.dumps(header).encode())
    for name in sorted(arrays):
        total.update(f"\n{name}\n{arrays[name].dtype.str}\n{arrays[name].shape}\n".encode(errors="surrogatepass"))
        total.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def _file_at(path: str | os.PathLike[str]) -> Path:
    return Path(path) / _FILE_NAME if Path(path).is_dir() else Path(path)


def _parse_header(source: Path, metadata: Mapping[str, str]) -> Header:
    try:
        header = json.loads(metadata[_HEADER])
        version = header["format_version"]
        if header["format"] != FORMAT or type(version) is not int or version < 1:
            raise ValueError(header["format"])
    except (KeyError, ValueError, TypeError, RecursionError):
        raise ModelFileError(f"{source} is not a saved mvlvm model: it has no mvlvm header. {_ADVICE}") from None
    oldest = min(_MIGRATIONS)
    if not oldest <= version <= FORMAT_VERSION:
        advice = "Install a newer mvlvm to read it." if version > FORMAT_VERSION else "Fit and save the model again."
        raise ModelFileError(
            f"{source} was saved by mvlvm {header.get('library_version')!s:.50} in format {version}; this version, "
            f"{__version__}, reads formats {oldest} to {FORMAT_VERSION}. {advice}"
        )
    return header


def _from_format_4(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """Format 5 states the kind of every model and the name of its row names, and may contain the training data."""
    header = {**header, "layout": {**header["layout"], "index_name": None}}
    if header.get("kind") == "baseline":
        return header, arrays
    return {**header, "kind": "estimator", "data": False}, arrays


# Version -> function that converts its files to the next version.
_MIGRATIONS: dict[int, Callable[[Header, Arrays], tuple[Header, Arrays]]] = {4: _from_format_4}
