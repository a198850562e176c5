"""Where the files of data sets come from, and how they are read: never half, never with pickle."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mvlvm.errors import DataFileError

ENVIRONMENT = "MVLVM_DATA"
# What NumPy and zipfile raise on a file that was cut off, altered or is something else.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError)


@dataclass(frozen=True)
class FileStore:
    """The folders that are searched for a file, in order; the last resort is a download.

    Attributes:
        data_home: the folder that the user named, if any. Downloads go there, else into the user's cache folder.
        opened: the paths of the files that were asked for so far.
    """

    data_home: Path | None = None
    opened: list[Path] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def at(cls, data_home: Any) -> "FileStore":
        """Give the store for a folder as a user names it: text or a path, "~" for the home folder, None for no folder.

        Raises:
            ValueError: it is neither.
            DataFileError: there is no such user.
        """
        if data_home is None:
            return cls()
        if not isinstance(data_home, str | os.PathLike):
            raise ValueError(f"data_home must be the path of a folder. Got {data_home!r}.")
        return cls(_expanded(os.fspath(data_home), "data_home"))

    def find(self, file: str) -> Path:
        """Give the path of a file: in `data_home`, the folder `MVLVM_DATA` names, the cache, or downloaded now.

        Raises:
            DataFileError: it is nowhere and cannot be had.
        """
        path = self.locate(file) or self._fetch(file)
        if path not in self.opened:
            self.opened.append(path)
        return path

    def locate(self, file: str) -> Path | None:
        """Give the path of a file that is at hand, None where it would have to be downloaded.

        Raises:
            DataFileError: a folder cannot be looked into.
        """
        return next((folder / file for folder in self._folders() if _is_file(folder / file)), None)

    def arrays(self, file: str, *names: str) -> tuple[np.ndarray, ...]:
        """Read arrays of an `.npz` file.

        Raises:
            DataFileError: the file cannot be had, is damaged, or lacks one of them.
        """
        path = self.find(file)
        try:
            # opened here, because NumPy leaves a file open that it cannot read
            with path.open("rb") as stream, np.load(_archive(stream), allow_pickle=False) as archive:
                missing = [name for name in names if name not in archive]
                if not missing:
                    return tuple(archive[name] for name in names)
                found = ", ".join(archive)
        except PermissionError:
            raise
        except _DAMAGE as error:
            raise damaged([path], error) from error
        raise DataFileError(
            f"{path} is not the file that mvlvm expects: it has no array '{missing[0]}', only {found}. "
            f"{_advice([path])}"
        )

    def download_folder(self) -> Path:
        """Give the folder that downloads go to."""
        return self.data_home or cache_folder()

    def _folders(self) -> Iterator[Path]:
        """Give the folders in which files are looked for; the cache is asked for only where the others have nothing."""
        if self.data_home is not None:
            yield self.data_home
        if named := os.environ.get(ENVIRONMENT):
            yield _expanded(named, ENVIRONMENT)
        yield cache_folder()

    def _fetch(self, file: str) -> Path:
        from mvlvm.datasets.download import fetch  # only those without the file come here

        try:
            return fetch(file, self.download_folder())
        except DataFileError as error:
            where = ", ".join(map(str, self._folders()))
            state = f"{ENVIRONMENT} names one of these" if os.environ.get(ENVIRONMENT) else f"{ENVIRONMENT} is not set"
            raise DataFileError(f"{error} It was looked for in {where}; {state}.") from error.__cause__


def cache_folder() -> Path:
    """Give the user's cache folder for data sets, as the operating system has it."""
    from pooch import os_cache

    return Path(os_cache("mvlvm"))


def _archive(stream: BinaryIO) -> BinaryIO:
    if not zipfile.is_zipfile(stream):
        raise ValueError("it is no zip archive, or it was cut off")
    stream.seek(0)
    return stream


def damaged(paths: Sequence[Path], cause: Exception) -> DataFileError:
    """Make the error for files that cannot be read or do not hold what they should."""
    names, it = " and ".join(map(str, paths)), "is" if len(paths) == 1 else "belong together no longer, or one is"
    what = (str(cause).splitlines() or [type(cause).__name__])[0].rstrip(".")
    return DataFileError(f"{names} {it} damaged or not what its name says: {what}. {_advice(paths)}")


def _advice(paths: Sequence[Path]) -> str:
    """Say how to have a whole file again; deleting one helps only where it can be downloaded."""
    from mvlvm.datasets.sources import SOURCES

    if all(path.name in SOURCES and SOURCES[path.name].convert for path in paths):
        return "It was left as it is; delete it to have it fetched again, or put a whole copy in its place."
    return "It was left as it is; put a whole copy in its place."


def _expanded(folder: str, parameter: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise DataFileError(
            f"{parameter} must be the path of a folder. Got {folder}: there is no such user."
        ) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise DataFileError(
            f"{path} cannot be looked for: {cause}. Check the name of the folder, and its permissions."
        ) from error
