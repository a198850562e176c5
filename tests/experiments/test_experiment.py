"""Pages of experiments: table, command, failures and index."""

import csv

from mvlvm.experiments.cells import FAILED, Effort
from mvlvm.experiments.experiment import write_index, write_page
from tests.experiments.stored_results import record, two_seeds
from tests.experiments.stub_experiment import experiment


def test_page_contains_table_command_and_failures(tmp_path):
    results = two_seeds(tmp_path / "cells")
    results.store.append(record(experiment(methods=("absent",)).cells(Effort.FULL, [7])[0], status=FAILED))
    stub, folder = experiment(), tmp_path / "out"
    paths = write_page(stub, stub.results(Effort.FULL, results.store), folder)
    text = (folder / "stub.md").read_text()
    assert "mvlvm reproduce stub --full" in text
    assert "| NG-MVLVM | 85.3 ± 1.5 | **91.0 ± 1.0 (2)** | +5.7 |" in text
    assert "Failed cells" in text
    assert "seed 7: failed" in text
    with (folder / "stub-bridges.csv").open(newline="") as file:
        assert list(csv.reader(file))[1] == ["NG-MVLVM", "85.3 ± 1.5", "91.0 ± 1.0 (2)", "+5.7"]
    assert all(path.exists() for path in paths)
    assert "[Stub](stub.md)" in write_index({"stub": "Stub"}, folder).read_text()
