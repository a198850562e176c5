"""Pages are compared with the cells line by line, and stale pages are found by the packages a study imports."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import verification
from benchmarks.cells import DONE, Cell, Code, Record
from benchmarks.store import Store
from benchmarks.study import RenderedPage
from benchmarks.verification import imported_packages, page_differences, stale_pages
from tests.benchmarks.stub_study import make_study

PAGE = RenderedPage("# Title\n\n| a | 1.0 |\n", {"table.csv": "a,1.0\n"}, {"stub-bars": lambda: None})


def write(folder, text=PAGE.text, table=PAGE.tables["table.csv"], figure=True):
    (folder / "stub.md").write_text(text)
    (folder / "table.csv").write_text(table)
    for suffix in (".png", ".svg") if figure is True else figure:
        (folder / f"stub-bars{suffix}").write_bytes(b"")


def differences(folder):
    return page_differences({Path("stub.md"): PAGE}, folder)


def test_a_page_that_follows_from_the_cells_has_no_differences(tmp_path):
    write(tmp_path)
    assert differences(tmp_path) == []


@pytest.mark.parametrize(("change", "message"), [
    ({"text": "# Title\n\n| a | 1.1 |\n"}, "stub.md:3: the page has '| a | 1.1 |', but the cells give '| a | 1.0 |'"),
    ({"table": "a,2.0\n"}, "table.csv:1: the page has 'a,2.0'"),
    ({"text": PAGE.text + "more\n"}, "the page has 4 lines, but the cells give 3"),
    ({"figure": [".svg"]}, "stub-bars.png: missing"),
    ({"figure": [".png"]}, "stub-bars.svg: missing"),
    ({"figure": [".png", ".svg", ".pdf"]}, "stub-bars.pdf: no study writes this file"),
])  # fmt: skip
def test_any_difference_is_reported(tmp_path, change, message):
    write(tmp_path, **change)
    (found,) = differences(tmp_path)
    assert message in found


def test_a_missing_page_is_reported(tmp_path):
    assert f"{tmp_path / 'stub.md'}: missing" in differences(tmp_path)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a small repository with packages a and b and a study that imports a, which imports b."""
    package = tmp_path / "src" / "mvlvm"
    sources = {
        "a/__init__.py": "def f():\n    from mvlvm.b import thing\n", "b/__init__.py": "thing = 1\n",
        "c/__init__.py": "", "plots/__init__.py": "", "one.py": "",
        "../../benchmarks/task.py": "from mvlvm import one\nfrom benchmarks import helper\nfrom mvlvm import plots\n",
        "../../benchmarks/helper.py": "import mvlvm.a\n",
    }  # fmt: skip
    for name, text in sources.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    monkeypatch.setattr(verification, "PACKAGE", package)
    monkeypatch.setattr(verification, "_BENCHMARKS", tmp_path / "benchmarks")
    monkeypatch.setattr(verification, "repository", lambda: tmp_path)
    for function in (verification._closure, verification._imported_by_package, verification._changed_paths):
        function.cache_clear()
    yield tmp_path
    for function in (verification._closure, verification._imported_by_package, verification._changed_paths):
        function.cache_clear()


def git(folder, *words):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a commit")
    return git(folder, "rev-parse", "HEAD")


def stub_of(repository, commits, dirty=False):
    def measure(cell):
        raise NotImplementedError

    measure.__module__ = "benchmarks.task"
    study = make_study(["good"], n_seeds=9)
    store = Store(repository / "results")
    for seed, name in enumerate(commits):
        cell = Cell(study="stub", method="good", data="A", seed=seed)
        store.append(
            Record(cell=cell, status=DONE, seconds=1.0, machine="m", code=Code(name, dirty), metrics={"x": 1.0})
        )
    return type(study)(**{**vars(study), "measure": measure}), store


def test_packages_are_followed_through_studies_and_other_packages(repository):
    study, _ = stub_of(repository, [])
    assert imported_packages(study) == ["a", "b", "one"]


def test_names_of_the_public_interface_are_followed(repository):
    package = repository / "src" / "mvlvm"
    (package / "__init__.py").write_text("from mvlvm.c import Estimator\n")
    (repository / "benchmarks" / "helper.py").write_text("from mvlvm import Estimator\n")
    study, _ = stub_of(repository, [])
    assert imported_packages(study) == ["c", "one"]


def test_a_page_is_stale_if_an_imported_package_has_changed(repository):
    old = git(repository, "rev-parse", "HEAD")
    (repository / "src/mvlvm/b/__init__.py").write_text("thing = 2\n")
    new = commit(repository)
    study, store = stub_of(repository, [old, new, new])
    (found,) = stale_pages([study], store)
    assert (found.n_cells, found.n_all, found.packages) == (1, 3, ["b"])


@pytest.mark.parametrize("path", ["c/__init__.py", "plots/__init__.py", "../../benchmarks/task.py"])
def test_a_page_is_not_stale_if_something_else_has_changed(repository, path):
    old = git(repository, "rev-parse", "HEAD")
    with (repository / "src/mvlvm" / path).open("a") as file:
        file.write("\nx = 1\n")
    study, store = stub_of(repository, [old])
    assert stale_pages([study], store) == []


def test_uncommitted_changes_and_unknown_commits_count(repository):
    old = git(repository, "rev-parse", "HEAD")
    study, store = stub_of(repository, ["0.1.0", old])
    (found,) = stale_pages([study], store)
    assert (found.n_cells, found.packages) == (1, ["a", "b", "one"])
    verification._changed_paths.cache_clear()
    (repository / "src/mvlvm/one.py").write_text("x = 2\n")
    (found,) = stale_pages([study], store)
    assert found.n_cells == 2


def test_cells_measured_with_uncommitted_changes_count_as_older(repository):
    study, store = stub_of(repository, [git(repository, "rev-parse", "HEAD")], dirty=True)
    (found,) = stale_pages([study], store)
    assert (found.n_cells, found.packages) == (1, [])


def test_staleness_needs_a_repository(monkeypatch, tmp_path):
    monkeypatch.setattr(verification, "repository", lambda: None)
    with pytest.raises(ValueError, match="not in a git repository"):
        stale_pages([], Store(tmp_path))
