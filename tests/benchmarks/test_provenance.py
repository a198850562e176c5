"""The machine, the device and the code of a record."""

import subprocess

import pytest
import torch

import mvlvm
from benchmarks import provenance
from benchmarks.cells import Code
from benchmarks.provenance import choose_device, current_code, describe_machine


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of a package in a new repository with one commit."""
    folder = tmp_path / "src" / "mvlvm"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (tmp_path / "README.md").write_text("")
    monkeypatch.setattr(provenance, "PACKAGE", folder)
    provenance._current_code.cache_clear()
    yield folder
    provenance._current_code.cache_clear()


def git(folder, *words):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(package):
    root = package.parents[1]
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "a commit")
    return git(root, "rev-parse", "HEAD")


def test_code_is_the_commit(package):
    name = commit(package)
    assert current_code() == Code(name, dirty=False)


@pytest.mark.parametrize(
    ("path", "dirty"), [("src/mvlvm/__init__.py", True), ("src/mvlvm/new.py", True), ("README.md", False)]
)
def test_only_changes_of_the_package_make_it_dirty(package, path, dirty):
    name = commit(package)
    (package.parents[1] / path).write_text("x = 1\n")
    assert current_code() == Code(name, dirty=dirty)


def test_outside_a_repository_code_is_the_version(package):
    assert current_code() == Code(mvlvm.__version__)


def test_an_installed_package_inside_another_repository_is_not_its_commit(package):
    root = package.parents[1]
    git(root, "init", "-q")
    git(root, "add", "README.md")
    git(root, "commit", "-q", "-m", "a commit")
    assert current_code() == Code(mvlvm.__version__)


def test_machine_names_processor_cores_and_versions():
    text = describe_machine("cpu")
    assert f"{torch.get_num_threads()} of" in text or "cores" in text
    assert torch.__version__.split("+")[0] in text
    assert "Python 3." in text


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_reported():
    assert choose_device("auto") == "cpu"
    with pytest.raises(ValueError, match="none was found. Use 'cpu' or 'auto'"):
        choose_device("cuda")
    with pytest.raises(ValueError, match="must be 'auto', 'cpu' or 'cuda'. Got 'tpu'"):
        choose_device("tpu")
