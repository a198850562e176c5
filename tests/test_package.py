import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import mvlvm

ROOT = Path(__file__).parents[1]


def test_importing_the_package_makes_its_subpackages_available():
    code = (
        "import mvlvm\n"
        "mvlvm.datasets.load('digits-halves'), mvlvm.views.read, mvlvm.evaluation.affine_r2, mvlvm.plots.write\n"
        "assert 'datasets' in dir(mvlvm)\n"
        "try:\n"
        "    mvlvm.nothing\n"
        "except AttributeError as error:\n"
        "    assert str(error) == \"module 'mvlvm' has no attribute 'nothing'\"\n"
        "else:\n"
        "    raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version_is_that_of_the_installed_distribution():
    assert mvlvm.__version__ == metadata.version("mvlvm")


def test_version_of_a_source_tree_that_is_not_installed_is_unknown():
    code = (
        "from importlib import metadata\n"
        "find = metadata.version\n"
        "def version(name):\n"
        "    if name == 'mvlvm':\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return find(name)\n"
        "metadata.version = version\n"
        "import mvlvm\n"
        "assert mvlvm.__version__ == '0+unknown'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version_is_derived_from_git_and_has_a_fallback_for_archives():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "hatch-vcs" in project["build-system"]["requires"]
    assert project["tool"]["hatch"]["version"]["source"] == "vcs"
    assert project["tool"]["hatch"]["version"]["fallback-version"]
    assert ".git_archival.txt export-subst" in (ROOT / ".gitattributes").read_text()
