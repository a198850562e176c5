"""Cells and their records: serialisation, versions, revisions, arrays and merging."""

import json
from dataclasses import replace

import numpy as np

from mvlvm.experiments.cells import Cell, CellStore, Effort
from mvlvm.experiments.runner import Runner
from tests.experiments.stored_results import record
from tests.experiments.stub_experiment import experiment


def test_cells_are_ordered_by_seed_and_round_trip_through_json():
    cells = experiment(axes={"N": (100, 200)}).cells(Effort.FULL, [0, 1])
    assert [cell.seed for cell in cells] == [0] * 4 + [1] * 4
    assert len(set(cells)) == 8
    for cell in cells:
        assert Cell.from_json(json.loads(json.dumps(cell.as_json()))) == cell
    assert cells[1].coordinate("N") == 200


def test_records_round_trip_and_other_versions_are_ignored(tmp_path):
    store, cells = CellStore(tmp_path), experiment().cells(Effort.QUICK, [0])
    store.append(record(cells[0], KNN=0.5))
    store.append(record(cells[1], KNN=0.9, version="0.0.1"))
    store.append(record(cells[0], KNN=0.7))
    assert {cell: r.numbers for cell, r in store.read().items()} == {cells[0]: {"KNN": 0.7}}


def test_cells_of_an_older_revision_are_rerun_and_excluded(tmp_path):
    before, now, store = experiment(), replace(experiment(), revision=2), CellStore(tmp_path)
    for cell in before.cells(Effort.QUICK, [0]):
        store.append(record(cell, KNN=0.5))
    assert not now.results(Effort.QUICK, store).records
    cells = now.cells(Effort.QUICK, [0])
    assert Runner(store).unfinished(cells) == cells
    assert [Cell.from_json(json.loads(json.dumps(cell.as_json()))) for cell in cells] == cells
    store.append(record(cells[0], KNN=0.7))
    assert [r.numbers for r in now.results(Effort.QUICK, store).records] == [{"KNN": 0.7}]
    assert len(before.results(Effort.QUICK, store).records) == 2


def test_truncated_line_does_not_affect_other_records(tmp_path, capsys):
    store, cells = CellStore(tmp_path), experiment().cells(Effort.QUICK, [0])
    store.append(record(cells[0], KNN=0.5))
    with store.path.open("a") as file:
        file.write('{"cell": {"experi')
    store.append(record(cells[1], KNN=0.6))
    assert set(store.read()) == set(cells)
    assert "line 2" in capsys.readouterr().err


def test_arrays_round_trip_and_are_merged_with_their_records(tmp_path):
    here, there, cell = CellStore(tmp_path / "a"), CellStore(tmp_path / "b"), experiment().cells(Effort.QUICK, [0])[0]
    there.save_arrays(cell, {"X": np.arange(6.0).reshape(2, 3)})
    there.append(record(cell, KNN=0.5))
    assert here.merge([there.folder]) == 1
    assert here.merge([there.folder]) == 0
    np.testing.assert_array_equal(here.arrays(cell)["X"], np.arange(6.0).reshape(2, 3))
    assert here.arrays(experiment().cells(Effort.FULL, [0])[0]) == {}


def test_cells_stored_under_earlier_names_are_readable(tmp_path):
    store, cell = CellStore(tmp_path), experiment(methods=("column means",)).cells(Effort.QUICK, [0])[0]
    stored = {**record(cell, RMSE=0.1).as_json(), "cell": {**cell.as_json(), "method": "means of columns"}}
    store.path.write_text(json.dumps(stored) + "\n")
    assert store.read()[cell].numbers == {"RMSE": 0.1}
    store.save_arrays(cell, {"with gaps": np.zeros(3)})
    assert list(store.arrays(cell)) == ["observed"]
