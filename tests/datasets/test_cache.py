"""Search path of the file cache, and messages for folders that cannot be searched."""

import os
import zipfile

import numpy as np
import pytest

from mvlvm.datasets import load
from mvlvm.datasets.cache import FileCache
from mvlvm.errors import DataFileError
from tests.datasets.raw_files import write_mnist
from tests.io.test_hostile_files import npy_header


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("MVLVM_DATA", raising=False)
    monkeypatch.setattr("mvlvm.datasets.cache.cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_unknown_user_is_reported_for_data_home_and_environment_variable(cache, monkeypatch):
    with pytest.raises(
        DataFileError, match="data_home must be the path of a folder. Got ~nosuch/data: this user does not exist"
    ):
        load("mnist", data_home="~nosuch/data")
    monkeypatch.setenv("MVLVM_DATA", "~nosuch")
    with pytest.raises(
        DataFileError, match="MVLVM_DATA must be the path of a folder. Got ~nosuch: this user does not exist"
    ):
        load("mnist")


def test_tilde_is_expanded_by_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert FileCache.at("~/data").download_folder() == tmp_path / "data"
    assert FileCache.at(tmp_path).download_folder() == tmp_path
    assert FileCache.at(None) == FileCache()


def test_too_long_folder_name_is_reported(cache):
    with pytest.raises(DataFileError, match="mnist.npz cannot be accessed: File name too long. Check the folder name"):
        load("mnist", data_home="x" * 300)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can read any folder")
def test_unreadable_folder_is_reported(cache, tmp_path):
    unreadable = tmp_path / "unreadable"
    unreadable.mkdir(mode=0o000)
    with pytest.raises(DataFileError, match="mnist.npz cannot be accessed: Permission denied"):
        load("mnist", data_home=unreadable)


def test_message_for_a_file_not_found_lists_the_folders_searched(cache, tmp_path, monkeypatch):
    home, named = tmp_path / "home", tmp_path / "named"
    with pytest.raises(DataFileError, match=rf"Folders searched: {home}, {cache}; MVLVM_DATA is not set.$"):
        load("cll", data_home=home)
    monkeypatch.setenv("MVLVM_DATA", str(named))
    with pytest.raises(DataFileError, match=rf"Folders searched: {named}, {cache}; MVLVM_DATA is one of these.$"):
        load("cll")


def test_an_array_that_does_not_fit_into_memory_is_reported(cache, tmp_path, monkeypatch):
    np.savez(tmp_path / "bridges.npz", a=np.zeros(1000))
    monkeypatch.setattr("mvlvm.datasets.cache.available_memory", lambda: 7999.0)
    with pytest.raises(
        DataFileError, match="bridges.npz is damaged or .*declares 7.8 KiB of data, more than the availab"
    ):
        FileCache(tmp_path).arrays("bridges.npz", "a")


def test_an_array_that_is_shorter_than_it_declares_is_reported(cache, tmp_path):
    with zipfile.ZipFile(tmp_path / "bridges.npz", "w") as archive:
        archive.writestr("a.npy", npy_header((2**20, 2**20)) + bytes(64))
    with pytest.raises(
        DataFileError, match=r"bridges.npz is damaged .*declares an array of shape \(1048576, 1048576\)"
    ):
        FileCache(tmp_path).arrays("bridges.npz", "a")


def test_opened_files_are_recorded_once(cache, tmp_path):
    files = FileCache(tmp_path)
    np.savez(tmp_path / "bridges.npz", a=1, b=2)
    for name in ("a", "b"):
        files.arrays("bridges.npz", name)
    assert files.opened == [tmp_path / "bridges.npz"]


def test_folders_are_searched_in_the_documented_order(folders):
    contents = {name: write_mnist(folder, seed=i) for i, (name, folder) in enumerate(folders.items())}
    for name in folders:
        found = load("mnist", data_home=folders["home"])["image"]
        np.testing.assert_array_equal(found, contents[name].reshape(40, -1))
        (folders[name] / "mnist.npz").unlink()


def test_nothing_is_written_if_the_file_is_found(folders):
    write_mnist(folders["environment"])
    load("mnist", data_home=folders["home"])
    assert not folders["home"].exists()
    assert not folders["cache"].exists()


@pytest.mark.parametrize(
    "corrupt",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-200]),
        lambda path: path.write_bytes(b"not an archive"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:3000] + b"\0" * 200 + path.read_bytes()[3200:]),
        lambda path: np.savez(path, X=np.array([{"a": 1}], dtype=object), y=np.zeros(1), n_train=0),
        lambda path: np.savez(path, images=np.zeros((4, 28, 28))),
        lambda path: np.savez(path, X=np.zeros((4, 28, 28), np.uint8), y=np.zeros(3, np.uint8), n_train=2),
    ],
    ids=["truncated", "other content", "empty", "altered", "pickled", "other arrays", "lengths"],
)
@pytest.mark.usefixtures("no_type_checks")
def test_damaged_file_is_rejected_by_name_and_not_modified(folders, corrupt):
    write_mnist(folders["home"])
    path = folders["home"] / "mnist.npz"
    corrupt(path)
    before = path.read_bytes()
    with pytest.raises(DataFileError, match="mnist.npz"):
        load("mnist", data_home=folders["home"])
    assert path.read_bytes() == before
    assert [file.name for file in folders["home"].iterdir()] == ["mnist.npz"]


def test_tilde_in_data_home_is_expanded(folders, monkeypatch):
    monkeypatch.setenv("HOME", str(folders["home"].parent))
    write_mnist(folders["home"])
    assert load("mnist", data_home="~/home")["image"].shape == (40, 784)


def test_downloads_are_saved_in_data_home_or_the_cache(folders):
    assert FileCache(folders["home"]).download_folder() == folders["home"]
    assert FileCache().download_folder() == folders["cache"]
