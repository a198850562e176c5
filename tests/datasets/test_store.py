"""Where files are looked for, and what is said where they cannot be."""

import os

import numpy as np
import pytest

from mvlvm.datasets import load
from mvlvm.datasets.store import FileStore
from mvlvm.errors import DataFileError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("MVLVM_DATA", raising=False)
    monkeypatch.setattr("mvlvm.datasets.store.cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_the_home_of_nobody_is_one_sentence_for_both_ways_to_name_a_folder(cache, monkeypatch):
    with pytest.raises(DataFileError, match="data_home must be the path of a folder. Got ~nosuch/data: there is no"):
        load("mnist", data_home="~nosuch/data")
    monkeypatch.setenv("MVLVM_DATA", "~nosuch")
    with pytest.raises(
        DataFileError, match="MVLVM_DATA must be the path of a folder. Got ~nosuch: there is no such user"
    ):
        load("mnist")


def test_the_users_home_is_expanded_for_the_store_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert FileStore.at("~/data").download_folder() == tmp_path / "data"
    assert FileStore.at(tmp_path).download_folder() == tmp_path
    assert FileStore.at(None) == FileStore()


def test_a_name_that_is_too_long_is_one_sentence(cache):
    with pytest.raises(DataFileError, match="mnist.npz cannot be looked for: File name too long. Check the name"):
        load("mnist", data_home="x" * 300)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may look anywhere")
def test_a_folder_that_may_not_be_looked_into_is_one_sentence(cache, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    with pytest.raises(DataFileError, match="mnist.npz cannot be looked for: Permission denied"):
        load("mnist", data_home=closed)


def test_a_file_that_is_nowhere_is_said_to_have_been_looked_for(cache, tmp_path, monkeypatch):
    home, named = tmp_path / "home", tmp_path / "named"
    with pytest.raises(DataFileError, match=rf"looked for in {home}, {cache}; MVLVM_DATA is not set.$"):
        load("cll", data_home=home)
    monkeypatch.setenv("MVLVM_DATA", str(named))
    with pytest.raises(DataFileError, match=rf"looked for in {named}, {cache}; MVLVM_DATA names one of these.$"):
        load("cll")


def test_a_store_knows_what_was_opened_once(cache, tmp_path):
    store = FileStore(tmp_path)
    np.savez(tmp_path / "bridges.npz", a=1, b=2)
    for name in ("a", "b"):
        store.arrays("bridges.npz", name)
    assert store.opened == [tmp_path / "bridges.npz"]
