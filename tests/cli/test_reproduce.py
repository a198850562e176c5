"""The command `mvlvm reproduce`: list, invalid input, running, resuming and merging."""

import pytest
from typer.testing import CliRunner

from mvlvm.cli.main import app
from mvlvm.experiments import catalogue, runner
from mvlvm.experiments.cells import CellStore
from tests.experiments.stub_experiment import experiment


def call(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setattr(runner, "WORKER", "tests.experiments.stub_worker")
    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"stub": experiment()})


def test_list_shows_every_experiment():
    result = call("list")
    assert result.exit_code == 0
    for name, entry in catalogue.EXPERIMENTS.items():
        assert name in result.output
        assert entry.title in result.output


@pytest.mark.parametrize(("words", "message"), [
    (["nothing"], "The experiment must be one of: all,"),
    (["multi-view", "--seeds", "0,x"], "--seeds must be comma-separated integers"),
    (["multi-view", "--methods", "NG-MVLVM,XYZ"], "--methods must be one of: NG-MVLVM,"),
    (["multi-view", "--data", "IRIS"], "--data must be one of: BRIDGES,"),
])  # fmt: skip
def test_invalid_input_is_rejected(words, message, tmp_path):
    result = call(*words, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.output


def test_folder_that_cannot_be_created_is_rejected(tmp_path):
    (tmp_path / "file").write_text("")
    result = call("multi-view", "--out", tmp_path / "file" / "out")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output


def test_finished_runs_are_not_repeated(stub, tmp_path):
    first = call("all", "--out", tmp_path, "--jobs", 1)
    assert first.exit_code == 0, first.output
    assert "2 runs, 0 of them already finished" in first.output
    assert "NG-MVLVM" in (tmp_path / "stub.md").read_text()
    assert "stub.md" in (tmp_path / "README.md").read_text()
    again = call("all", "--out", tmp_path)
    assert "2 runs, 2 of them already finished" in again.output


def test_results_of_another_folder_are_merged(stub, tmp_path):
    call("stub", "--out", tmp_path / "there", "--jobs", 1, "--methods", "MVAE")
    result = call("stub", "--out", tmp_path / "here", "--merge", tmp_path / "there")
    assert "1 new results" in result.output
    assert [cell.method for cell in CellStore(tmp_path / "here").read()] == ["MVAE"]
