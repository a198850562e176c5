"""Result tables: the paper's value, ours and the difference, with the best value in bold."""

import pytest

from mvlvm.experiments.result_tables import Measure, best_methods, comparison, printed
from tests.experiments.stored_results import two_seeds


@pytest.fixture
def results(tmp_path):
    return two_seeds(tmp_path / "cells")


def test_row_has_paper_value_our_value_and_difference(results):
    table = comparison(results, "BRIDGES", [Measure("KNN", "KNN")], paper_table="multi-view")
    assert table.rows[0] == ["method", "KNN paper", "KNN ours", "KNN difference"]
    assert table.rows[1] == ["NG-MVLVM", "85.3 ± 1.5", "**91.0 ± 1.0 (2)**", "+5.7"]
    assert table.rows[2] == ["MVAE", "73.4 ± 2.8", "71.0 ± 1.0 (2)", "-2.4"]


def test_smallest_value_is_bold_if_lower_is_better(results):
    rows = comparison(results, "BRIDGES", [Measure("KNN", "MSE", scale=1.0, digits=2, higher_is_better=False)]).rows
    assert rows[1:] == [["NG-MVLVM", "0.91 ± 0.01 (2)"], ["MVAE", "**0.71 ± 0.01 (2)**"]]


def test_all_tied_best_methods_are_returned(results):
    spread = results.spread("KNN", "BRIDGES", "MVAE")
    assert best_methods({"a": spread, "b": None, "c": spread}) == ["a", "c"]
    assert best_methods({"b": None}) == []


def test_efforts_are_not_mixed(results):
    assert results.spread("KNN", "BRIDGES", "NG-MVLVM").n_seeds == 2
    assert results.spread("KNN", "MNIST", "NG-MVLVM") is None


@pytest.mark.parametrize(("table", "method", "column", "mean"), [
    ("multi-view", "NG-MVLVM", "MNIST KNN", 82.72), ("single-view", "Isomap", "R-MNIST KNN", 44.45),
    ("single-view", "linear discriminant analysis", "YALE KNN", 33.86), ("challenging", "MVAE", "CORA NN", 34.29),
    ("reconstruction", "MVAE", "MNIST", 0.077),
])  # fmt: skip
def test_printed_values_match_the_paper(table, method, column, mean):
    assert printed(table, method, column).mean == mean


def test_value_not_printed_in_the_paper_is_none():
    assert printed("multi-view", "MV-RFLVM", "MNIST KNN") is None
