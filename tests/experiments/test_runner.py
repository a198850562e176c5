"""Running cells in worker processes: records, restarts, failures, time limits and interrupts."""

import json
import threading

import pytest

from mvlvm.experiments import catalogue, runner
from mvlvm.experiments.cells import DONE, FAILED, NOT_INSTALLED, STOPPED, CellStore, Effort
from mvlvm.experiments.runner import Forecast, Runner, run_cell
from tests.experiments.stored_results import record
from tests.experiments.stub_experiment import experiment


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setattr(runner, "WORKER", "tests.experiments.stub_worker")
    monkeypatch.setitem(catalogue.EXPERIMENTS, "stub", experiment())
    return experiment


@pytest.mark.parametrize(("method", "status", "message"), [
    ("NG-MVLVM", DONE, ""), ("broken", FAILED, "ValueError: it cannot be done"),
    ("absent", NOT_INSTALLED, "pip install"),
])  # fmt: skip
def test_outcome_of_a_cell_is_recorded(method, status, message, tmp_path, stub):
    cell = stub(methods=(method,)).cells(Effort.QUICK, [3])[0]
    outcome = run_cell(cell, CellStore(tmp_path))
    assert (outcome.status, outcome.cell) == (status, cell)
    assert message in outcome.note
    assert outcome.numbers == ({"KNN": 0.53, "rows": 10.0} if status == DONE else {})


def test_failures_and_crashes_do_not_stop_other_cells(tmp_path, stub):
    store = CellStore(tmp_path)
    cells = stub(methods=("MVAE", "broken", "deadly", "NG-MVLVM")).cells(Effort.QUICK, [0, 1])
    run, message = Runner(store, n_processes=2), []
    run.run(cells, message.append)
    assert len(message) == len(cells)
    statuses = {cell.method: r.status for cell, r in store.read().items()}
    assert statuses == {"MVAE": DONE, "broken": FAILED, "deadly": FAILED, "NG-MVLVM": DONE}
    assert "exited with code 3" in next(r.note for cell, r in store.read().items() if cell.method == "deadly")
    assert {cell.method for cell in run.unfinished(cells)} == {"broken", "deadly"}, "finished cells are not run again"


def test_cell_is_stopped_at_the_time_limit_and_the_next_one_runs(tmp_path, stub):
    store = CellStore(tmp_path)
    cells = stub(methods=("slow", "MVAE")).cells(Effort.QUICK, [0])
    Runner(store, limit_s=15.0).run(cells, lambda outcome: None)
    assert [r.status for r in store.read().values()] == [STOPPED, DONE]


def test_interrupt_keeps_finished_cells(tmp_path, stub, monkeypatch):
    store, cells = CellStore(tmp_path), stub(methods=("MVAE", "slow")).cells(Effort.QUICK, [0])
    finished, joining = threading.Event(), threading.Thread.join

    def interrupted(thread, timeout=None):
        if isinstance(thread, runner._WorkerThread):
            assert finished.wait(60)
            raise KeyboardInterrupt
        joining(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Runner(store).run(cells, lambda outcome: finished.set())
    assert [cell.method for cell in store.read()] == ["MVAE"]


def test_worker_exits_when_its_input_is_closed(tmp_path, stub):
    process = runner._start_worker(Runner(CellStore(tmp_path)))
    try:
        process.stdin.write(json.dumps(stub(methods=("slow",)).cells(Effort.QUICK, [0])[0].as_json()) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "begun\n"
        process.stdin.close()
        assert process.wait(20) == 0, "a slow cell takes a minute"
    finally:
        process.kill()
        process.stdout.close()


def test_forecast_uses_mean_times_of_finished_cells():
    cells = experiment(methods=("NG-MVLVM", "MVAE")).cells(Effort.QUICK, [0, 1, 2])
    forecast = Forecast(cells, n_processes=2)
    forecast.update(record(cells[0], seconds=10.0))
    assert forecast.seconds == pytest.approx((2 * 10 + 3 * 10) / 2)
    forecast.update(record(cells[1], seconds=40.0))
    assert forecast.seconds == pytest.approx((2 * 10 + 2 * 40) / 2)
    assert forecast.description == "50 s"
