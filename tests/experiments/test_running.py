"""Cells in processes: what is kept, what is tried again, what happens to those that fail, hang or die."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from mvlvm.experiments import catalogue, runner, store
from mvlvm.experiments.runner import Forecast, Runner
from mvlvm.experiments.spec import Cell, Effort
from mvlvm.experiments.store import ABSENT, DONE, FAILED, STOPPED, Record, Store
from mvlvm.experiments.worker import work
from tests.experiments.made_up import experiment


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(runner, "WORKER", "tests.experiments.made_up_worker")
    monkeypatch.setitem(catalogue.EXPERIMENTS, "made-up", experiment())
    return experiment


def record(cell, *, seconds=1.0, status=DONE, version=None, **numbers):
    versions = {**store.versions(), **({} if version is None else {"mvlvm": version})}
    return Record(cell=cell, status=status, seconds=seconds, machine="here", versions=versions, numbers=numbers)


def test_cells_come_seed_by_seed_and_survive_json():
    cells = experiment(axes={"N": (100, 200)}).cells(Effort.FULL, [0, 1])
    assert [cell.seed for cell in cells] == [0] * 4 + [1] * 4
    assert len(set(cells)) == 8
    for cell in cells:
        assert Cell.from_json(json.loads(json.dumps(cell.as_json()))) == cell
    assert cells[1].where("N") == 200


def test_records_survive_the_file_and_other_versions_do_not_count(tmp_path):
    kept, cells = Store(tmp_path), experiment().cells(Effort.QUICK, [0])
    kept.append(record(cells[0], KNN=0.5))
    kept.append(record(cells[1], KNN=0.9, version="0.0.1"))
    kept.append(record(cells[0], KNN=0.7))
    assert {cell: r.numbers for cell, r in kept.read().items()} == {cells[0]: {"KNN": 0.7}}


def test_cells_of_another_revision_are_run_again_and_not_shown(tmp_path):
    before, now, kept = experiment(), replace(experiment(), revision=2), Store(tmp_path)
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
    kept, cells = Store(tmp_path), experiment().cells(Effort.QUICK, [0])
    kept.append(record(cells[0], KNN=0.5))
    with kept.path.open("a") as file:
        file.write('{"cell": {"experi')
    kept.append(record(cells[1], KNN=0.6))
    assert set(kept.read()) == set(cells)
    assert "line 2" in capsys.readouterr().err


def test_arrays_come_back_and_travel_with_their_records(tmp_path):
    here, there, cell = Store(tmp_path / "a"), Store(tmp_path / "b"), experiment().cells(Effort.QUICK, [0])[0]
    there.keep_arrays(cell, {"X": np.arange(6.0).reshape(2, 3)})
    there.append(record(cell, KNN=0.5))
    assert here.merge([there.folder]) == 1
    assert here.merge([there.folder]) == 0
    np.testing.assert_array_equal(here.arrays(cell)["X"], np.arange(6.0).reshape(2, 3))
    assert here.arrays(experiment().cells(Effort.FULL, [0])[0]) == {}


@pytest.mark.parametrize(("method", "status", "said"), [
    ("NG-MVLVM", DONE, ""), ("broken", FAILED, "ValueError: it cannot be done"), ("absent", ABSENT, "pip install"),
])  # fmt: skip
def test_whatever_happens_in_a_cell_is_in_its_record(method, status, said, tmp_path, made_up):
    cell = made_up(methods=(method,)).cells(Effort.QUICK, [3])[0]
    found = work(cell, Store(tmp_path))
    assert (found.status, found.cell) == (status, cell)
    assert said in found.note
    assert found.numbers == ({"KNN": 0.53, "rows": 10.0} if status == DONE else {})


def test_all_cells_run_although_some_fail_or_kill_their_process(tmp_path, made_up):
    kept = Store(tmp_path)
    cells = made_up(methods=("MVAE", "broken", "deadly", "NG-MVLVM")).cells(Effort.QUICK, [0, 1])
    run, said = Runner(kept, n_processes=2), []
    run.run(cells, said.append)
    assert len(said) == len(cells)
    statuses = {cell.method: r.status for cell, r in kept.read().items()}
    assert statuses == {"MVAE": DONE, "broken": FAILED, "deadly": FAILED, "NG-MVLVM": DONE}
    assert "ended with 3" in next(r.note for cell, r in kept.read().items() if cell.method == "deadly")
    assert {cell.method for cell in run.left(cells)} == {"broken", "deadly"}, "those that are done are not run again"


def test_a_cell_that_takes_too_long_is_stopped_and_the_next_one_runs(tmp_path, made_up):
    kept = Store(tmp_path)
    cells = made_up(methods=("slow", "MVAE")).cells(Effort.QUICK, [0])
    Runner(kept, limit_s=15.0).run(cells, lambda found: None)
    assert [r.status for r in kept.read().values()] == [STOPPED, DONE]


def test_an_interrupt_keeps_what_has_finished(tmp_path, made_up, monkeypatch):
    kept, cells = Store(tmp_path), made_up(methods=("MVAE", "slow")).cells(Effort.QUICK, [0])
    finished, joining = threading.Event(), threading.Thread.join

    def interrupted(thread, timeout=None):
        if isinstance(thread, runner._Hand):
            assert finished.wait(60)
            raise KeyboardInterrupt
        joining(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Runner(kept).run(cells, lambda found: finished.set())
    assert [cell.method for cell in kept.read()] == ["MVAE"]


def test_a_process_whose_owner_is_gone_ends_in_the_middle_of_a_cell(tmp_path, made_up):
    process = runner._start(Runner(Store(tmp_path)))
    try:
        process.stdin.write(json.dumps(made_up(methods=("slow",)).cells(Effort.QUICK, [0])[0].as_json()) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "begun\n"
        process.stdin.close()
        assert process.wait(20) == 0, "a slow cell takes a minute"
    finally:
        process.kill()
        process.stdout.close()


def test_a_forecast_counts_on_what_it_has_seen():
    cells = experiment(methods=("NG-MVLVM", "MVAE")).cells(Effort.QUICK, [0, 1, 2])
    forecast = Forecast(cells, n_processes=2)
    forecast.take(record(cells[0], seconds=10.0))
    assert forecast.seconds == pytest.approx((2 * 10 + 3 * 10) / 2)
    forecast.take(record(cells[1], seconds=40.0))
    assert forecast.seconds == pytest.approx((2 * 10 + 2 * 40) / 2)
    assert forecast.words == "50 s"
