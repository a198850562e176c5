"""The commands `mvlvm studies`: running, resuming, pages, verification and invalid input."""

import dataclasses

import pytest
from typer.testing import CliRunner

from benchmarks import catalogue, verification
from benchmarks.__main__ import app
from benchmarks.cells import Code
from benchmarks.store import Store
from tests.benchmarks.stub_study import make_study


def call(*words):
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return options with the folders of cells and pages, for a catalogue with a single study."""
    monkeypatch.setattr(catalogue, "STUDIES", {"stub": make_study(["good", "raises"], n_seeds=2)})
    return ["--store", tmp_path / "cells", "--out", tmp_path / "pages"]


def test_list_shows_every_study(tmp_path):
    result = call("list", "--store", tmp_path / "nowhere")
    assert result.exit_code == 0
    for name in catalogue.STUDIES:
        assert name in result.output
    assert not (tmp_path / "nowhere").exists()


def test_a_run_reports_failures_writes_the_page_and_resumes(folders, tmp_path):
    first = call("run", "stub", *folders, "--jobs", 1)
    assert first.exit_code == 0, first.output
    assert "4 cells, 0 already finished" in first.output
    assert "raises on A, seed 1: failed. ValueError: the views are wrong" in first.output
    page = (tmp_path / "pages" / "stub.md").read_text()
    assert "2 cells are done." in page
    assert "raises on A, seed 0: failed" in page
    assert "[A stub](stub.md)" in (tmp_path / "pages" / "README.md").read_text()
    again = call("run", "stub", *folders, "--methods", "good")
    assert "2 cells, 2 already finished" in again.output
    assert len(Store(tmp_path / "cells").path("stub").read_text().splitlines()) == 4
    repeated = call("run", "stub", *folders, "--methods", "good", "--seeds", "0", "--again")
    assert "1 cell, 0 already finished" in repeated.output
    assert len(Store(tmp_path / "cells").path("stub").read_text().splitlines()) == 5


def test_quick_cells_and_pages_are_kept_apart(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("run", "stub,stub", "--quick", "--methods", "good", "--jobs", 1)
    assert "1 cell, 0 already finished" in result.output  # a name that is given twice counts once
    assert sorted(path.name for path in tmp_path.iterdir()) == ["quick"]
    assert "A quick run" in (tmp_path / "quick" / "stub.md").read_text()


def test_check_recomputes_the_pages(folders, tmp_path):
    call("run", "stub", *folders, "--methods", "good", "--jobs", 1)
    result = call("check", *folders)
    assert result.exit_code == 0, result.output
    assert "All 2 pages agree" in result.output
    page = tmp_path / "pages" / "stub.md"
    page.write_text(page.read_text().replace("2 cells are done", "3 cells are done"))
    changed = call("check", *folders)
    assert changed.exit_code == 1
    assert "the page has '3 cells are done.', but the cells give '2 cells are done.'" in changed.output
    assert call("page", "stub", *folders).exit_code == 0
    assert call("check", *folders).exit_code == 0


def test_check_needs_cells(folders, tmp_path):
    result = call("check", *folders)
    assert result.exit_code == 2
    assert "--store must be a folder of stored cells" in result.output


def test_stale_pages_are_listed(folders, tmp_path, monkeypatch):
    call("run", "stub", *folders, "--methods", "good", "--jobs", 1)
    monkeypatch.setattr(verification, "imported_packages", lambda study: ["models"])
    monkeypatch.setattr(verification, "_changed", lambda root, commit, packages: packages)
    monkeypatch.setattr(verification, "repository", lambda: tmp_path)
    result = call("stale", "--store", tmp_path / "cells")
    assert result.exit_code == 0, result.output
    assert "stub.md" in result.output
    assert "2 of 2" in result.output
    assert "models" in result.output
    monkeypatch.setattr(verification, "_changed", lambda root, commit, packages: [])
    for record in Store(tmp_path / "cells").read("stub").values():
        clean = dataclasses.replace(record, code=Code("a" * 40, dirty=False))
        Store(tmp_path / "cells").append(clean)
    assert "No page is older" in call("stale", "--store", tmp_path / "cells").output


@pytest.mark.parametrize(("words", "message"), [
    (["run", "stubb"], "There is no study 'stubb'. Did you mean 'stub'?"),
    (["page", "xyz"], "There is no study 'xyz'. Known: stub."),
    (["run", "stub", "--methods", "goood"], "There is no method 'goood'. Did you mean 'good'?"),
    (["run", "stub", "--data", "Q"], "There is no data set 'Q'. Known: A."),
    (["run", "stub", "--seeds", "0,x"], "--seeds must be comma-separated integers"),
    (["run", "stub", "--device", "tpu"], "The device must be 'auto', 'cpu' or 'cuda'. Got 'tpu'."),
])  # fmt: skip
def test_invalid_input_is_rejected_and_leaves_no_folder(folders, tmp_path, words, message):
    result = call(*words, *folders)
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_rejected(folders, tmp_path):
    (tmp_path / "file").write_text("")
    result = call("run", "stub", "--store", tmp_path / "cells", "--out", tmp_path / "file" / "pages")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output
    assert not (tmp_path / "cells").exists()


def test_cells_of_another_folder_or_file_are_merged(folders, tmp_path):
    call("run", "stub", "--store", tmp_path / "there", "--out", tmp_path / "x", "--methods", "good", "--jobs", 1)
    result = call("run", "stub", *folders, "--merge", tmp_path / "there")
    assert "2 new cells" in result.output
    again = call("run", "stub", *folders, "--merge", tmp_path / "there" / "stub.jsonl")
    assert "0 new cells" in again.output
    bad = call("run", "stub", *folders, "--merge", tmp_path / "nowhere")
    assert bad.exit_code == 2
    assert "--merge must be a folder of cells, or a file of a study: stub.jsonl" in bad.output
