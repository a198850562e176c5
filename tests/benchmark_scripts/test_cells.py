"""Finished cells are stored, and an interrupted run resumes."""

import pytest

from cells import Cell, CellFile, whole_seeds
from experiment import Effort, Experiment
from mvlvm.records import RESULTS_VERSION
from running import run


def cell(method="ours", seed=0, version="1", **numbers):
    return Cell("digits", method, seed, version, 1.5, numbers)


def file_of(path, *cells, version="1"):
    file = CellFile(path / "folder" / "cells.jsonl", version)
    for one in cells:
        file.append(one)
    return file


def test_cells_round_trip_through_the_file(tmp_path):
    written = cell(RMSE=0.1 + 0.2, observed=[0.5, 0.9])
    assert file_of(tmp_path, written).read() == {("digits", "ours", 0): written}


def test_last_run_of_a_cell_counts(tmp_path):
    file = file_of(tmp_path, cell(RMSE=1.0), cell(RMSE=2.0))
    assert [found.numbers["RMSE"] for found in file.read().values()] == [2.0]


def test_cells_of_other_versions_are_ignored(tmp_path):
    assert file_of(tmp_path, cell(version="1"), version="2").read() == {}


def test_truncated_line_does_not_affect_other_cells(tmp_path, capsys):
    file = file_of(tmp_path, cell(seed=0), cell(seed=1))
    file.path.write_text(file.path.read_text()[:-20])
    file.append(cell(seed=2))
    assert [found.seed for found in file.read().values()] == [0, 2]
    assert "line 2" in capsys.readouterr().err


def test_nan_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        file_of(tmp_path, cell(RMSE=float("nan")))


def test_seed_counts_only_if_every_method_has_finished():
    finished = [cell("ridge", 1), cell("ours", 1), cell("ours", 0), cell("given up", 0)]
    whole = whole_seeds({found.key: found for found in finished}, "digits", ["ours", "ridge"])
    assert {seed: list(by_method) for seed, by_method in whole.items()} == {1: ["ours", "ridge"]}


@pytest.fixture
def counted():
    """Return an experiment whose second method fails once, on seed 1, and a list of executed cells."""
    ran, failures = [], [RuntimeError("interrupted")]

    def rival(seed, effort):
        if seed == 1 and failures:
            raise failures.pop()
        ran.append(("rival", seed))
        return {"RMSE": 2.0}

    def ours(seed, effort):
        ran.append(("ours", seed))
        return {"RMSE": float(effort.most_steps), "observed": [0.5]}

    return Experiment("digits", {"ours": ours, "rival": rival}), ran


def test_interrupted_run_resumes(tmp_path, counted):
    experiment, ran = counted
    file = CellFile(tmp_path / "cells.jsonl", RESULTS_VERSION)
    with pytest.raises(RuntimeError, match="interrupted"):
        run([experiment], [0, 1], file, Effort(most_steps=7))
    assert ran == [("ours", 0), ("rival", 0), ("ours", 1)]
    run([experiment], [0, 1], file, Effort())
    assert ran == [("ours", 0), ("rival", 0), ("ours", 1), ("rival", 1)]
    assert file.read()["digits", "ours", 1].numbers == {"RMSE": 7.0, "observed": [0.5]}


def test_finished_cells_are_rerun_on_request(tmp_path, counted):
    experiment, ran = counted
    file = CellFile(tmp_path / "cells.jsonl", RESULTS_VERSION)
    for _ in range(2):
        run([experiment], [0], file, Effort(), again=["ours"])
    assert ran == [("ours", 0), ("rival", 0), ("ours", 0)]


def test_number_of_seeds_is_limited(tmp_path, counted):
    experiment, ran = counted
    once = Experiment("digits", experiment.methods, most_seeds=1)
    run([once], [3, 4, 5], CellFile(tmp_path / "cells.jsonl", "any"), Effort())
    assert ran == [("ours", 3), ("rival", 3)]
