"""`python -m benchmarks run` is killed: no process remains, and the same command completes it."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.catalogue import STUDIES
from benchmarks.cells import DONE
from benchmarks.store import Store
from tests.benchmarks.test_runner import processes_of, wait_until

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes by /proc"),
]


def start(folder, *words):
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, "-m", "benchmarks", "run", *words, "--quick"]
    return subprocess.Popen(arguments, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


# A study of quality runs in parallel, and a study of time in one fresh process after another.
@pytest.mark.parametrize(("study", "methods"), [
    ("likelihoods", "true functions,gaussian"), ("wall-time", "PCA,Isomap,t-SNE,NG-MVLVM"),
])  # fmt: skip
def test_a_killed_run_is_completed_by_the_same_command(tmp_path, study, methods):
    store = Store(tmp_path / "quick")
    cells = [cell for cell in STUDIES[study].all_cells(quick=True) if cell.method in methods.split(",")]
    run = start(tmp_path, study, "--methods", methods)
    assert wait_until(lambda: len(store.read(study)) >= 1, 120)
    run.kill()
    run.wait()
    killed = time.monotonic()
    finished = {cell: record for cell, record in store.read(study).items()}
    assert len(finished) < len(cells)
    assert wait_until(lambda: not processes_of(tmp_path), 5), "a process remains"
    assert time.monotonic() - killed < 6
    assert start(tmp_path, study, "--methods", methods).wait(600) == 0
    records = store.read(study)
    assert set(records) == set(cells)
    assert {record.status for record in records.values()} == {DONE}
    assert all(records[cell] == record for cell, record in finished.items())
    lines = Counter(store.path(study).read_text().splitlines())
    assert len(lines) == len(cells)
