"""The command `mvlvm reproduce`: list, invalid input, running, resuming and merging."""

import dataclasses

import pytest
from typer.testing import CliRunner

from benchmarks import catalogue
from benchmarks.__main__ import app
from benchmarks.store import Store
from tests.benchmarks.stub_study import make_study


def call(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.fixture
def stub(monkeypatch):
    study = dataclasses.replace(make_study(["good", "raises"]), group="paper")
    for name in ("STUDIES", "PAPER_EXPERIMENTS"):
        monkeypatch.setattr(catalogue, name, {"stub": study})


def test_list_shows_every_experiment_of_the_paper():
    result = call("list")
    assert result.exit_code == 0
    assert len(catalogue.PAPER_EXPERIMENTS) == 14
    for name, study in catalogue.PAPER_EXPERIMENTS.items():
        assert name in result.output
        assert study.title in result.output


@pytest.mark.parametrize(("words", "message"), [
    (["multi-veiw"], "There is no study 'multi-veiw'. Did you mean 'multi-view'?"),
    (["cross-view"], "There is no study 'cross-view'."),
    (["multi-view", "--seeds", "0,x"], "--seeds must be comma-separated integers"),
    (["multi-view", "--methods", "NG-MVLVM,MVAEE"], "There is no method 'MVAEE'. Did you mean 'MVAE'?"),
    (["multi-view", "--data", "MNSIT"], "There is no data set 'MNSIT'. Did you mean 'MNIST'?"),
])  # fmt: skip
def test_invalid_input_is_rejected_and_leaves_no_folder(words, message, tmp_path):
    result = call(*words, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "out").exists()


def test_folder_that_cannot_be_created_is_rejected(tmp_path):
    (tmp_path / "file").write_text("")
    result = call("multi-view", "--out", tmp_path / "file" / "out")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output


def test_finished_runs_are_not_repeated(stub, tmp_path):
    first = call("all", "--out", tmp_path, "--jobs", 1)
    assert first.exit_code == 0, first.output
    assert "2 cells, 0 already finished" in first.output
    page = (tmp_path / "paper" / "stub.md").read_text()
    assert "A quick run" in page
    assert "raises on A" in page
    assert "paper/stub.md" in (tmp_path / "README.md").read_text()
    again = call("all", "--out", tmp_path, "--methods", "good")
    assert "1 cell, 1 already finished" in again.output


def test_quick_and_full_runs_are_kept_apart(stub, tmp_path):
    call("stub", "--out", tmp_path, "--jobs", 1, "--methods", "good")
    result = call("stub", "--out", tmp_path, "--jobs", 1, "--methods", "good", "--full")
    assert "1 cell, 0 already finished" in result.output
    assert {cell.is_quick for cell in Store(tmp_path).read("stub")} == {True, False}
    assert "A quick run" not in (tmp_path / "paper" / "stub.md").read_text()


def test_results_of_another_folder_are_merged(stub, tmp_path):
    call("stub", "--out", tmp_path / "there", "--jobs", 1, "--methods", "good")
    result = call("stub", "--out", tmp_path / "here", "--merge", tmp_path / "there")
    assert "1 new cell." in result.output
    assert [cell.method for cell in Store(tmp_path / "here").read("stub")] == ["good"]
