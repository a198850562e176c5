"""Download of data files from their public sources: verified, converted once, and written atomically."""

import glob
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from mvlvm.datasets.convert import content_digest
from mvlvm.datasets.sources import SOURCES, Remote, Source
from mvlvm.errors import DataFileError
from mvlvm.io.atomic import move_atomically

_RETRIES = 2
_CHUNK_BYTES = 1 << 16
_UNFINISHED = ".part"


def fetch(file: str, folder: Path, *, source: Source | None = None, progress: bool = True) -> Path:
    """Return the path of `file` in `folder`, after downloading and converting it if it does not exist.

    The file is written atomically, after verification. If anything fails, only an empty lock file, `.NAME.lock`, may
    remain, since another process may be waiting for it. Concurrent processes download a file only once. An existing
    file is never modified. Raw files that the user has saved in the folder under their original names are used instead
    of a download if their checksums match; they are not modified.

    Args:
        file: file name without a folder, for example "mnist.npz".
        folder: destination; created if it does not exist.
        source: source of the file, by default its entry in `SOURCES`.
        progress: show progress bars.

    Raises:
        DataFileError: The file could not be downloaded or converted. The message states the reason and how to obtain
            the file manually.
    """
    request = _Request(file, folder, _known_source(file) if source is None else source)
    if request.target.is_dir():
        raise DataFileError(f"{request.target} is a folder, but must be a file. Move it, or choose another data_home.")
    if request.target.exists():
        return request.target
    if request.source.convert is None:
        raise request.no_download()
    _check_reader(request)
    with _locked(request):
        if not request.target.exists():
            with _temporary_folder(request) as workdir:
                raw = _download(request, workdir, progress)
                converted = _convert(request, workdir, raw)
                move_atomically(converted, request.target)
    return request.target


@dataclass(frozen=True)
class _Request:
    """A file, its destination folder and its source."""

    file: str
    folder: Path
    source: Source

    def __post_init__(self) -> None:
        if Path(self.file).name != self.file or self.file in ("", ".."):
            raise DataFileError(f"'{self.file}' is not a file name without a folder. Pass the folder separately.")

    @property
    def target(self) -> Path:
        return self.folder / self.file

    def no_download(self) -> DataFileError:
        instruction = f" Save {self.file} in {self.folder}." if self.source.obtainable else ""
        return DataFileError(
            f"{self.file} was not found and cannot be downloaded automatically. Its source is {self.source.page}. "
            f"{self.source.note}{instruction}"
        )

    def failure(self, cause: str) -> DataFileError:
        note = f" {self.source.note}" if self.source.note else ""
        return DataFileError(
            f"{self.file} could not be obtained: {cause}{note} Try again later, or manually download "
            f"{', '.join(map(_format_remote, self.source.remotes))} to {self.folder} and load the data set again. "
            f"Source: {self.source.page}."
        )


def _known_source(file: str) -> Source:
    if file not in SOURCES:
        raise DataFileError(f"'{file}' is not a file of a data set. Known files: {', '.join(SOURCES)}.")
    return SOURCES[file]


def _check_reader(request: _Request) -> None:
    """Check, before any download, that the package that reads the raw files is installed."""
    if request.source.reader is None:
        return
    package, extra = request.source.reader
    if find_spec(package) is None:
        raise DataFileError(
            f"{request.file} was not found, and reading its raw files requires {package}, which is not installed. "
            f'Install it with: pip install "mvlvm[{extra}]"'
        )


def _format_remote(remote: Remote) -> str:
    return remote.url if remote.url.endswith(f"/{remote.name}") else f"{remote.url} (as {remote.name})"


