"""Fetching a file from its public home: checked, converted once, and put whole into a folder."""

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from mvlvm.datasets.arrays import content_digest
from mvlvm.datasets.progress import DownloadBar, download_bars
from mvlvm.datasets.sources import SOURCES, Remote, Source
from mvlvm.errors import DataFileError

_RETRIES = 2
_CHUNK_BYTES = 1 << 16
_UNFINISHED = ".part"


def fetch(file: str, folder: Path, *, source: Source | None = None, progress: bool = True) -> Path:
    """Give the path of `file` in `folder`, downloading and converting it where it is not there yet.

    The file appears under its name only when it is complete and checked; whatever goes wrong, nothing of it is left.
    Processes that want the same file wait for one of them to fetch it. A file that is there is never touched.

    Args:
        file: a bare file name, for example "mnist.npz".
        folder: where to put it; made where it does not exist.
        source: where it comes from, by default what `SOURCES` says.
        progress: show bars.

    Raises:
        DataFileError: it could not be fetched; the message says why, and what to do by hand.
    """
    order = _Order(file, folder, _known_source(file) if source is None else source)
    if order.target.exists():
        return order.target
    if order.source.convert is None:
        raise order.only_by_hand()
    with _locked(order):
        if not order.target.exists():
            with _workplace(order) as workplace:
                raw = _download(order, workplace, progress)
                converted = _convert(order, workplace, raw)
                os.replace(converted, order.target)
    return order.target


@dataclass(frozen=True)
class _Order:
    """A file, the folder it is wanted in, and where it comes from."""

    file: str
    folder: Path
    source: Source

    def __post_init__(self) -> None:
        if Path(self.file).name != self.file or self.file in ("", ".."):
            raise DataFileError(f"'{self.file}' is not a bare file name. Give the folder apart from it.")

    @property
    def target(self) -> Path:
        return self.folder / self.file

    def only_by_hand(self) -> DataFileError:
        return DataFileError(
            f"{self.file} is not at hand, and there is no automatic download. {self.source.note} "
            f"Its home is {self.source.page}; put {self.file} into {self.folder}."
        )

    def failure(self, cause: str) -> DataFileError:
        note = f" {self.source.note}" if self.source.note else ""
        return DataFileError(
            f"{self.file} could not be fetched: {cause}{note} "
            f"Try again later, or get it by hand from {self.source.page} and put {self.file} into {self.folder}."
        )


def _known_source(file: str) -> Source:
    if file not in SOURCES:
        raise DataFileError(f"'{file}' is not the file of a data set. Known are: {', '.join(SOURCES)}.")
    return SOURCES[file]


@contextmanager
def _locked(order: _Order) -> Iterator[None]:
    """Keep every other process from fetching the same file."""
    path = order.folder / f".{order.file}.lock"
    with ExitStack() as stack:
        try:
            order.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(path))
        except OSError as error:
            raise order.failure(f"the folder cannot be written to ({error}).") from error
        yield
        # Only now that the file is there: whoever still waits for this lock, or makes a new one, finds the file.
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def _workplace(order: _Order) -> Iterator[Path]:
    """Give a private folder on the target's disk; those of processes that were killed are removed first."""
    for abandoned in order.folder.glob(f".{glob.escape(order.file)}.*{_UNFINISHED}"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{order.file}.", suffix=_UNFINISHED, dir=order.folder) as workplace:
        yield Path(workplace)


def _download(order: _Order, workplace: Path, progress: bool) -> dict[str, Path]:
    """Download the raw files, with checksums and retries."""
    raw: dict[str, Path] = {}
    with download_bars() if progress else nullcontext() as bars, _silent_pooch():
        for number, remote in enumerate(order.source.remotes):
            bar = None if bars is None else DownloadBar(bars, remote.name)
            try:
                raw[remote.name] = _retrieve(remote, workplace, f"raw-{number}", bar)
            except (ValueError, OSError) as error:  # what pooch and requests raise
                raise order.failure(_transfer_cause(remote, error)) from error
    return raw


def _retrieve(remote: Remote, workplace: Path, name: str, bar: DownloadBar | None) -> Path:
    import pooch

    registry: dict[str, Any] = {name: remote.known_hash}
    store = pooch.Pooch(workplace, "", registry, {name: remote.url}, retry_if_failed=_RETRIES)
    # pooch's own annotations know neither a bar of ours nor its own downloader
    shown: Any = bar or False
    plain = {"Accept-Encoding": "identity"}  # so that the size announced is the size of the file
    downloader: Any = pooch.HTTPDownloader(progressbar=shown, chunk_size=_CHUNK_BYTES, headers=plain)
    return Path(store.fetch(name, downloader=downloader))


@contextmanager
def _silent_pooch() -> Iterator[None]:
    """Keep pooch from printing the names of temporary files; what goes wrong is raised."""
    import pooch

    logger = pooch.get_logger()
    before = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(before)


def _transfer_cause(remote: Remote, error: Exception) -> str:
    from requests import exceptions

    match error:
        case exceptions.HTTPError():
            cause = "the server refuses it"
        case exceptions.ChunkedEncodingError() | exceptions.ContentDecodingError():
            cause = "the transfer broke off"
        case exceptions.ConnectionError() | exceptions.Timeout():
            cause = "the server cannot be reached; there may be no network"
        case exceptions.RequestException():
            cause = "the download failed"
        case ValueError():
            cause = "its checksum is wrong"
        case _:
            cause = "it could not be written"
    return f"{remote.name} did not come from {remote.url} because {cause} ({error})."


def _convert(order: _Order, workplace: Path, raw: Mapping[str, Path]) -> Path:
    """Write the file of the cache beside the raw files, and check what is in it."""
    source = order.source
    assert source.convert is not None
    converted = workplace / "converted"
    try:
        source.convert(raw, converted)
        digest = None if source.digest is None else content_digest(converted)
    except Exception as error:  # a raw file may be broken in any way
        raise order.failure(f"the conversion failed ({type(error).__name__}: {error}).") from error
    if digest != source.digest:
        cause = f"the converted file does not hold what it should (digest {digest} instead of {source.digest})."
        raise order.failure(cause)
    with converted.open("rb") as stream:
        os.fsync(stream.fileno())  # else a power cut could leave an empty file under the final name
    return converted
