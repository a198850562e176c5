"""Files come whole, checked and once, or not at all. The server is real; only the waits between attempts are not."""

import os
import signal
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from mvlvm.datasets import raw_images, raw_text
from mvlvm.datasets.arrays import content_digest, write_arrays
from mvlvm.datasets.download import fetch
from mvlvm.datasets.progress import DownloadBar, download_bars
from mvlvm.datasets.sources import SOURCES, Remote, Source
from mvlvm.errors import DataFileError
from tests.datasets.http_home import http_home
from tests.datasets.raw_files import cifar_members, files_under, tar_gz

RAW = np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
FILE = "numbers.npz"
PAGE = "https://example.org/numbers"


def convert(raw, target):
    write_arrays(target, {"X": np.frombuffer(raw["numbers.bin"].read_bytes(), dtype=np.uint8)})


def is_whole(path):
    with np.load(path) as archive:
        return archive["X"].tobytes() == RAW


@pytest.fixture
def home(monkeypatch):
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    with http_home() as home:
        home.files["numbers.bin"] = RAW
        yield home


@pytest.fixture
def source(home):
    remote = Remote(home.url("numbers.bin"), home.sha256("numbers.bin"), "numbers.bin")
    return Source(PAGE, (remote,), convert)


@pytest.fixture
def digest(tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / FILE
    write_arrays(path, {"X": np.frombuffer(RAW, dtype=np.uint8)})
    return content_digest(path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def nothing_but_the_lock(folder):
    return not folder.exists() or set(names(folder)) <= {f".{FILE}.lock"}


def with_remote(source, url=None, known_hash=None, digest=None):
    return Source(PAGE, (Remote(url or source.remotes[0].url, known_hash, "numbers.bin"),), convert, digest)


def unreachable(name):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{closed.getsockname()[1]}/{name}"


def test_a_good_file_lands_once_and_alone(home, source, tmp_path):
    folder = tmp_path / "new" / "cache"
    assert fetch(FILE, folder, source=source, progress=False) == folder / FILE
    assert is_whole(folder / FILE)
    assert fetch(FILE, folder, source=source, progress=False) == folder / FILE
    assert home.gets == {"numbers.bin": 1}
    assert names(folder) == [FILE]


def test_a_file_that_is_there_is_left_alone(home, source, tmp_path):
    (tmp_path / FILE).write_bytes(b"mine")
    fetch(FILE, tmp_path, source=source, progress=False)
    assert (tmp_path / FILE).read_bytes() == b"mine"
    assert not home.gets


def test_a_wrong_checksum_is_refused(home, source, tmp_path):
    wrong = with_remote(source, known_hash="md5:" + 32 * "0")
    with pytest.raises(DataFileError, match="checksum is wrong") as caught:
        fetch(FILE, tmp_path, source=wrong, progress=False)
    for part in (FILE, home.url("numbers.bin"), PAGE, str(tmp_path), 32 * "0"):
        assert part in str(caught.value)
    assert nothing_but_the_lock(tmp_path)


def test_a_wrong_content_is_refused_although_there_is_no_checksum(source, digest, tmp_path):
    fetch(FILE, tmp_path / "right", source=with_remote(source, digest=digest), progress=False)
    with pytest.raises(DataFileError, match="does not hold what it should"):
        fetch(FILE, tmp_path / "wrong", source=with_remote(source, digest="another"), progress=False)
    assert nothing_but_the_lock(tmp_path / "wrong")


def test_a_transfer_that_breaks_once_is_started_again(home, source, tmp_path):
    home.broken_transfers = 1
    assert is_whole(fetch(FILE, tmp_path, source=source, progress=False))
    assert home.gets == {"numbers.bin": 2}
    assert names(tmp_path) == [FILE]


def test_a_transfer_that_always_breaks_is_refused(home, source, tmp_path):
    home.broken_transfers = 1000
    with pytest.raises(DataFileError, match="the transfer broke off"):
        fetch(FILE, tmp_path, source=source, progress=False)
    assert home.gets == {"numbers.bin": 3}
    assert nothing_but_the_lock(tmp_path)


def test_half_a_file_of_unknown_size_and_checksum_is_refused_by_its_content(home, source, digest, tmp_path):
    home.broken_transfers, home.announces_size = 1000, False
    with pytest.raises(DataFileError, match="does not hold what it should"):
        fetch(FILE, tmp_path, source=with_remote(source, digest=digest), progress=False)
    assert nothing_but_the_lock(tmp_path)


def test_without_network_the_message_says_what_to_do(source, tmp_path):
    url = unreachable("numbers.bin")
    with pytest.raises(DataFileError, match="there may be no network") as caught:
        fetch(FILE, tmp_path, source=with_remote(source, url=url), progress=False)
    sentence = str(caught.value)
    assert "no network (Connection refused)." in sentence
    assert f"download by hand {url} into {tmp_path} and load it again." in sentence
    assert PAGE in sentence
    assert sentence.count(url) == 1
    assert nothing_but_the_lock(tmp_path)


def test_all_raw_files_are_named_for_a_download_by_hand(home, source, tmp_path):
    nowhere = unreachable("files/597")
    both = Source(PAGE, (*source.remotes, Remote(nowhere, None, "archive.tar.gz")), convert)
    with pytest.raises(DataFileError) as caught:
        fetch(FILE, tmp_path, source=both, progress=False)
    assert f"by hand {home.url('numbers.bin')}, {nowhere} (as archive.tar.gz) into {tmp_path}" in str(caught.value)
    assert str(caught.value).count(nowhere) == str(caught.value).count(home.address) == 1


def test_a_page_that_is_gone_is_named(home, source, tmp_path):
    with pytest.raises(DataFileError, match="the server refuses it.*404"):
        fetch(FILE, tmp_path, source=with_remote(source, url=home.url("gone")), progress=False)


def test_a_raw_file_that_cannot_be_converted_is_refused(home, source, tmp_path):
    def half_then_fail(raw, target):
        target.write_bytes(b"half")
        raise KeyError("fea")

    broken = Source(PAGE, source.remotes, half_then_fail)
    with pytest.raises(DataFileError, match=r"conversion failed \(KeyError: 'fea'\)"):
        fetch(FILE, tmp_path, source=broken, progress=False)
    assert nothing_but_the_lock(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(source, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DataFileError, match="cannot be written to"):
        fetch(FILE, tmp_path, source=source, progress=False)


def test_a_folder_that_is_a_file_is_named(source, tmp_path):
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(DataFileError, match="cannot be written to"):
        fetch(FILE, tmp_path / "cache", source=source, progress=False)


@pytest.mark.parametrize("file", ["../numbers.npz", "a/numbers.npz", "/numbers.npz", "..", ".", ""])
def test_a_name_that_is_a_path_is_refused(source, tmp_path, file):
    with pytest.raises(DataFileError, match="not a bare file name"):
        fetch(file, tmp_path / "cache", source=source, progress=False)
    assert names(tmp_path) == []


def test_an_unknown_file_is_refused(tmp_path):
    with pytest.raises(DataFileError, match="'minst.npz' is not the file of a data set.*mnist.npz"):
        fetch("minst.npz", tmp_path)


@pytest.mark.parametrize("file", [file for file, source in SOURCES.items() if source.convert is None])
def test_what_cannot_be_downloaded_says_so(tmp_path, file):
    with pytest.raises(DataFileError, match="no automatic download") as caught:
        fetch(file, tmp_path / "cache")
    sentence = str(caught.value)
    assert 0 < sentence.index(SOURCES[file].page) < sentence.index(SOURCES[file].note)
    assert (f"Put {file} into {tmp_path / 'cache'}." in sentence) == SOURCES[file].obtainable
    assert names(tmp_path) == []


@pytest.mark.parametrize("file", ["channel.npz", "channel_drift.npz"])
def test_what_is_published_nowhere_says_what_there_is_instead(tmp_path, file):
    with pytest.raises(DataFileError, match=r'read_quadriga, or simulate with .*"mvlvm\[channel\]"') as caught:
        fetch(file, tmp_path)
    assert "put" not in str(caught.value).lower()


def put_by_hand(tmp_path, content=RAW):
    (tmp_path / "numbers.bin").write_bytes(content)


@pytest.mark.parametrize("has_checksum", [True, False])
def test_raw_files_put_there_by_hand_take_the_place_of_a_download(home, source, digest, tmp_path, has_checksum):
    put_by_hand(tmp_path)
    known_hash = source.remotes[0].known_hash if has_checksum else None
    given = with_remote(source, known_hash=known_hash, digest=digest)
    assert is_whole(fetch(FILE, tmp_path, source=given, progress=False))
    assert not home.gets
    assert names(tmp_path) == ["numbers.bin", FILE]
    assert (tmp_path / "numbers.bin").read_bytes() == RAW


def test_another_file_under_that_name_is_not_used_and_left_alone(home, source, tmp_path):
    put_by_hand(tmp_path, b"something else")
    assert is_whole(fetch(FILE, tmp_path, source=source, progress=False))
    assert home.gets == {"numbers.bin": 1}
    assert (tmp_path / "numbers.bin").read_bytes() == b"something else"
    (tmp_path / FILE).unlink()
    home.files.clear()
    with pytest.raises(DataFileError, match="numbers.bin was not used, because its checksum is wrong"):
        fetch(FILE, tmp_path, source=source, progress=False)


def test_what_is_made_from_a_wrong_file_put_there_by_hand_is_refused(home, source, digest, tmp_path):
    put_by_hand(tmp_path, b"something else")
    with pytest.raises(DataFileError, match="not hold what it should.*made from numbers.bin in .*; move that away"):
        fetch(FILE, tmp_path, source=with_remote(source, digest=digest), progress=False)
    assert not (tmp_path / FILE).exists()


def test_a_folder_in_the_place_of_the_file_is_named(source, tmp_path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(DataFileError, match="numbers.npz is a folder, but must be a file"):
        fetch(FILE, tmp_path, source=source, progress=False)


def test_a_missing_reader_is_noticed_before_anything_is_downloaded(home, source, tmp_path):
    unreadable = Source(PAGE, source.remotes, convert, reader=("no_such_reader", "r"))
    with pytest.raises(DataFileError, match=r'read with no_such_reader.*pip install "mvlvm\[r\]"'):
        fetch(FILE, tmp_path, source=unreadable, progress=False)
    assert not home.gets


def test_files_of_r_have_their_reader_and_say_it_once():
    of_r = [source for source in SOURCES.values() if source.reader]
    assert len(of_r) == 3
    assert all(remote.name.endswith(".rda") for source in of_r for remote in source.remotes)
    assert not any("rdata" in source.note for source in of_r)


PROCESS = """
import sys
from pathlib import Path
import numpy as np
import signal
from mvlvm.datasets.arrays import write_arrays
from mvlvm.datasets.download import fetch
from mvlvm.datasets.sources import Remote, Source

def convert(raw, target):
    write_arrays(target, {"X": np.frombuffer(raw["numbers.bin"].read_bytes(), dtype=np.uint8)})

folder, url, known_hash = sys.argv[1:]
source = Source("https://example.org/numbers", (Remote(url, known_hash, "numbers.bin"),), convert)
assert "pooch" not in sys.modules and "requests" not in sys.modules, "imported although nothing is fetched"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite that runs in the background ignores interrupts
print("ready", flush=True)
print(fetch("numbers.npz", Path(folder), source=source, progress=False), flush=True)
"""


def start_process(home, folder):
    arguments = [str(folder), home.url("numbers.bin"), home.sha256("numbers.bin")]
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def test_two_processes_at_once_download_once(home, tmp_path):
    home.may_go_on.clear()  # the download cannot end before both are on their way
    processes = [start_process(home, tmp_path) for _ in range(2)]
    assert home.half_sent.wait(timeout=60)
    home.may_go_on.set()
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert output == f"{tmp_path / FILE}\n"
    assert home.gets == {"numbers.bin": 1}
    assert is_whole(tmp_path / FILE)
    assert names(tmp_path) == [FILE]


def test_two_threads_at_once_download_once(home, source, tmp_path):
    threads = [
        threading.Thread(target=fetch, args=(FILE, tmp_path), kwargs={"source": source, "progress": False})
        for _ in range(4)
    ]
    home.may_go_on.clear()
    for thread in threads:
        thread.start()
    assert home.half_sent.wait(timeout=60)
    home.may_go_on.set()
    for thread in threads:
        thread.join(timeout=60)
    assert home.gets == {"numbers.bin": 1}
    assert is_whole(tmp_path / FILE)


@pytest.mark.parametrize(("sign", "leaves_something"), [(signal.SIGKILL, True), (signal.SIGINT, False)])
def test_an_interrupted_process_leaves_no_file_and_the_next_one_cleans_up(
    home, source, tmp_path, sign, leaves_something
):
    home.may_go_on.clear()
    process = start_process(home, tmp_path)
    assert home.half_sent.wait(timeout=60)
    process.send_signal(sign)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not (tmp_path / FILE).exists()
    assert any(name.endswith(".part") for name in names(tmp_path)) == leaves_something
    home.may_go_on.set()
    assert is_whole(fetch(FILE, tmp_path, source=source, progress=False))
    assert names(tmp_path) == [FILE]


def test_no_name_from_outside_becomes_a_path(home, tmp_path):
    X = np.zeros((6, 32, 32, 3), dtype=np.uint8)
    evil = {"../../escaped.txt": b"evil", "/tmp/escaped.txt": b"evil"}
    members = cifar_members(X, np.arange(6), folder="../../cifar") | evil
    home.files["archive"] = tar_gz(members)
    posts = {
        f"../../20news-bydate-{split}/{group}/{number}": b"Hello"
        for split in ("train", "test")
        for number, group in enumerate(raw_text.NEWSGROUPS)
    }
    home.files["posts"] = tar_gz(posts | evil)
    cache = tmp_path / "deep" / "down" / "cache"
    cifar = Remote(home.url("archive"), None, "cifar-10-binary.tar.gz")
    twisted = Remote(home.url("archive"), None, "../twisted")
    fetch("c.npz", cache, source=Source(PAGE, (twisted, cifar), raw_images.cifar10), progress=False)
    newsgroups = Remote(home.url("posts"), None, "20news-bydate.tar.gz")
    fetch("n.jsonl.gz", cache, source=Source(PAGE, (newsgroups,), raw_text.newsgroups3), progress=False)
    assert sorted(files_under(tmp_path)) == ["deep/down/cache/c.npz", "deep/down/cache/n.jsonl.gz"]


def test_the_bar_shows_name_and_size(home, source, tmp_path, capsys):
    home.broken_transfers = 1
    fetch(FILE, tmp_path, source=source)
    shown = capsys.readouterr()
    assert "numbers.bin" in shown.err
    assert "300.0/300.0 kB" in shown.err
    assert "pooch" not in shown.err.lower()
    assert "Downloading" not in shown.err
    assert shown.out == ""


def test_a_bar_starts_anew_with_a_second_attempt():
    with download_bars() as bars:
        bar = DownloadBar(bars, "numbers.bin")
        bar.total = 0  # the server did not say
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
