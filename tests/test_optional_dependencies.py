"""Import of optional dependencies."""

import sys
import warnings

import pytest

from mvlvm.optional_dependencies import require


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the name of a package that disables warnings on import and has one module."""
    folder = tmp_path / "quiet_package"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("import warnings\nwarnings.filterwarnings('ignore')\n")
    folder.joinpath("inside.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "quiet_package"
    for name in ("quiet_package", "quiet_package.inside"):
        sys.modules.pop(name, None)


def test_importing_a_package_that_disables_warnings_keeps_the_filters(package):
    before = list(warnings.filters)
    assert require(package, "A test").__name__ == package
    assert warnings.filters == before


def test_a_submodule_can_be_required(package):
    assert require(f"{package}.inside", "A test").answer == 42


def test_a_missing_package_is_named_without_its_submodule():
    with pytest.raises(ModuleNotFoundError, match=r'A test needs no_such_package,.*pip install "mvlvm\[files\]"'):
        require("no_such_package.inside", "A test")


def test_a_missing_dependency_of_a_package_is_reported_by_its_own_name(package, tmp_path):
    tmp_path.joinpath(package, "inside.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        require(f"{package}.inside", "A test")
