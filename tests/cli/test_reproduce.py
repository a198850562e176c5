"""`mvlvm reproduce`: what it lists, refuses, runs and goes on with."""

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


def test_the_list_names_every_experiment():
    said = call("list")
    assert said.exit_code == 0
    for name, entry in catalogue.EXPERIMENTS.items():
        assert name in said.output
        assert entry.title in said.output


@pytest.mark.parametrize(("words", "sentence"), [
    (["nothing"], "The experiment must be one of: all,"),
    (["multi-view", "--seeds", "0,x"], "--seeds must be whole numbers"),
    (["multi-view", "--methods", "NG-MVLVM,XYZ"], "--methods must be one of: NG-MVLVM,"),
    (["multi-view", "--data", "IRIS"], "--data must be one of: BRIDGES,"),
])  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(words, sentence, tmp_path):
    said = call(*words, "--out", tmp_path / "out")
    assert said.exit_code == 2
    assert sentence in said.output


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    said = call("multi-view", "--out", tmp_path / "file" / "out")
    assert said.exit_code == 2
    assert "--out must be a folder" in said.output


def test_it_runs_writes_and_does_not_run_again(stub, tmp_path):
    first = call("all", "--out", tmp_path, "--jobs", 1)
    assert first.exit_code == 0, first.output
    assert "2 cells, 0 of them at hand" in first.output
    assert "NG-MVLVM" in (tmp_path / "stub.md").read_text()
    assert "stub.md" in (tmp_path / "README.md").read_text()
    again = call("all", "--out", tmp_path)
    assert "2 cells, 2 of them at hand" in again.output


def test_cells_of_another_folder_are_taken_over(stub, tmp_path):
    call("stub", "--out", tmp_path / "there", "--jobs", 1, "--methods", "MVAE")
    said = call("stub", "--out", tmp_path / "here", "--merge", tmp_path / "there")
    assert "1 cells are new" in said.output
    assert [cell.method for cell in CellStore(tmp_path / "here").read()] == ["MVAE"]
