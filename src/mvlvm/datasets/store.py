"""Where the files of data sets come from, and how they are read: never half, never with pickle."""

import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

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
    """

    data_home: Path | None = None

    def find(self, file: str) -> Path:
        """Give the path of a file: in `data_home`, the folder `MVLVM_DATA` names, the cache, or downloaded now.

        Raises:
            DataFileError: it is nowhere and cannot be had.
        """
        found = self.locate(file)
        if found is not None:
            return found
        from mvlvm.datasets.download import fetch  # only those without the file come here

        return fetch(file, self.download_folder())

    def locate(self, file: str) -> Path | None:
        """Give the path of a file that is at hand, None where it would have to be downloaded."""
        return next((folder / file for folder in self._folders() if (folder / file).is_file()), None)

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
            raise damaged(path, error) from error
        raise DataFileError(
            f"{path} is not the file that mvlvm expects: it has no array '{missing[0]}', only {found}. "
            "It was left as it is; move it away to have it fetched again."
        )

    def download_folder(self) -> Path:
        """Give the folder that downloads go to."""
        return self.data_home or cache_folder()

    def _folders(self) -> list[Path]:
        named = os.environ.get(ENVIRONMENT)
        given = [self.data_home, Path(named).expanduser() if named else None]
        return [folder for folder in given if folder is not None] + [cache_folder()]


def cache_folder() -> Path:
    """Give the user's cache folder for data sets, as the operating system has it."""
    from pooch import os_cache

    return Path(os_cache("mvlvm"))


def _archive(stream: BinaryIO) -> BinaryIO:
    if not zipfile.is_zipfile(stream):
        raise ValueError("it is no zip archive, or it was cut off")
    stream.seek(0)
    return stream


def damaged(path: Path, cause: Exception) -> DataFileError:
    """Make the error for a file that cannot be read."""
    return DataFileError(
        f"{path} is damaged or not what its name says: {cause}. It was left as it is; delete it to have it fetched "
        "again, or put a whole copy in its place."
    )
