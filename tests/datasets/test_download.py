"""Files are downloaded completely, verified and once, or not at all. The HTTP server is real; only the delays between
attempts are removed.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from mvlvm.datasets.convert import content_digest, image_files, text_and_tables, write_arrays
from mvlvm.datasets.download import DownloadBar, download_bars, fetch
from mvlvm.datasets.sources import SOURCES, Remote, Source
from mvlvm.errors import DataFileError
from tests.datasets.http_server import file_server
from tests.datasets.raw_files import cifar_members, files_under, tar_gz

RAW = np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
FILE = "numbers.npz"
PAGE = "https://example.org/numbers"


def convert(raw, target):
    write_arrays(target, {"X": np.frombuffer(raw["numbers.bin"].read_bytes(), dtype=np.uint8)})


def is_intact(path):
    with np.load(path) as archive:
        return archive["X"].tobytes() == RAW


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    with file_server() as server:
        server.contents["numbers.bin"] = RAW
        yield server


@pytest.fixture
def source(server):
    remote = Remote(server.url("numbers.bin"), server.sha256("numbers.bin"), "numbers.bin")
    return Source(PAGE, (remote,), convert)


@pytest.fixture
def digest(tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / FILE
    write_arrays(path, {"X": np.frombuffer(RAW, dtype=np.uint8)})
    return content_digest(path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def only_the_lock_remains(folder):
    return not folder.exists() or set(names(folder)) <= {f".{FILE}.lock"}


def with_remote(source, url=None, known_hash=None, digest=None):
    return Source(PAGE, (Remote(url or source.remotes[0].url, known_hash, "numbers.bin"),), convert, digest)


def unreachable(name):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{closed.getsockname()[1]}/{name}"


def test_file_is_downloaded_once_and_nothing_else_is_left(server, source, tmp_path):
    folder = tmp_path / "new" / "cache"
    assert fetch(FILE, folder, source=source, progress=False) == folder / FILE
    assert is_intact(folder / FILE)
    assert fetch(FILE, folder, source=source, progress=False) == folder / FILE
    assert server.gets == {"numbers.bin": 1}
    assert names(folder) == [FILE]


def test_existing_file_is_not_modified(server, source, tmp_path):
    (tmp_path / FILE).write_bytes(b"mine")
    fetch(FILE, tmp_path, source=source, progress=False)
    assert (tmp_path / FILE).read_bytes() == b"mine"
    assert not server.gets


def test_wrong_checksum_is_rejected(server, source, tmp_path):
    wrong = with_remote(source, known_hash="md5:" + 32 * "0")
    with pytest.raises(DataFileError, match="checksum does not match") as caught:
        fetch(FILE, tmp_path, source=wrong, progress=False)
    for part in (FILE, server.url("numbers.bin"), PAGE, str(tmp_path), 32 * "0"):
        assert part in str(caught.value)
    assert only_the_lock_remains(tmp_path)


def test_wrong_contents_are_rejected_without_a_checksum(source, digest, tmp_path):
    fetch(FILE, tmp_path / "right", source=with_remote(source, digest=digest), progress=False)
    with pytest.raises(DataFileError, match="has unexpected contents"):
        fetch(FILE, tmp_path / "wrong", source=with_remote(source, digest="another"), progress=False)
    assert only_the_lock_remains(tmp_path / "wrong")


def test_interrupted_transfer_is_retried(server, source, tmp_path):
    server.broken_transfers = 1
    assert is_intact(fetch(FILE, tmp_path, source=source, progress=False))
    assert server.gets == {"numbers.bin": 2}
    assert names(tmp_path) == [FILE]


def test_repeatedly_interrupted_transfer_fails(server, source, tmp_path):
    server.broken_transfers = 1000
    with pytest.raises(DataFileError, match="the transfer was interrupted"):
        fetch(FILE, tmp_path, source=source, progress=False)
    assert server.gets == {"numbers.bin": 3}
    assert only_the_lock_remains(tmp_path)


def test_truncated_file_of_unknown_size_and_checksum_is_detected_by_its_digest(server, source, digest, tmp_path):
    server.broken_transfers, server.announces_size = 1000, False
    with pytest.raises(DataFileError, match="has unexpected contents"):
        fetch(FILE, tmp_path, source=with_remote(source, digest=digest), progress=False)
    assert only_the_lock_remains(tmp_path)


def test_message_without_network_explains_manual_download(source, tmp_path):
    url = unreachable("numbers.bin")
    with pytest.raises(DataFileError, match="there may be no network connection") as caught:
        fetch(FILE, tmp_path, source=with_remote(source, url=url), progress=False)
    message = str(caught.value)
    assert "no network connection (Connection refused)." in message
    assert f"manually download {url} to {tmp_path} and load the data set again." in message
    assert PAGE in message
    assert message.count(url) == 1
    assert only_the_lock_remains(tmp_path)


def test_message_lists_all_raw_files_for_manual_download(server, source, tmp_path):
    nowhere = unreachable("files/597")
    both = Source(PAGE, (*source.remotes, Remote(nowhere, None, "archive.tar.gz")), convert)
    with pytest.raises(DataFileError) as caught:
        fetch(FILE, tmp_path, source=both, progress=False)
    assert f"manually download {server.url('numbers.bin')}, {nowhere} (as archive.tar.gz) to {tmp_path}" in str(
        caught.value
    )
    assert str(caught.value).count(nowhere) == str(caught.value).count(server.address) == 1


def test_server_error_is_reported(server, source, tmp_path):
    with pytest.raises(DataFileError, match="the server returned an error.*404"):
        fetch(FILE, tmp_path, source=with_remote(source, url=server.url("gone")), progress=False)


def test_failed_conversion_is_reported(server, source, tmp_path):
    def half_then_fail(raw, target):
        target.write_bytes(b"half")
        raise KeyError("fea")

    broken = Source(PAGE, source.remotes, half_then_fail)
    with pytest.raises(DataFileError, match=r"conversion failed \(KeyError: 'fea'\)"):
        fetch(FILE, tmp_path, source=broken, progress=False)
    assert only_the_lock_remains(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can write anywhere")
def test_read_only_folder_is_reported(source, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DataFileError, match="is not writable"):
        fetch(FILE, tmp_path, source=source, progress=False)


def test_file_in_place_of_the_folder_is_reported(source, tmp_path):
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(DataFileError, match="is not writable"):
        fetch(FILE, tmp_path / "cache", source=source, progress=False)


@pytest.mark.parametrize("file", ["../numbers.npz", "a/numbers.npz", "/numbers.npz", "..", ".", ""])
def test_file_name_with_a_path_is_rejected(source, tmp_path, file):
    with pytest.raises(DataFileError, match="not a file name without a folder"):
        fetch(file, tmp_path / "cache", source=source, progress=False)
    assert names(tmp_path) == []


def test_unknown_file_is_rejected(tmp_path):
    with pytest.raises(DataFileError, match="'minst.npz' is not a file of a data set.*mnist.npz"):
        fetch("minst.npz", tmp_path)


@pytest.mark.parametrize("file", [file for file, source in SOURCES.items() if source.convert is None])
def test_file_without_automatic_download_is_explained(tmp_path, file):
    with pytest.raises(DataFileError, match="cannot be downloaded automatically") as caught:
        fetch(file, tmp_path / "cache")
    message = str(caught.value)
    assert 0 < message.index(SOURCES[file].page) < message.index(SOURCES[file].note)
    assert (f"Save {file} in {tmp_path / 'cache'}." in message) == SOURCES[file].obtainable
    assert names(tmp_path) == []


@pytest.mark.parametrize("file", ["channel.npz", "channel_drift.npz"])
def test_message_for_unpublished_files_lists_alternatives(tmp_path, file):
    with pytest.raises(DataFileError, match=r'read_quadriga, or simulate with .*"mvlvm\[channel\]"') as caught:
        fetch(file, tmp_path)
    assert "save" not in str(caught.value).lower()


def save_raw_file(tmp_path, content=RAW):
    (tmp_path / "numbers.bin").write_bytes(content)


@pytest.mark.parametrize("has_checksum", [True, False])
def test_manually_saved_raw_files_replace_the_download(server, source, digest, tmp_path, has_checksum):
    save_raw_file(tmp_path)
    known_hash = source.remotes[0].known_hash if has_checksum else None
    given = with_remote(source, known_hash=known_hash, digest=digest)
    assert is_intact(fetch(FILE, tmp_path, source=given, progress=False))
    assert not server.gets
    assert names(tmp_path) == ["numbers.bin", FILE]
    assert (tmp_path / "numbers.bin").read_bytes() == RAW


def test_saved_file_with_wrong_checksum_is_neither_used_nor_modified(server, source, tmp_path):
    save_raw_file(tmp_path, b"something else")
    assert is_intact(fetch(FILE, tmp_path, source=source, progress=False))
    assert server.gets == {"numbers.bin": 1}
    assert (tmp_path / "numbers.bin").read_bytes() == b"something else"
    (tmp_path / FILE).unlink()
    server.contents.clear()
    with pytest.raises(DataFileError, match="numbers.bin was not used, because its checksum does not match"):
        fetch(FILE, tmp_path, source=source, progress=False)


def test_conversion_of_a_wrong_saved_file_is_rejected(server, source, digest, tmp_path):
    save_raw_file(tmp_path, b"something else")
    with pytest.raises(DataFileError, match="unexpected contents.*converted from numbers.bin in .*; move this file"):
        fetch(FILE, tmp_path, source=with_remote(source, digest=digest), progress=False)
    assert not (tmp_path / FILE).exists()


def test_folder_in_place_of_the_file_is_reported(source, tmp_path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(DataFileError, match="numbers.npz is a folder, but must be a file"):
        fetch(FILE, tmp_path, source=source, progress=False)


def test_missing_reader_is_detected_before_the_download(server, source, tmp_path):
    unreadable = Source(PAGE, source.remotes, convert, reader=("no_such_reader", "r"))
    with pytest.raises(DataFileError, match=r'requires no_such_reader.*pip install "mvlvm\[r\]"'):
        fetch(FILE, tmp_path, source=unreadable, progress=False)
    assert not server.gets


def test_r_files_specify_their_reader_and_do_not_repeat_it_in_the_note():
    r_sources = [source for source in SOURCES.values() if source.reader]
    assert len(r_sources) == 3
    assert all(remote.name.endswith(".rda") for source in r_sources for remote in source.remotes)
    assert not any("rdata" in source.note for source in r_sources)


PROCESS = """
import sys
from pathlib import Path
import numpy as np
import signal
from mvlvm.datasets.convert import write_arrays
from mvlvm.datasets.download import fetch
from mvlvm.datasets.sources import Remote, Source

