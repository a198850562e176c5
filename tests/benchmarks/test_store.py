"""The store: appending, damaged lines, merging, pruning, arrays, and concurrent writers."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.cells import DONE, Cell, Code, Record
from benchmarks.store import Store


def make_record(seed=0, commit="a" * 40, value=0.5, arrays=None, study="toy"):
    cell = Cell(study=study, method="PCA", data="A", seed=seed, settings={"L/2": 50})
    return Record(
        cell=cell, status=DONE, seconds=1.0, machine="m", code=Code(commit), metrics={"R2": value}, arrays=arrays or {}
    )


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "a folder" / "results")


def test_nothing_is_created_by_reading(store):
    assert store.read("toy") == {}
    assert store.studies() == []
    assert not store.folder.exists()


def test_the_last_record_of_a_cell_counts(store):
    for value in (0.1, 0.2):
        store.append(make_record(value=value))
    (record,) = store.read("toy").values()
    assert record.metrics == {"R2": 0.2}
    assert len(store.path("toy").read_text().splitlines()) == 2


def test_every_study_has_its_own_file(store):
    store.append(make_record())
    store.append(make_record(study="views"))
    assert store.studies() == ["toy", "views"]
    assert len(store.read("views")) == 1


def test_damaged_lines_are_reported_skipped_and_kept(store, capsys):
    store.append(make_record(seed=0))
    damaged = store.path("toy").read_text()[:40]
    with store.path("toy").open("a") as file:
        file.write(damaged)  # a line without its end
    store.append(make_record(seed=1))
    assert {cell.seed for cell in store.read("toy")} == {0, 1}
    assert "line 2 is not a valid record and was skipped" in capsys.readouterr().err
    store.prune("toy", lambda commit: False)
    assert store.path("toy").read_text() == f"{damaged}\n"


@pytest.mark.parametrize("line", ["", "{}", "[1]", "null", '{"cell": 3}', "\udcff"])
def test_any_damaged_line_is_skipped(store, line):
    store.folder.mkdir(parents=True)
    store.path("toy").write_bytes(line.encode(errors="surrogateescape") + b"\n")
    store.append(make_record())
    assert len(store.read("toy")) == 1


def test_arrays_are_kept_in_one_file_and_replaced(store):
    for seed, size in ((0, 2), (1, 3), (0, 4)):
        store.append(make_record(seed=seed, arrays={"latents": np.full(size, seed), "angle": np.zeros(1)}))
    first, second = (make_record(seed=seed).cell for seed in (0, 1))
    np.testing.assert_array_equal(store.arrays(first)["latents"], np.zeros(4))
    np.testing.assert_array_equal(store.arrays(second)["latents"], np.ones(3))
    assert sorted(path.name for path in store.folder.glob("*.np*")) == ["toy.npz"]
    assert store.arrays(make_record(seed=9).cell) == {}


def test_equal_arrays_give_identical_files(tmp_path):
    for name in ("one", "other"):
        Store(tmp_path / name).append(make_record(arrays={"latents": np.arange(5.0)}))
    assert (tmp_path / "one" / "toy.npz").read_bytes() == (tmp_path / "other" / "toy.npz").read_bytes()


def test_merging_copies_what_is_new(store, tmp_path):
    other = Store(tmp_path / "other")
    store.append(make_record(seed=0))
    other.append(make_record(seed=0))
    other.append(make_record(seed=1, arrays={"latents": np.ones(2)}))
    other.append(make_record(seed=0, study="views"))
    assert store.merge(other) == 2
    assert store.merge(other) == 0
    assert set(store.arrays(make_record(seed=1).cell)) == {"latents"}
    assert store.merge(other, ["nothing"]) == 0


def test_merging_does_not_replace_results_by_failures_or_older_runs(store, tmp_path):
    other = Store(tmp_path / "other")

    def put(where, value, run, status=DONE):
        where.append(replace(make_record(value=value), run=run, status=status))

    put(store, 0.5, run="2026-02")
    put(other, 0.0, run="2026-03", status="failed")
    assert store.merge(other) == 0
    put(other, 0.1, run="2026-01")
    assert store.merge(other) == 0
    put(other, 0.9, run="2026-03")
    assert store.merge(other) == 1
    assert next(iter(store.read("toy").values())).metrics == {"R2": 0.9}
    put(store, 0.0, run="2026-04", status="failed")
    assert store.merge(other) == 1  # a result replaces a failure


def test_pruning_an_unknown_study_creates_nothing(store):
    assert store.prune("nothing", lambda commit: True) == 0
    assert not store.folder.exists()


def test_records_are_pruned_by_commit_with_their_arrays(store):
    store.append(make_record(seed=0, commit="a" * 40, arrays={"latents": np.ones(1)}))
    store.append(make_record(seed=1, commit="b" * 40, arrays={"latents": np.ones(1)}))
    assert store.prune("toy", lambda commit: commit.startswith("b")) == 1
    (cell,) = store.read("toy")
    assert cell.seed == 1
    assert set(store.arrays(cell)) == {"latents"}
    assert store.arrays(make_record(seed=0).cell) == {}


_WRITER = """
import sys
from pathlib import Path
import numpy as np
from benchmarks.store import Store
from tests.benchmarks.test_store import make_record
store = Store(Path(sys.argv[1]))
for seed in range(int(sys.argv[2]), int(sys.argv[2]) + 20):
    store.append(make_record(seed=seed, arrays={"latents": np.full(3, seed)}))
"""


def test_concurrent_writers_lose_no_record(store):
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, store.folder, str(100 * k)]) for k in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines = store.path("toy").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 60
    for cell in store.read("toy"):
        assert store.arrays(cell)["latents"].tolist() == [cell.seed] * 3
