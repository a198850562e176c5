"""Fetching a file from its public home: checked, converted once, and put whole into a folder."""

import glob
import os
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

from mvlvm.datasets.arrays import content_digest
from mvlvm.datasets.progress import DownloadBar, download_bars
from mvlvm.datasets.sources import SOURCES, Remote, Source
from mvlvm.errors import DataFileError

_RETRIES = 2
_CHUNK_BYTES = 1 << 16
_UNFINISHED = ".part"


def fetch(file: str, folder: Path, *, source: Source | None = None, progress: bool = True) -> Path:
    """Give the path of `file` in `folder`, downloading and converting it where it is not there yet.

    The file appears under its name only when it is complete and checked; whatever goes wrong, nothing of it is left but
    an empty lock file, `.NAME.lock`, for which another process may be waiting. Processes that want the same file wait
    for one of them to fetch it. A file that is there is never touched. Raw files that lie in the folder under their
    names, put there by hand, are used in place of a download, if their checksums are right; they stay as they are.

    Args:
        file: a bare file name, for example "mnist.npz".
        folder: where to put it; made where it does not exist.
        source: where it comes from, by default what `SOURCES` says.
        progress: show bars.

    Raises:
        DataFileError: it could not be fetched; the message says why, and what to do by hand.
    """
    order = _Order(file, folder, _known_source(file) if source is None else source)
    if order.target.is_dir():
        raise DataFileError(f"{order.target} is a folder, but must be a file. Move it away, or name another data home.")
    if order.target.exists():
        return order.target
    if order.source.convert is None:
        raise order.only_by_hand()
    _check_reader(order)
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
        place = f" Put {self.file} into {self.folder}." if self.source.obtainable else ""
        return DataFileError(
            f"{self.file} is not at hand, and there is no automatic download. Its home is {self.source.page}. "
            f"{self.source.note}{place}"
        )

    def failure(self, cause: str) -> DataFileError:
        note = f" {self.source.note}" if self.source.note else ""
        return DataFileError(
            f"{self.file} could not be fetched: {cause}{note} Try again later, or download by hand "
            f"{', '.join(map(_say_remote, self.source.remotes))} into {self.folder} and load it again. "
            f"Its home is {self.source.page}."
        )


def _known_source(file: str) -> Source:
    if file not in SOURCES:
        raise DataFileError(f"'{file}' is not the file of a data set. Known are: {', '.join(SOURCES)}.")
    return SOURCES[file]


def _check_reader(order: _Order) -> None:
    """Refuse to download what could not be read afterwards."""
    if order.source.reader is None:
        return
    package, extra = order.source.reader
    if find_spec(package) is None:
        raise DataFileError(
            f"{order.file} is not at hand, and its raw files are read with {package}, which is not installed. "
            f'Install it with: pip install "mvlvm[{extra}]"'
        )


def _say_remote(remote: Remote) -> str:
    return remote.url if remote.url.endswith(f"/{remote.name}") else f"{remote.url} (as {remote.name})"


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
    """Download the raw files, with checksums and retries, unless they were put into the folder by hand."""
    raw: dict[str, Path] = {}
    with download_bars() if progress else nullcontext() as bars, _silent_pooch():
        for number, remote in enumerate(order.source.remotes):
            if _is_at_hand(order, remote):
                raw[remote.name] = order.folder / remote.name
                continue
            bar = None if bars is None else DownloadBar(bars, remote.name)
            try:
                raw[remote.name] = _retrieve(remote, workplace, f"raw-{number}", bar)
            except (ValueError, OSError) as error:  # what pooch and requests raise
                raise order.failure(_transfer_cause(order, remote, error)) from error
    return raw


def _is_at_hand(order: _Order, remote: Remote) -> bool:
    """Tell whether a raw file, and not only a file of that name, lies in the folder."""
    from pooch import file_hash

    path = order.folder / remote.name
    if Path(remote.name).name != remote.name or not path.is_file():
        return False
    algorithm, _, expected = (remote.known_hash or "").partition(":")
    return not expected or file_hash(str(path), alg=algorithm) == expected


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


def _transfer_cause(order: _Order, remote: Remote, error: Exception) -> str:
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
    beside = order.folder / remote.name
    unfit = f" {beside} was not used, because its checksum is wrong." if beside.is_file() else ""
    return f"{remote.name} did not come because {cause} ({_innermost(error)}).{unfit}"


def _innermost(error: BaseException) -> str:
    """Give the words of the error that all others were raised for, without the address, which is said elsewhere."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    said = getattr(error, "strerror", None) or str(error)
    hashes = re.search(r"expected \S+ but got [\w:]+", said)
    return hashes[0] if hashes else said.partition(" for url: ")[0]


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
        by_hand = [path.name for path in raw.values() if path.parent == order.folder]
        given = f" It was made from {', '.join(by_hand)} in {order.folder}; move that away." if by_hand else ""
        cause = f"the converted file does not hold what it should (digest {digest} instead of {source.digest}).{given}"
        raise order.failure(cause)
    with converted.open("r+b") as stream:
        os.fsync(stream.fileno())  # else a power cut could leave an empty file under the final name
    return converted
