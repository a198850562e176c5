"""Saved models: one safetensors file, arrays beside a JSON header. Nothing in it is ever executed."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from mvlvm import __version__
from mvlvm.errors import ModelFileError
from mvlvm.estimators.packing import Arrays, Saved, pack, unpack

FORMAT = "mvlvm-model"
FORMAT_VERSION = 4
_FILE_IN_FOLDER = "model.safetensors"
_HEADER = "mvlvm"
_ADVICE = "Give the path that was passed to estimator.save."
# What taking a file apart can run into when its header and its arrays do not belong together.
DAMAGE = (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError, RuntimeError)


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a model. The file appears whole or not at all.

    Args:
        path: a file, or a folder to put `model.safetensors` into; one that ends in a slash is made.
        saved: the model.
    """
    write_file(path, *pack(saved))


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a model back.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    header, arrays = read_file(path)
    try:
        return unpack(header, arrays)
    except DAMAGE as error:
        raise damaged(_file_at(path), error) from error


def write_file(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays, whole or not at all."""
    if not os.fspath(path):
        raise ValueError("The path to save to is empty. Give a file name, for example 'model.safetensors'.")
    target = _file_at(path)
    if os.fspath(path).endswith(os.sep):
        target = Path(path) / _FILE_IN_FOLDER
        target.parent.mkdir(exist_ok=True)
    target = target.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to save {target.name} into. Make it first.")
    marked = {**header, "format": FORMAT, "format_version": FORMAT_VERSION, "library_version": __version__}
    # files hold memory as it lies, so every array must be contiguous
    whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    _write_whole(target, to_bytes(whole, metadata={_HEADER: json.dumps(marked)}))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read header and arrays back, and check that they are those of a model.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    source = _file_at(path)
    if not source.exists():
        raise FileNotFoundError(f"There is no saved model at {source}. Write one with estimator.save(path).")
    try:
        with safe_open(source, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except PermissionError:
        raise
    except (SafetensorError, OSError):
        raise ModelFileError(f"{source} is not a saved mvlvm model: it is no safetensors file. {_ADVICE}") from None
    header = _checked_header(source, metadata)
    _check_finite(source, arrays)
    return header, arrays


def damaged(source: str | os.PathLike[str], cause: Exception) -> ModelFileError:
    """Make the error for a file whose parts do not fit together."""
    return ModelFileError(f"{source} is damaged: its parts do not fit together ({cause!r}). Save the model again.")


def _file_at(path: str | os.PathLike[str]) -> Path:
    return Path(path) / _FILE_IN_FOLDER if Path(path).is_dir() else Path(path)


def _write_whole(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _checked_header(source: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        header = json.loads(metadata[_HEADER])
        version = header["format_version"]
        if header["format"] != FORMAT or not isinstance(version, int) or version < 1:
            raise ValueError(header["format"])
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(f"{source} is not a saved mvlvm model: it has no mvlvm header. {_ADVICE}") from None
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source} was saved by mvlvm {header.get('library_version')} in format {version}; this version, "
            f"{__version__}, reads formats up to {FORMAT_VERSION}. Install a newer mvlvm to read it."
        )
    return header


def _check_finite(source: Path, arrays: Arrays) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"{source} is damaged: {name} holds values that are not finite. Save the model again.")