def convert(raw, target):
    write_arrays(target, {"X": np.frombuffer(raw["numbers.bin"].read_bytes(), dtype=np.uint8)})

folder, url, known_hash = sys.argv[1:]
source = Source("https://example.org/numbers", (Remote(url, known_hash, "numbers.bin"),), convert)
assert "pooch" not in sys.modules and "requests" not in sys.modules, "imported although nothing is downloaded"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test suite in the background ignores interrupts
print("ready", flush=True)
print(fetch("numbers.npz", Path(folder), source=source, progress=False), flush=True)
"""


def start_process(server, folder):
    arguments = [str(folder), server.url("numbers.bin"), server.sha256("numbers.bin")]
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def test_concurrent_processes_download_once(server, tmp_path):
    server.may_continue.clear()  # the download cannot finish before both processes have started
    processes = [start_process(server, tmp_path) for _ in range(2)]
    assert server.half_sent.wait(timeout=60)
    server.may_continue.set()
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert output == f"{tmp_path / FILE}\n"
    assert server.gets == {"numbers.bin": 1}
    assert is_intact(tmp_path / FILE)
    assert names(tmp_path) == [FILE]


def test_concurrent_threads_download_once(server, source, tmp_path):
    threads = [
        threading.Thread(target=fetch, args=(FILE, tmp_path), kwargs={"source": source, "progress": False})
        for _ in range(4)
    ]
    server.may_continue.clear()
    for thread in threads:
        thread.start()
    assert server.half_sent.wait(timeout=60)
    server.may_continue.set()
    for thread in threads:
        thread.join(timeout=60)
    assert server.gets == {"numbers.bin": 1}
    assert is_intact(tmp_path / FILE)


@pytest.mark.parametrize(("sign", "leaves_temporary_files"), [(signal.SIGKILL, True), (signal.SIGINT, False)])
def test_interrupted_process_leaves_no_file_and_the_next_one_cleans_up(
    server, source, tmp_path, sign, leaves_temporary_files
):
    server.may_continue.clear()
    process = start_process(server, tmp_path)
    assert server.half_sent.wait(timeout=60)
    process.send_signal(sign)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not (tmp_path / FILE).exists()
    assert any(name.endswith(".part") for name in names(tmp_path)) == leaves_temporary_files
    server.may_continue.set()
    assert is_intact(fetch(FILE, tmp_path, source=source, progress=False))
    assert names(tmp_path) == [FILE]


def test_names_of_archive_members_never_become_paths(server, tmp_path):
    X = np.zeros((6, 32, 32, 3), dtype=np.uint8)
    evil = {"../../escaped.txt": b"evil", "/tmp/escaped.txt": b"evil"}
    members = cifar_members(X, np.arange(6), folder="../../cifar") | evil
    server.contents["archive"] = tar_gz(members)
    posts = {
        f"../../20news-bydate-{split}/{group}/{number}": b"Hello"
        for split in ("train", "test")
        for number, group in enumerate(text_and_tables.NEWSGROUPS)
    }
    server.contents["posts"] = tar_gz(posts | evil)
    cache = tmp_path / "deep" / "down" / "cache"
    cifar = Remote(server.url("archive"), None, "cifar-10-binary.tar.gz")
    twisted = Remote(server.url("archive"), None, "../twisted")
    fetch("c.npz", cache, source=Source(PAGE, (twisted, cifar), image_files.cifar10), progress=False)
    newsgroups = Remote(server.url("posts"), None, "20news-bydate.tar.gz")
    fetch("n.jsonl.gz", cache, source=Source(PAGE, (newsgroups,), text_and_tables.newsgroups3), progress=False)
    assert sorted(files_under(tmp_path)) == ["deep/down/cache/c.npz", "deep/down/cache/n.jsonl.gz"]


def test_progress_bar_shows_name_and_size(server, source, tmp_path, capsys):
    server.broken_transfers = 1
    fetch(FILE, tmp_path, source=source)
    shown = capsys.readouterr()
    assert "numbers.bin" in shown.err
    assert "300.0/300.0 kB" in shown.err
    assert "pooch" not in shown.err.lower()
    assert "Downloading" not in shown.err
    assert shown.out == ""


def test_progress_bar_restarts_with_the_second_attempt():
    with download_bars() as bars:
        bar = DownloadBar(bars, "numbers.bin")
        bar.total = 0  # unknown size
        assert bar.total is None
        bar.total = 100
        bar.update(60)
        bar.total = 100
        bar.update(10)
        assert bars.tasks[0].completed == 10
        bar.reset()
        bar.update(100)
        bar.close()
        assert bars.finished
