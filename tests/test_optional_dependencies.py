"""Packages that are not always there."""

import sys
import warnings

import pytest

from mvlvm.optional_dependencies import require


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Give the name of a package that silences everybody when it is imported, and has one module."""
    home = tmp_path / "quiet_package"
    home.mkdir()
    home.joinpath("__init__.py").write_text("import warnings\nwarnings.filterwarnings('ignore')\n")
    home.joinpath("inside.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "quiet_package"
    for name in ("quiet_package", "quiet_package.inside"):
        sys.modules.pop(name, None)


def test_a_package_that_silences_warnings_silences_nobody(package):
    before = list(warnings.filters)
    assert require(package, "A test").__name__ == package
    assert warnings.filters == before


def test_a_module_of_a_package_is_given(package):
    assert require(f"{package}.inside", "A test").answer == 42


def test_a_missing_package_is_named_without_its_modules():
    with pytest.raises(ModuleNotFoundError, match=r'A test needs no_such_package,.*pip install "mvlvm\[files\]"'):
        require("no_such_package.inside", "A test")


def test_what_a_package_lacks_itself_is_not_blamed_on_it(package, tmp_path):
    tmp_path.joinpath(package, "inside.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        require(f"{package}.inside", "A test")
