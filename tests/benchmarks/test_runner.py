"""The runner: failures of every kind, resuming, and no process left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.cells import DONE, FAILED, NOT_INSTALLED, SKIPPED, STOPPED
from benchmarks.results import machines_of
from benchmarks.runner import Forecast, Runner, run_cell, unfinished
from benchmarks.store import Store
from benchmarks.study import render_page
from tests.benchmarks.stub_study import make_study, measure, run_study

ROOT = Path(__file__).parents[2]


def statuses(records):
    return {record.cell.method: record.status for record in records}


@pytest.mark.parametrize("fresh", [False, True])
def test_every_failure_is_recorded_and_the_other_cells_finish(tmp_path, fresh):
    study, store = make_study(), Store(tmp_path)
    records = run_study(study, store, n_processes=2, fresh_process=fresh, limit=1.0, grace=5.0)  # workers import torch
    expected = {
        "good": DONE, "nan": FAILED, "raises": FAILED, "slow": STOPPED, "stubborn": STOPPED, "killed": FAILED,
        "absent": NOT_INSTALLED, "keeps": STOPPED, "odd": FAILED,
    }  # fmt: skip
    assert statuses(records) == expected
    assert statuses(store.read("stub").values()) == expected
    text = render_page(study, study.results(store)).text
    for failure in (
        "keeps on A, seed 0: stopped. stopped after 1 s; the values are those of the unfinished fit",
        "odd on A, seed 0: failed. AttributeError",
        "nan on A, seed 0: failed. not finite: accuracy",
        "raises on A, seed 0: failed. ValueError: the views are wrong",
        "slow on A, seed 0: stopped. stopped after 1 s",
        "stubborn on A, seed 0: stopped. killed: it did not stop at its limit of 1 s",
        "killed on A, seed 0: failed. its process ended with exit code -9",
        "absent on A, seed 0: not installed. no module named 'nowhere'",
    ):
        assert f"- {failure}" in text
    assert "1 cells are done." in text


def test_an_interrupted_run_ends_its_cells_at_once(tmp_path):
    study, store, begin = make_study(["good", "slow"]), Store(tmp_path), time.monotonic()

    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Runner(n_processes=2).run(study.all_cells(), {"stub": study}, store, interrupt)
    assert time.monotonic() - begin < 30  # the slow cell takes a minute
    assert [cell.method for cell in store.read("stub")] == ["good"]


def test_finished_cells_are_not_run_again(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("STUB_LOG", str(log))
    study, store = make_study(["good", "raises"]), Store(tmp_path)
    run_study(study, store)
    left = unfinished(store, study.all_cells())
    assert [cell.method for cell in left] == ["raises"]
    Runner().run(left, {"stub": study}, store, lambda record: None)
    executed = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    assert sorted(executed) == ["good on A, seed 0", "raises on A, seed 0", "raises on A, seed 0"]


def test_fresh_processes_are_fresh_and_others_are_reused(tmp_path, monkeypatch):
    for fresh, n_processes in ((True, 3), (False, 1)):
        log = tmp_path / f"log {fresh}"
        monkeypatch.setenv("STUB_LOG", str(log))
        run_study(make_study(["good"], n_seeds=3), Store(tmp_path / str(fresh)), fresh_process=fresh)
        assert len({line.split()[0] for line in log.read_text().splitlines()}) == n_processes


def test_two_runs_on_one_store_do_not_repeat_cells(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("STUB_LOG", str(log))
    study, store = make_study(["good"], n_seeds=3), Store(tmp_path)
    cells, seen = study.all_cells(), []

    def other_run(record):
        seen.append(record)
        if len(seen) == 1:  # another run finishes the second cell while the third is pending
            Runner().run(cells[1:], {"stub": study}, store, lambda record: None)

    Runner().run([cells[0], cells[2], cells[1]], {"stub": study}, store, other_run)
    executed = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    assert executed.count(cells[1].label) == 1
    assert len(seen) == 3
    Runner().run(cells, {"stub": study}, store, lambda record: None)
    assert len(log.read_text().splitlines()) == len(executed)
    Runner().run(cells, {"stub": study}, store, lambda record: None, again=True)
    assert len(log.read_text().splitlines()) == len(executed) + 3


def test_a_cell_stopped_at_the_same_limit_is_finished_in_a_study_of_time(tmp_path):
    study, store = make_study(["keeps"]), Store(tmp_path)
    run_study(study, store, limit=0.5)
    (record,) = store.read("stub").values()
    assert (record.status, record.limit) == (STOPPED, 0.5)
    cells = study.all_cells()
    assert unfinished(store, cells, 0.5) == []
    assert unfinished(store, cells, 0.6) == cells
    assert unfinished(store, cells) == cells


def test_cells_may_be_skipped_because_of_earlier_records(tmp_path):
    def skip(cell, records):
        failed = [record for record in records.values() if record.status == FAILED]
        return f"not run: {failed[0].cell.method} failed" if failed else ""

    store = Store(tmp_path)
    records = run_study(make_study(["raises", "good"], skip=skip), store)
    assert statuses(records) == {"raises": FAILED, "good": SKIPPED}
    assert records[-1].note == "not run: raises failed"


def test_arrays_and_metrics_of_workers_are_stored(tmp_path):
    study, store = make_study(["good"], n_seeds=2), Store(tmp_path)
    run_study(study, store)
    results = study.results(store)
    assert results.by_seed("accuracy", "A", "good") == {0: 0.5, 1: 0.51}
    assert store.arrays(results.done[1].cell)["latents"].tolist() == [1, 1, 1]
    assert {record.machine for record in results.done} == set(machines_of(results))
    assert all(record.run and record.seconds >= 0 for record in results.done)


def test_a_fit_that_keeps_its_result_is_stopped_with_metrics():
    cell = make_study(["keeps"]).all_cells()[0]
    record = run_cell(cell, measure, limit=0.3)
    assert record.status == STOPPED
    assert record.metrics == {"accuracy": 0.5}


def processes_of(folder):
    """Return the ids of running processes whose working directory is the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder):
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                found += [int(entry.name)] if state != "Z" else []
        except OSError:  # the process has ended
            pass
    return found


