"""Cells and their records: serialisation, versions, revisions, arrays and merging."""

import json
from dataclasses import replace

import numpy as np

from mvlvm.experiments.cells import Cell, CellStore, Effort
from mvlvm.experiments.runner import Runner
from tests.experiments.stored_results import record
from tests.experiments.stub_experiment import experiment


def test_cells_come_seed_by_seed_and_survive_json():
    cells = experiment(axes={"N": (100, 200)}).cells(Effort.FULL, [0, 1])
    assert [cell.seed for cell in cells] == [0] * 4 + [1] * 4
    assert len(set(cells)) == 8
    for cell in cells:
        assert Cell.from_json(json.loads(json.dumps(cell.as_json()))) == cell
    assert cells[1].where("N") == 200


def test_records_survive_the_file_and_other_versions_do_not_count(tmp_path):
    kept, cells = CellStore(tmp_path), experiment().cells(Effort.QUICK, [0])
    kept.append(record(cells[0], KNN=0.5))
    kept.append(record(cells[1], KNN=0.9, version="0.0.1"))
    kept.append(record(cells[0], KNN=0.7))
    assert {cell: r.numbers for cell, r in kept.read().items()} == {cells[0]: {"KNN": 0.7}}


def test_cells_of_another_revision_are_run_again_and_not_shown(tmp_path):
    before, now, kept = experiment(), replace(experiment(), revision=2), CellStore(tmp_path)
    for cell in before.cells(Effort.QUICK, [0]):
        kept.append(record(cell, KNN=0.5))
    assert not now.found(Effort.QUICK, kept).records
    cells = now.cells(Effort.QUICK, [0])
    assert Runner(kept).left(cells) == cells
    assert [Cell.from_json(json.loads(json.dumps(cell.as_json()))) for cell in cells] == cells
    kept.append(record(cells[0], KNN=0.7))
    assert [r.numbers for r in now.found(Effort.QUICK, kept).records] == [{"KNN": 0.7}]
    assert len(before.found(Effort.QUICK, kept).records) == 2


def test_a_line_that_was_cut_short_is_lost_alone(tmp_path, capsys):
    kept, cells = CellStore(tmp_path), experiment().cells(Effort.QUICK, [0])
    kept.append(record(cells[0], KNN=0.5))
    with kept.path.open("a") as file:
        file.write('{"cell": {"experi')
    kept.append(record(cells[1], KNN=0.6))
    assert set(kept.read()) == set(cells)
    assert "line 2" in capsys.readouterr().err


def test_arrays_come_back_and_travel_with_their_records(tmp_path):
    here, there, cell = CellStore(tmp_path / "a"), CellStore(tmp_path / "b"), experiment().cells(Effort.QUICK, [0])[0]
    there.keep_arrays(cell, {"X": np.arange(6.0).reshape(2, 3)})
    there.append(record(cell, KNN=0.5))
    assert here.merge([there.folder]) == 1
    assert here.merge([there.folder]) == 0
    np.testing.assert_array_equal(here.arrays(cell)["X"], np.arange(6.0).reshape(2, 3))
    assert here.arrays(experiment().cells(Effort.FULL, [0])[0]) == {}
