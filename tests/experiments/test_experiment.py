"""Tables and pages: the paper's number, ours, the difference; the best in bold; what failed."""

import csv

import pytest

from mvlvm.experiments.cells import FAILED, CellStore, Effort
from mvlvm.experiments.experiment import write_index, write_page
from mvlvm.experiments.result_tables import Measure, best_of, comparison, printed
from tests.experiments.stored_results import record
from tests.experiments.stub_experiment import experiment


@pytest.fixture
def found(tmp_path):
    kept, made_up = CellStore(tmp_path / "cells"), experiment()
    for cell in made_up.cells(Effort.FULL, [0, 1]):
        value = {"NG-MVLVM": 0.9, "MVAE": 0.7}[cell.method] + cell.seed / 50
        kept.append(record(cell, KNN=value))
    kept.append(record(made_up.cells(Effort.QUICK, [0])[0], KNN=0.1))
    return made_up.found(Effort.FULL, kept)


def test_a_row_has_the_papers_number_ours_and_the_difference(found):
    table = comparison(found, "BRIDGES", [Measure("KNN", "KNN")], paper_table="multi-view")
    assert table.rows[0] == ["method", "KNN paper", "KNN ours", "KNN difference"]
    assert table.rows[1] == ["NG-MVLVM", "85.3 ± 1.5", "**91.0 ± 1.0 (2)**", "+5.7"]
    assert table.rows[2] == ["MVAE", "73.4 ± 2.8", "71.0 ± 1.0 (2)", "-2.4"]


def test_where_less_is_better_the_least_is_bold(found):
    rows = comparison(found, "BRIDGES", [Measure("KNN", "MSE", times=1.0, digits=2, higher_is_better=False)]).rows
    assert rows[1:] == [["NG-MVLVM", "0.91 ± 0.01 (2)"], ["MVAE", "**0.71 ± 0.01 (2)**"]]


def test_all_that_are_best_are_named(found):
    spread = found.spread("KNN", "BRIDGES", "MVAE")
    assert best_of({"a": spread, "b": None, "c": spread}) == ["a", "c"]
    assert best_of({"b": None}) == []


def test_efforts_are_not_mixed(found):
    assert found.spread("KNN", "BRIDGES", "NG-MVLVM").n_seeds == 2
    assert found.spread("KNN", "MNIST", "NG-MVLVM") is None


def test_a_page_has_its_table_its_command_and_what_failed(found, tmp_path):
    found.store.append(record(experiment(methods=("absent",)).cells(Effort.FULL, [7])[0], status=FAILED))
    made_up, folder = experiment(), tmp_path / "out"
    paths = write_page(made_up, made_up.found(Effort.FULL, found.store), folder)
    text = (folder / "made-up.md").read_text()
    assert "mvlvm reproduce made-up --full" in text
    assert "| NG-MVLVM | 85.3 ± 1.5 | **91.0 ± 1.0 (2)** | +5.7 |" in text
    assert "Without a result" in text
    assert "seed 7: failed" in text
    with (folder / "made-up-bridges.csv").open(newline="") as file:
        assert list(csv.reader(file))[1] == ["NG-MVLVM", "85.3 ± 1.5", "91.0 ± 1.0 (2)", "+5.7"]
    assert all(path.exists() for path in paths)
    assert "[Made up](made-up.md)" in write_index({"made-up": "Made up"}, folder).read_text()


@pytest.mark.parametrize(("table", "method", "column", "mean"), [
    ("multi-view", "NG-MVLVM", "MNIST KNN", 82.72), ("single-view", "Isomap", "R-MNIST KNN", 44.45),
    ("single-view", "linear discriminant analysis", "YALE KNN", 33.86), ("challenging", "MVAE", "CORA NN", 34.29),
    ("reconstruction", "MVAE", "MNIST", 0.077),
])  # fmt: skip
def test_printed_numbers_are_the_papers(table, method, column, mean):
    assert printed(table, method, column).mean == mean


def test_what_the_paper_does_not_print_is_none():
    assert printed("multi-view", "MV-RFLVM", "MNIST KNN") is None