def _start(folder, store, methods, n_seeds, fresh):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "STUB_LOG": str(store / "log")}
    words = [sys.executable, "-m", "tests.benchmarks.stub_study", str(store), methods, str(n_seeds), str(fresh)]
    return subprocess.Popen(words, cwd=folder, env=environment)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return condition()


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes by /proc")
@pytest.mark.parametrize("fresh", [False, True])
def test_a_killed_run_leaves_no_process_and_is_resumed(tmp_path, fresh):
    folder, results = tmp_path / "here", tmp_path / "results"
    folder.mkdir()
    results.mkdir()
    store, study = Store(results), make_study(["half a second"], n_seeds=5)
    parent = _start(folder, results, "half a second", 5, fresh)
    assert wait_until(lambda: len(store.read("stub")) >= 2, 60)
    parent.kill()
    parent.wait()
    finished = set(store.read("stub"))
    assert 0 < len(finished) < 5
    assert wait_until(lambda: not processes_of(folder), 5), "a process remains"
    left = unfinished(store, study.all_cells())
    assert set(left) == set(study.all_cells()) - finished
    Runner(n_processes=1, fresh_process=fresh).run(left, {"stub": study}, store, lambda record: None)
    assert {record.status for record in store.read("stub").values()} == {DONE}
    assert len(store.read("stub")) == 5
    executed = [line.split(maxsplit=1)[1] for line in (results / "log").read_text().splitlines()]
    assert all(executed.count(cell.label) == 1 for cell in finished)


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes by /proc")
@pytest.mark.parametrize("method", ["busy", "stubborn"])
def test_workers_that_compute_die_with_a_killed_parent(tmp_path, method):
    parent = _start(tmp_path, tmp_path, method, 1, False)
    assert wait_until(lambda: (tmp_path / "log").exists(), 60)
    parent.kill()
    parent.wait()
    assert wait_until(lambda: not processes_of(tmp_path), 5), "a process remains"


def test_remaining_time_is_estimated_by_study_and_method():
    cells = make_study(["good", "slow"], n_seeds=3).all_cells()
    forecast = Forecast(cells, n_processes=2)
    assert forecast.seconds == float("inf")
    record = run_cell(next(cell for cell in cells if cell.method == "good"), measure, limit=60.0)
    forecast.update(type(record)(**{**vars(record), "seconds": 4.0}))
    assert forecast.seconds == pytest.approx((2 * 4.0 + 3 * 4.0) / 2)
    assert forecast.description == "10 s"
