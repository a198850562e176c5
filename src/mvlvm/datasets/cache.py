"""Search for data files in local folders, with download as a last resort, and validated reading without pickle."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mvlvm.errors import DataFileError
from mvlvm.io.numpy_files import array_names, member_size, read_member
from mvlvm.io.size_limits import available_memory, size_text

ENVIRONMENT = "MVLVM_DATA"
_DOWNLOAD_PACKAGES = ("pooch", "filelock")
# Raised by NumPy and zipfile on truncated, corrupted or unrelated files.
_READ_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError)


@dataclass(frozen=True)
class FileCache:
    """The folders that are searched for data files, in order; files not found are downloaded.

    Attributes:
        data_home: folder given by the user, if any. Downloads are saved there, otherwise in the user's cache folder.
        opened: paths of the files requested so far.
    """

    data_home: Path | None = None
    opened: list[Path] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def at(cls, data_home: Any) -> "FileCache":
        """Return the cache for a folder given by the user as a string or path; "~" is expanded, None is no folder.

        Raises:
            ValueError: `data_home` is not a path.
            DataFileError: The user in "~user" does not exist.
        """
        if data_home is None:
            return cls()
        if not isinstance(data_home, str | os.PathLike):
            raise ValueError(f"data_home must be the path of a folder. Got {data_home!r}.")
        return cls(_expanded(os.fspath(data_home), "data_home"))

    def find(self, file: str) -> Path:
        """Return the path of a file: in `data_home`, in `$MVLVM_DATA`, in the cache folder, or newly downloaded.

        Raises:
            DataFileError: The file is not found and cannot be downloaded.
        """
        path = self.locate(file) or self._fetch(file)
        if path not in self.opened:
            self.opened.append(path)
        return path

    def locate(self, file: str) -> Path | None:
        """Return the path of a file that exists locally, or None if it would have to be downloaded.

        Raises:
            DataFileError: A folder cannot be searched.
        """
        return next((folder / file for folder in self._folders() if _is_file(folder / file)), None)

    def arrays(self, file: str, *names: str) -> tuple[np.ndarray, ...]:
        """Read the named arrays of an `.npz` file, in the given order.

        Raises:
            DataFileError: The file is damaged, lacks one of the arrays, does not fit into memory, or is not
                found and cannot be downloaded.
        """
        path = self.find(file)
        try:
            with path.open("rb") as stream, zipfile.ZipFile(_checked_zip(stream)) as archive:
                present = array_names(archive)
                missing = [name for name in names if name not in present]
                if not missing:
                    _check_size(sum(member_size(archive, name) for name in names))
                    return tuple(read_member(archive, name) for name in names)
        except PermissionError:
            raise
        except _READ_ERRORS as error:
            raise damaged([path], error) from error
        raise DataFileError(
            f"{path} is not the expected file: it contains no array '{missing[0]}', only {', '.join(present)}. "
            f"{_advice([path])}"
        )

    def download_folder(self) -> Path:
        """Return the destination folder of downloads."""
        return self.data_home or cache_folder()

    def _folders(self) -> Iterator[Path]:
        """Iterate over the search path; lazily, since determining the cache folder imports pooch."""
        if self.data_home is not None:
            yield self.data_home
        if named := os.environ.get(ENVIRONMENT):
            yield _expanded(named, ENVIRONMENT)
        if find_spec("pooch") is not None:  # otherwise there is no cache, since nothing can be downloaded
            yield cache_folder()

    def _fetch(self, file: str) -> Path:
        state = "is one of these" if os.environ.get(ENVIRONMENT) else "is not set"
        searched = f"Folders searched: {', '.join(map(str, self._folders())) or 'none'}; {ENVIRONMENT} {state}."
        missing = next((package for package in _DOWNLOAD_PACKAGES if find_spec(package) is None), None)
        if missing is not None:
            raise DataFileError(
                f"{file} was not found, and downloading it needs {missing}, which is not installed. Install it with: "
                f'pip install "mvlvm[data]". {searched}'
            )
        from mvlvm.datasets.download import fetch  # imported only if a file is not found locally

        try:
            return fetch(file, self.download_folder())
        except DataFileError as error:
            raise DataFileError(f"{error} {searched}") from error.__cause__


def cache_folder() -> Path:
    """Return the user's cache folder for data sets, following the conventions of the operating system."""
    from pooch import os_cache

    return Path(os_cache("mvlvm"))


def damaged(paths: Sequence[Path], cause: Exception) -> DataFileError:
    """Return the error for files that cannot be read or do not have the expected contents."""
    names = " and ".join(map(str, paths))
    state = "is damaged or" if len(paths) == 1 else "do not belong together, or one of them is damaged or"
    reason = (str(cause).splitlines() or [type(cause).__name__])[0].rstrip(".")
    return DataFileError(f"{names} {state} not the expected file: {reason}. {_advice(paths)}")


def _check_size(n_bytes: int) -> None:
    if n_bytes > available_memory():
        raise ValueError(
            f"it declares {size_text(n_bytes)} of data, more than the available memory, {size_text(available_memory())}"
        )


def _checked_zip(stream: BinaryIO) -> BinaryIO:
    if not zipfile.is_zipfile(stream):
        raise ValueError("it is not a zip archive, or is truncated")
    stream.seek(0)
    return stream


def _advice(paths: Sequence[Path]) -> str:
    """Return advice on how to restore a file; deleting it helps only if it can be downloaded."""
    from mvlvm.datasets.sources import SOURCES

    if all(path.name in SOURCES and SOURCES[path.name].convert for path in paths):
        return "It was not modified; delete it to download it again, or replace it with an intact copy."
    return "It was not modified; replace it with an intact copy."


def _expanded(folder: str, parameter: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise DataFileError(
            f"{parameter} must be the path of a folder. Got {folder}: this user does not exist."
        ) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise DataFileError(
            f"{path} cannot be accessed: {cause}. Check the folder name and its permissions."
        ) from error
