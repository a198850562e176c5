"""Cells in processes: what is kept, what is tried again, what happens to those that fail, hang or die."""

import json
import threading

import pytest

from mvlvm.experiments import catalogue, runner
from mvlvm.experiments.cells import DONE, FAILED, NOT_INSTALLED, STOPPED, CellStore, Effort
from mvlvm.experiments.runner import Forecast, Runner, work
from tests.experiments.stored_results import record
from tests.experiments.stub_experiment import experiment


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(runner, "WORKER", "tests.experiments.stub_worker")
    monkeypatch.setitem(catalogue.EXPERIMENTS, "made-up", experiment())
    return experiment


@pytest.mark.parametrize(("method", "status", "said"), [
    ("NG-MVLVM", DONE, ""), ("broken", FAILED, "ValueError: it cannot be done"), ("absent", NOT_INSTALLED, "pip install"),
])  # fmt: skip
def test_whatever_happens_in_a_cell_is_in_its_record(method, status, said, tmp_path, made_up):
    cell = made_up(methods=(method,)).cells(Effort.QUICK, [3])[0]
    found = work(cell, CellStore(tmp_path))
    assert (found.status, found.cell) == (status, cell)
    assert said in found.note
    assert found.numbers == ({"KNN": 0.53, "rows": 10.0} if status == DONE else {})


def test_all_cells_run_although_some_fail_or_kill_their_process(tmp_path, made_up):
    kept = CellStore(tmp_path)
    cells = made_up(methods=("MVAE", "broken", "deadly", "NG-MVLVM")).cells(Effort.QUICK, [0, 1])
    run, said = Runner(kept, n_processes=2), []
    run.run(cells, said.append)
    assert len(said) == len(cells)
    statuses = {cell.method: r.status for cell, r in kept.read().items()}
    assert statuses == {"MVAE": DONE, "broken": FAILED, "deadly": FAILED, "NG-MVLVM": DONE}
    assert "ended with 3" in next(r.note for cell, r in kept.read().items() if cell.method == "deadly")
    assert {cell.method for cell in run.left(cells)} == {"broken", "deadly"}, "those that are done are not run again"


def test_a_cell_that_takes_too_long_is_stopped_and_the_next_one_runs(tmp_path, made_up):
    kept = CellStore(tmp_path)
    cells = made_up(methods=("slow", "MVAE")).cells(Effort.QUICK, [0])
    Runner(kept, limit_s=15.0).run(cells, lambda found: None)
    assert [r.status for r in kept.read().values()] == [STOPPED, DONE]


def test_an_interrupt_keeps_what_has_finished(tmp_path, made_up, monkeypatch):
    kept, cells = CellStore(tmp_path), made_up(methods=("MVAE", "slow")).cells(Effort.QUICK, [0])
    finished, joining = threading.Event(), threading.Thread.join

    def interrupted(thread, timeout=None):
        if isinstance(thread, runner._WorkerThread):
            assert finished.wait(60)
            raise KeyboardInterrupt
        joining(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Runner(kept).run(cells, lambda found: finished.set())
    assert [cell.method for cell in kept.read()] == ["MVAE"]


def test_a_process_whose_owner_is_gone_ends_in_the_middle_of_a_cell(tmp_path, made_up):
    process = runner._start(Runner(CellStore(tmp_path)))
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
