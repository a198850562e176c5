"""Fixtures for the tests of data sets."""

import pytest


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return the paths of data_home ("home"), $MVLVM_DATA ("environment") and the cache; none exists yet."""
    paths = {name: tmp_path / name for name in ("home", "environment", "cache")}
    monkeypatch.setenv("MVLVM_DATA", str(paths["environment"]))
    monkeypatch.setattr("mvlvm.datasets.cache.cache_folder", lambda: paths["cache"])
    return paths
