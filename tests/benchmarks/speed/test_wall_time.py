from dataclasses import replace

import pytest

from benchmarks.cells import DONE, NOT_INSTALLED, SKIPPED, STOPPED, Cell, Measurement
from benchmarks.runner import Runner, run_cell
from benchmarks.speed.benchmark_data import MNIST
from benchmarks.speed.methods import METHODS, OURS
from benchmarks.speed.wall_time import WALL_TIME, measure_wall_time, skip_after_limit
from benchmarks.store import Store
from benchmarks.study import render_page, write_page
from tests.benchmarks.speed.speed_records import record, results


def cell(method, n, device="cpu", **settings):
    return Cell(study="wall-time", method=method, data=MNIST, settings={"N": n, **settings}, device=device)


def timed(cell, seconds, **fields):
    return replace(record(cell, **fields), metrics={"seconds": seconds})


def test_exact_processes_and_markov_chains_have_few_rows_and_the_order_is_that_of_rows():
    cells = WALL_TIME.all_cells()
    most = {method: max(c.settings["N"] for c in cells if c.method == method) for method in METHODS}
    assert most["MV-GPLVM"] == most["MV-RFLVM"] == 1000
    assert most["BGPLVM"] == most["MV-DGPLVM"] == 10_000
    assert most[OURS] == most["PCA"] == 70_000
    rows = [c.settings["N"] for c in cells if c.device == "cpu"]
    assert rows == sorted(rows)
    assert {c.method for c in cells if c.device == "cuda"} == {m for m in METHODS if METHODS[m].uses_device}


def test_a_method_that_reached_the_limit_is_not_run_with_more_rows():
    records = {c: record(c, status=s) for c, s in [(cell("slow", 500), STOPPED), (cell("quick", 500), DONE)]}
    assert skip_after_limit(cell("slow", 1000), records) == "reached the time limit with 500 rows"
    assert skip_after_limit(cell("slow", 500), records) == ""
    assert skip_after_limit(cell("quick", 1000), records) == ""
    assert skip_after_limit(cell("slow", 1000, device="cuda"), records) == ""
    assert skip_after_limit(cell("slow", 1000, quick=True), records) == ""


def stop_or_return(cell):
    """Measure nothing: the slow method is stopped."""
    return Measurement({"seconds": 1.0}, stopped=cell.method == "slow")


def test_the_runner_records_skipped_cells(tmp_path):
    study = replace(WALL_TIME, measure=stop_or_return)
    cells, found = [cell(m, n) for n in (10, 20) for m in ("slow", "quick")], []
    Runner(limit=60.0, grace=10.0).run(cells, {"wall-time": study}, Store(tmp_path), found.append)
    assert [(r.cell.method, r.cell.settings["N"], r.status) for r in found] == [
        ("slow", 10, STOPPED), ("quick", 10, DONE), ("slow", 20, SKIPPED), ("quick", 20, DONE),
    ]  # fmt: skip
    assert found[2].note == "reached the time limit with 10 rows"


@pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")
@pytest.mark.parametrize("method", ["PCA", "MV-GPLVM-SVI"])
def test_time_memory_and_accuracy_of_a_fit_are_measured(method):
    (quick,) = [c for c in WALL_TIME.all_cells(quick=True) if c.method == method and c.device == "cpu"]
    found = run_cell(quick, measure_wall_time, limit=60.0)
    assert found.status == DONE, found.note
    assert set(found.metrics) == {"seconds", "peak_bytes", "accuracy"}
    assert 0 < found.metrics["seconds"] < found.seconds + 0.001


def test_the_page_has_times_and_reasons(tmp_path):
    found = results(
        timed(cell(OURS, 500), 2.0), timed(cell(OURS, 1000), 3.0), timed(cell("MRD", 500), 60.0, status=STOPPED),
        record(cell("MRD", 1000), status=SKIPPED, note="reached the time limit with 500 rows"),
        record(cell("UMAP", 500), status=STOPPED, seconds=61.0, note="stopped after 60 s"),
        record(cell("t-SNE", 500), status=STOPPED, seconds=0.0, note="killed"),
        record(cell("GFA", 500), status=NOT_INSTALLED, note="cca_zoo is not installed"),
        timed(cell(OURS, 500, "cuda"), 0.5),
    )  # fmt: skip
    written = {path.name for path in write_page(WALL_TIME, found, tmp_path)}
    assert {"wall-time.md", "wall-time-cpu.csv", "wall-time-cuda.csv", "wall-time-cpu-seconds.png"} <= written
    page = (tmp_path / "wall-time.md").read_text()
    assert "| NG-MVLVM | 2 s | 3 s |" in page
    assert "| MRD | stopped after 60 s | skipped |" in page
    assert "| UMAP | stopped after 61 s | - |" in page
    assert "| t-SNE | stopped | - |" in page
    assert "| GFA | not installed | - |" in page
    assert page.index("| NG-MVLVM | 2 s") < page.index("## On a GPU") < page.index("| NG-MVLVM | 500 ms |")
    failed = page.split("## Failed cells")[1]
    assert "GFA" in failed
    assert "MRD" not in failed  # neither stopped with values nor skipped


def test_a_page_without_finished_fits_has_no_figure():
    page = render_page(WALL_TIME, results(record(cell("MRD", 500), status=STOPPED, seconds=5.0)))
    assert page.figures == {}
    assert "| MRD | stopped after 5 s |" in page.text