@contextmanager
def _locked(request: _Request) -> Iterator[None]:
    """Hold a lock that prevents other processes from downloading the same file."""
    path = request.folder / f".{request.file}.lock"
    with ExitStack() as stack:
        try:
            request.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(path))
        except OSError as error:
            raise request.failure(f"the folder is not writable ({error}).") from error
        yield
        # Safe only now that the file exists: a process that waits for this lock, or creates a new one, finds the file.
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def _temporary_folder(request: _Request) -> Iterator[Path]:
    """Create a temporary folder on the destination's file system; remove those of killed processes first."""
    for abandoned in request.folder.glob(f".{glob.escape(request.file)}.*{_UNFINISHED}"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{request.file}.", suffix=_UNFINISHED, dir=request.folder) as workdir:
        yield Path(workdir)


@contextmanager
def download_bars() -> Iterator[Progress]:
    """Show progress bars with sizes and speeds; on stderr, since stdout may be redirected to a file."""
    columns = [
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
    ]  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bars:
        yield bars


class DownloadBar:
    """A progress bar with the interface that pooch expects: `total`, `update`, `reset` and `close`."""

    def __init__(self, bars: Progress, title: str) -> None:
        self._bars = bars
        self._task = bars.add_task(title, total=None)

    @property
    def total(self) -> int | float | None:
        """The size of the file in bytes, None if unknown; setting it restarts the bar."""
        return self._bars.tasks[self._task].total

    @total.setter
    def total(self, size: int) -> None:
        self._bars.reset(self._task, total=size or None)

    def update(self, size: int) -> None:
        """Advance the bar by `size` bytes."""
        self._bars.update(self._task, advance=size)

    def reset(self) -> None:
        """Set the bar to zero."""
        self._bars.update(self._task, completed=0)

    def close(self) -> None:
        """Stop the timer of the bar."""
        self._bars.stop_task(self._task)


def _download(request: _Request, workdir: Path, progress: bool) -> dict[str, Path]:
    """Download the raw files, with checksums and retries, except those that the user has saved in the folder."""
    raw: dict[str, Path] = {}
    with download_bars() if progress else nullcontext() as bars, _silent_pooch():
        for number, remote in enumerate(request.source.remotes):
            if _is_saved(request, remote):
                raw[remote.name] = request.folder / remote.name
                continue
            bar = None if bars is None else DownloadBar(bars, remote.name)
            try:
                raw[remote.name] = _retrieve(remote, workdir, f"raw-{number}", bar)
            except (ValueError, OSError) as error:  # raised by pooch and requests
                raise request.failure(_transfer_cause(request, remote, error)) from error
    return raw


def _is_saved(request: _Request, remote: Remote) -> bool:
    """Return whether the folder contains the raw file: a file of this name with the right checksum."""
    from pooch import file_hash

    path = request.folder / remote.name
    if Path(remote.name).name != remote.name or not path.is_file():
        return False
    algorithm, _, expected = (remote.known_hash or "").partition(":")
    return not expected or file_hash(str(path), alg=algorithm) == expected


def _retrieve(remote: Remote, workdir: Path, name: str, bar: DownloadBar | None) -> Path:
    import pooch

    registry: dict[str, Any] = {name: remote.known_hash}
    downloads = pooch.Pooch(workdir, "", registry, {name: remote.url}, retry_if_failed=_RETRIES)
    # pooch's annotations include neither custom progress bars nor its own downloaders
    progressbar: Any = bar or False
    headers = {"Accept-Encoding": "identity"}  # so that Content-Length is the size of the file
    downloader: Any = pooch.HTTPDownloader(progressbar=progressbar, chunk_size=_CHUNK_BYTES, headers=headers)
    return Path(downloads.fetch(name, downloader=downloader))


@contextmanager
def _silent_pooch() -> Iterator[None]:
    """Suppress pooch's log messages, which name temporary files; errors are raised."""
    import pooch

    logger = pooch.get_logger()
    before = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(before)


def _transfer_cause(request: _Request, remote: Remote, error: Exception) -> str:
    from requests import exceptions

    match error:
        case exceptions.HTTPError():
            cause = "the server returned an error"
        case exceptions.ChunkedEncodingError() | exceptions.ContentDecodingError():
            cause = "the transfer was interrupted"
        case exceptions.ConnectionError() | exceptions.Timeout():
            cause = "the server cannot be reached; there may be no network connection"
        case exceptions.RequestException():
            cause = "the download failed"
        case ValueError():
            cause = "its checksum does not match"
        case _:
            cause = "it could not be written"
    saved = request.folder / remote.name
    ignored = f" {saved} was not used, because its checksum does not match." if saved.is_file() else ""
    return f"{remote.name} could not be downloaded because {cause} ({_root_cause(error)}).{ignored}"


def _root_cause(error: BaseException) -> str:
    """Return the message of the first error in the chain, without the URL, which is stated elsewhere."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    message = getattr(error, "strerror", None) or str(error)
    hashes = re.search(r"expected \S+ but got [\w:]+", message)
    return hashes[0] if hashes else message.partition(" for url: ")[0]


def _convert(request: _Request, workdir: Path, raw: Mapping[str, Path]) -> Path:
    """Convert the raw files in the temporary folder and verify the contents of the result."""
    source = request.source
    assert source.convert is not None
    converted = workdir / "converted"
    try:
        source.convert(raw, converted)
        digest = None if source.digest is None else content_digest(converted)
    except Exception as error:  # a corrupted raw file can raise any exception
        raise request.failure(f"the conversion failed ({type(error).__name__}: {error}).") from error
    if digest != source.digest:
        saved = [path.name for path in raw.values() if path.parent == request.folder]
        remedy = f" It was converted from {', '.join(saved)} in {request.folder}; move this file." if saved else ""
        cause = f"the converted file has unexpected contents (digest {digest} instead of {source.digest}).{remedy}"
        raise request.failure(cause)
    return converted
