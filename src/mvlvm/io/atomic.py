"""Atomic replacement of files: after an error or a kill, a file has its old or its new content, never a part of it.

The content is written to a temporary file in the folder of the target, flushed to the disk, and renamed. The temporary
file, or a temporary folder with it, is called part below. It has a random name, and its writer holds a lock on it
(flock), which the operating system releases when the writer ends in any way. A part that can be locked therefore has
no writer, and the next replacement of the same target removes it.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_SUFFIX = ".part"
# Name of a folder in the part that replaces it.
_REPLACED = "replaced"
_RANDOM_BYTES = 8
# File systems limit names to 255 bytes; the prefix, the random characters and the suffix need 23.
_MAX_NAME_BYTES = 200
# Age at which a part is removed where locks are not available.
_ABANDONED_SECONDS = 24 * 60 * 60
_PERMISSIONS = 0o777
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def write_atomically(path: str | os.PathLike[str], content: bytes | bytearray | memoryview) -> None:
    """Replace the content of a file, or create it.

    Args:
        path: the file; a symbolic link is followed. The permissions of an existing file are preserved.
        content: the new content.

    Raises:
        OSError: the file cannot be written; its previous content is intact.
    """
    with open_atomically(path) as file:
        file.write(content)


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file whose content replaces that of `path` at the end of the `with` block.

    If the block raises an exception, `path` is not changed and nothing remains.

    Args:
        path: the file; a symbolic link is followed. The permissions of an existing file are preserved.

    Raises:
        OSError: the file cannot be written; its previous content is intact.
    """
    target = _regular_target(path)
    with _new_part(target, _create_file) as part:
        with os.fdopen(os.open(part, os.O_RDWR | _NO_FOLLOW | _BINARY), "r+b") as file:
            yield file
        _replace(part, target)


@contextmanager
def path_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a path for a file that replaces `path` at the end of the `with` block.

    For libraries that open files by name, and possibly lock them. The block must create the file, which has the name
    of `path` and is in a temporary folder.

    Args:
        path: the file; a symbolic link is followed. The permissions of an existing file are preserved.

    Raises:
        OSError: the file cannot be written; its previous content is intact.
    """
    target = _regular_target(path)
    with _new_part(target, _create_folder) as part:
        yield part / target.name
        _replace(part / target.name, target)


@contextmanager
def folder_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a new folder that takes the place of `path` at the end of the `with` block.

    If the block raises an exception, `path` is not changed and nothing remains. If the process is killed between the
    two renames that replace an existing folder, the next call restores it.

    Args:
        path: the folder; its parent must exist.

    Raises:
        OSError: the folder cannot be created or replaced.
    """
    target = Path(os.path.realpath(path))
    _restore_replaced(target)
    with _new_part(target, _create_folder) as part:
        new, replaced = part / "new", part / _REPLACED
        new.mkdir()
        yield new
        if target.exists():
            os.rename(target, replaced)
        try:
            os.rename(new, target)
        except BaseException:
            if replaced.exists():
                os.rename(replaced, target)
            raise
        _flush_folder(target.parent)


def move_atomically(source: Path, path: str | os.PathLike[str]) -> None:
    """Replace a file by a complete one of the same file system, which no other process uses.

    Args:
        source: the complete file.
        path: the file to replace or create; a symbolic link is followed. Permissions are preserved as above.

    Raises:
        OSError: the file cannot be replaced; its previous content is intact.
    """
    _replace(source, _regular_target(path))


def _regular_target(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of the file to replace, after resolving symbolic links."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        text = f"There is no folder {target.parent} to save {target.name} into. Create it first"
        raise FileNotFoundError(errno.ENOENT, text)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{target} is a folder, but must be a file. Choose another name")
    if target.exists() and not target.is_file():
        text = f"{target} is not a regular file, and would be replaced by one. Choose another name"
        raise OSError(errno.EINVAL, text)
    return target


@contextmanager
def _new_part(target: Path, create: Callable[[Path, int], None]) -> Iterator[Path]:
    """Provide the path of a locked part, and remove it at the end if it still exists."""
    _remove_abandoned_parts(target)
    part, lock = _create_part(target, create)
    try:
        yield part
    finally:
        _remove(part)
        if lock is not None:
            os.close(lock)


def _create_part(target: Path, create: Callable[[Path, int], None]) -> tuple[Path, int | None]:
    """Create and lock a part that did not exist before; it is private until it has the permissions of the target."""
    mode = 0o600 if target.exists() else 0o666
    while True:
        part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(_RANDOM_BYTES)}{_SUFFIX}")
        try:
            create(part, mode)
            lock = _lock(part)
        except OSError as error:
            # the name is taken, or another writer removed the part before it was locked here
            if isinstance(error, FileExistsError | FileNotFoundError) and target.parent.is_dir():
                continue
            raise type(error)(error.errno, error.strerror, str(target)) from None  # the user does not know the part
        if lock is None or _is_at(lock, part):
            return part, lock
        os.close(lock)


def _create_file(part: Path, mode: int) -> None:
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, mode))


def _create_folder(part: Path, mode: int) -> None:
    part.mkdir(mode=0o700)  # the file in it has the permissions that its writer chooses


def _lock(part: Path) -> int | None:
    """Lock a part, and return the descriptor that holds the lock; None where locks are not available."""
    if fcntl is None:
        return None
    descriptor = os.open(part, os.O_RDONLY | _NO_FOLLOW)
    with suppress(OSError):  # a file system without locks, where the age of a part counts
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _replace(complete: Path, target: Path) -> None:
    """Flush a complete file, give it the permissions of the target, and rename it to the target."""
    descriptor = os.open(complete, os.O_RDWR | _NO_FOLLOW | _BINARY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    with suppress(FileNotFoundError):
        complete.chmod(stat.S_IMODE(target.stat().st_mode) & _PERMISSIONS)
    os.replace(complete, target)
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    """Flush the entries of a folder, where the operating system supports it; the file is in place already."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_abandoned_parts(target: Path) -> None:
    """Remove the parts of killed writers of the same target; those of running writers are locked."""
    pattern = re.compile(rf"{re.escape(_part_prefix(target))}[0-9a-f]{{{2 * _RANDOM_BYTES}}}{re.escape(_SUFFIX)}")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _restore_replaced(target: Path) -> None:
    """Restore a folder that a killed writer had moved into its part, before it put the new one in its place."""
    if not target.exists():
        for entry in os.listdir(target.parent):
            replaced = target.parent / entry / _REPLACED
            if entry.startswith(_part_prefix(target)) and entry.endswith(_SUFFIX) and replaced.is_dir():
                os.rename(replaced, target)
                return


def _remove_if_abandoned(part: Path) -> None:
    if stat.S_IFMT(part.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        return
    if fcntl is None:
        if _is_old(part):
            _remove(part)
        return
    descriptor = os.open(part, os.O_RDONLY | os.O_NONBLOCK | _NO_FOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        abandoned = True
    except BlockingIOError:
        abandoned = False
    except OSError:
        abandoned = _is_old(part)
    try:
        # a part that was renamed in the meantime is complete, and has another name
        if abandoned and _is_at(descriptor, part):
            _remove(part)
    finally:
        os.close(descriptor)


def _remove(part: Path) -> None:
    """Remove a part; nothing happens if it does not exist any more."""
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def _part_prefix(target: Path) -> str:
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= _MAX_NAME_BYTES else hashlib.sha256(name).hexdigest()}."


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether a path is that of an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _is_old(part: Path) -> bool:
    return time.time() - part.stat().st_mtime > _ABANDONED_SECONDS
