"""Atomic replacement of files: concurrent writers, killed writers, symbolic links, permissions."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

import mvlvm.io.atomic
from mvlvm.io.atomic import folder_atomically, move_atomically, open_atomically, path_atomically, write_atomically

CONTENTS = [bytes([letter]) * 300_000 for letter in b"abcdefgh"]
PART = ".model.{}.part"
_WRITER = """
import sys
from runpy import run_path  # without the import of the package, which takes seconds
write_atomically = run_path(sys.argv[3])["write_atomically"]
number = 0
while number < int(sys.argv[2]):
    write_atomically(sys.argv[1], bytes([97 + number % 8]) * 300_000)
    number += 1
    if number == 1:
        print("started", flush=True)
"""


def start_writer(target, times, *prefix):
    command = [*prefix, sys.executable, "-c", _WRITER, str(target), str(times), mvlvm.io.atomic.__file__]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def supports_namespaces():
    command = ["unshare", "--pid", "--fork", "true"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def target(tmp_path):
    return tmp_path / "model"


def test_files_are_created_and_replaced(target):
    for content in (b"first", b"", b"second"):
        write_atomically(target, content)
        assert target.read_bytes() == content
    with open_atomically(target) as file:
        file.write(b"thi")
        file.write(b"rd")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"third"
    with path_atomically(str(target)) as part:
        part.write_bytes(b"fourth")
    assert target.read_bytes() == b"fourth"
    assert names(target.parent) == ["model"]


def test_a_block_may_close_the_file(target):
    with open_atomically(target) as file:
        file.write(b"content")
        file.close()
    assert target.read_bytes() == b"content"


def test_a_complete_file_is_moved(target):
    source = target.with_name("complete")
    source.write_bytes(b"content")
    move_atomically(source, target)
    assert target.read_bytes() == b"content"
    assert names(target.parent) == ["model"]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_and_nothing_else(target, failure):
    target.write_bytes(b"old")
    for open_target in (open_atomically, path_atomically):
        with pytest.raises(type(failure)), open_target(target):
            raise failure
        assert target.read_bytes() == b"old"
        assert names(target.parent) == ["model"]


def test_an_error_in_flushing_is_reported_and_leaves_the_old_file(target, monkeypatch):
    target.write_bytes(b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["model"]


def test_file_and_folder_are_flushed_before_and_after_the_replacement(target, monkeypatch):
    events = []
    flush, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: events.append(stat.S_ISDIR(os.fstat(fd).st_mode)) or flush(fd))
    monkeypatch.setattr(os, "replace", lambda *paths: events.append("replace") or replace(*paths))
    write_atomically(target, b"content")
    assert events == [False, "replace", True]


def test_files_are_written_without_locks(target, monkeypatch):
    monkeypatch.setattr(mvlvm.io.atomic, "fcntl", None)  # Windows
    abandoned = target.with_name(PART.format("0123456789abcdef"))
    abandoned.write_bytes(b"partial")
    os.utime(abandoned, (0, time.time() - 48 * 3600))
    for content in (b"first", b"second"):
        write_atomically(target, content)
        assert target.read_bytes() == content
    assert names(target.parent) == ["model"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_permissions_of_an_existing_file_are_preserved(target, mode):
    target.write_bytes(b"old")
    target.chmod(mode)
    modes = []
    with open_atomically(target) as file:
        file.write(b"new")
        (part,) = (path for path in target.parent.iterdir() if path != target)
        modes.append(stat.S_IMODE(part.stat().st_mode))
    assert modes == [0o600]
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_the_umask(target):
    before = os.umask(0o027)
    try:
        write_atomically(target, b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_symbolic_link_to_the_target_remains_a_link(target):
    link = target.with_name("link")
    link.symlink_to(target)
    target.write_bytes(b"old")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_planted_symbolic_links_are_not_followed(target, monkeypatch):
    victim = target.with_name("victim")
    victim.write_bytes(b"precious")
    tokens = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(mvlvm.io.atomic.secrets, "token_hex", lambda n: next(tokens))
    planted = target.with_name(PART.format("0" * 16))
    planted.symlink_to(victim)
    write_atomically(target, b"content")
    assert victim.read_bytes() == b"precious"
    assert target.read_bytes() == b"content"
    assert planted.is_symlink()


@pytest.mark.parametrize("kind", ["folder", "fifo", "missing folder"])
def test_targets_that_cannot_be_replaced_are_rejected(tmp_path, kind):
    target = tmp_path / "target"
    match kind:
        case "folder":
            target.mkdir()
        case "fifo":
            os.mkfifo(target)
        case _:
            target = tmp_path / "missing" / "target"
    expected = {"folder": "must be a file", "fifo": "not a regular file", "missing folder": "no folder .*missing"}
    with pytest.raises(OSError, match=expected[kind]):
        write_atomically(target, b"content")
    assert names(tmp_path) == ([] if kind == "missing folder" else ["target"])


def test_a_folder_that_disappears_is_reported_with_the_target(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setattr(mvlvm.io.atomic, "_remove_abandoned_parts", lambda target: folder.rmdir())
    with pytest.raises(FileNotFoundError, match="folder/target'$"):
        write_atomically(folder / "target", b"content")


def test_long_names_are_supported(tmp_path):
    for name in ("x" * 255, "ü" * 127):
        write_atomically(tmp_path / name, b"content")
        assert (tmp_path / name).read_bytes() == b"content"


def test_the_next_write_removes_parts_of_killed_writers_and_no_others(target):
    kept = {
        "a part of another file": target.with_name(".model2.0123456789abcdef.part"),
        "a file with a similar name": target.with_name(PART.format("backup")),
        "a user's file": target.with_name("model.part"),
    }
    abandoned = target.with_name(PART.format("0123456789abcdef"))
    for path in (*kept.values(), abandoned):
        path.write_bytes(b"partial")
    with open_atomically(target) as running:
        running.write(b"run")
        (live,) = set(target.parent.glob(".model.*.part")) - {*kept.values(), abandoned}
        write_atomically(target, b"other")
        assert live.exists()
        running.write(b"ning")
    assert target.read_bytes() == b"running"
    assert names(target.parent) == sorted(["model", *(path.name for path in kept.values())])


def test_a_library_may_lock_or_replace_the_file_that_it_writes(target):
    h5py = pytest.importorskip("h5py")
    with path_atomically(target) as path:
        with h5py.File(path, "w") as file:  # HDF5 locks it
            file["x"] = 1
        path.rename(path.with_suffix(".other"))
        path.with_suffix(".other").rename(path)
        write_atomically(target, b"other")
        assert path.exists()
    assert target.read_bytes().startswith(b"\x89HDF")
    assert names(target.parent) == ["model"]


def test_abandoned_folders_are_removed(target):
    abandoned = target.with_name(PART.format("0123456789abcdef"))
    abandoned.mkdir()
    (abandoned / "model").write_bytes(b"partial")
    write_atomically(target, b"content")
    assert names(target.parent) == ["model"]


def test_a_block_that_writes_no_file_is_an_error(target):
    target.write_bytes(b"old")
    with pytest.raises(FileNotFoundError), path_atomically(target):
        pass
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["model"]


def test_parts_are_removed_by_age_where_locks_are_not_available(target, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(mvlvm.io.atomic.fcntl, "flock", refuse)
    recent, old = (target.with_name(PART.format(digit * 16)) for digit in "01")
    for path in (recent, old):
        path.write_bytes(b"partial")
    os.utime(old, (0, time.time() - 48 * 3600))
    write_atomically(target, b"content")
    assert names(target.parent) == [recent.name, "model"]


def test_a_part_that_was_removed_before_it_was_locked_is_created_again(target, monkeypatch):
    lock, first = mvlvm.io.atomic.fcntl.flock, []

    def remove_then_lock(descriptor, operation):
        if not first:
            first.extend(target.parent.glob(".model.*.part"))
            first[0].unlink()
        lock(descriptor, operation)

    monkeypatch.setattr(mvlvm.io.atomic.fcntl, "flock", remove_then_lock)
    write_atomically(target, b"content")
    assert target.read_bytes() == b"content"
    assert names(target.parent) == ["model"]


def test_threads_never_leave_a_mixture(target):
    write_atomically(target, CONTENTS[0])
    errors = []

    def write_all():
        try:
            for content in CONTENTS * 7:
                write_atomically(target, content)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert target.read_bytes() in CONTENTS
    assert errors == []
    assert names(target.parent) == ["model"]


@pytest.mark.skipif(not supports_namespaces(), reason="needs the right to create PID namespaces")
def test_processes_with_the_same_process_id_never_leave_a_mixture(target):
    writers = [start_writer(target, 50, "unshare", "--pid", "--fork") for _ in range(2)]
    for writer in writers:
        assert writer.stdout.readline() == b"started\n"
    while any(writer.poll() is None for writer in writers):
        assert target.read_bytes() in CONTENTS
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert names(target.parent) == ["model"]


@pytest.mark.parametrize("n_kills", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_writers_leave_a_whole_file_and_parts_that_the_next_write_removes(target, n_kills):
    n_parts = 0
    for number in range(n_kills):
        writer = start_writer(target, 10**9)
        assert writer.stdout.readline() == b"started\n"
        time.sleep(0.002 * (number % 10))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        n_parts += len(names(target.parent)) - 1
        assert target.read_bytes() in CONTENTS
        assert len(names(target.parent)) <= 2
    assert n_parts > 0
    write_atomically(target, CONTENTS[0])
    assert names(target.parent) == ["model"]


def write_folder(path, content):
    with folder_atomically(path) as folder:
        (folder / "a").write_text(content)
        (folder / "b").mkdir()


def test_folders_are_created_and_replaced(tmp_path):
    for content in ("old", "new"):
        write_folder(tmp_path / "out", content)
        assert (tmp_path / "out" / "a").read_text() == content
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(FileNotFoundError):
        write_folder(tmp_path / "missing" / "out", "new")


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path, failure):
    write_folder(tmp_path / "out", "old")

    def fail():
        with folder_atomically(tmp_path / "out") as folder:
            (folder / "a").write_text("new")
            raise failure

    with pytest.raises(failure):
        fail()
    assert (tmp_path / "out" / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_between_the_two_renames_restores_the_old_folder(tmp_path, monkeypatch):
    write_folder(tmp_path / "out", "old")
    rename = os.rename

    def fail_for_new(source, target):
        if os.path.basename(source) == "new":
            raise OSError("No space left on device")
        rename(source, target)

    monkeypatch.setattr(mvlvm.io.atomic.os, "rename", fail_for_new)
    with pytest.raises(OSError, match="No space"):
        write_folder(tmp_path / "out", "new")
    assert (tmp_path / "out" / "a").read_text() == "old"


def test_a_folder_of_a_writer_killed_between_the_renames_is_restored_by_the_next_one(tmp_path):
    write_folder(tmp_path / "out", "old")
    part = tmp_path / f"{mvlvm.io.atomic._part_prefix(tmp_path / 'out')}0123456789abcdef.part"
    part.mkdir()
    (tmp_path / "out").rename(part / "replaced")
    with folder_atomically(tmp_path / "out") as folder:
        assert (tmp_path / "out" / "a").read_text() == "old"
        (folder / "a").write_text("new")
    assert (tmp_path / "out" / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
