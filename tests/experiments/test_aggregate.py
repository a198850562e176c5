"""Aggregation of results: grid points, curves, bars, tables, and notes on the number of rows."""

import numpy as np
import pytest

from mvlvm.experiments.aggregate import (
    at_point,
    bar_groups,
    curves_along,
    mean_squared_error,
    row_count_note,
    table_along,
    unit_pixels,
)
from mvlvm.experiments.cells import CellStore, Effort
from mvlvm.experiments.paper_data import sample_rows, select_rows
from mvlvm.experiments.result_tables import Measure
from tests.experiments.stored_results import results_from_numbers, tiny_images
from tests.experiments.stub_experiment import experiment

ERROR = Measure("MSE", "MSE", 1.0, 2, higher_is_better=False)
TEN, TWO, FLAT = (("D", 10),), (("D", 2),), ()


@pytest.fixture
def results(tmp_path):
    stub = experiment(methods=("NG-MVLVM", "MVAE", "means"))
    numbers = {
        ("BRIDGES", "NG-MVLVM", 0, TEN): {"MSE": 1.0, "rows": 10},
        ("BRIDGES", "NG-MVLVM", 1, TEN): {"MSE": 2.0, "rows": 10},
        ("BRIDGES", "NG-MVLVM", 0, TWO): {"MSE": 4.0, "rows": 10}, ("BRIDGES", "MVAE", 0, TWO): {"MSE": 3.0, "rows": 7},
        ("BRIDGES", "means", 0, FLAT): {"MSE": 6.0, "rows": 10},
    }  # fmt: skip
    return results_from_numbers(stub, CellStore(tmp_path), numbers, effort=Effort.FULL)


def test_grid_point_includes_cells_without_the_axis(results):
    here = at_point(results, {"D": 2})
    assert {(r.cell.method, r.cell.at) for r in here.done} == {("NG-MVLVM", TWO), ("MVAE", TWO), ("means", FLAT)}


def test_curves_are_sorted_along_the_axis(results):
    assert curves_along(results, "MSE", "BRIDGES", "D", scale=10.0) == {
        "NG-MVLVM": ([2.0, 10.0], [40.0, 15.0], [0.0, 5.0]),
        "MVAE": ([2.0], [30.0], [0.0]),
        "means": ([2.0, 10.0], [60.0, 60.0], [0.0, 0.0]),
    }
    assert curves_along(results, "KNN", "BRIDGES", "D") == {}


def test_table_along_an_axis_marks_the_best_method_at_each_point(results):
    table = table_along(results, ERROR, "BRIDGES", "D", title="errors")
    assert table.rows == [
        ["method", "D = 2", "D = 10"],
        ["NG-MVLVM", "4.00 (1)", "**1.50 ± 0.50 (2)**"],
        ["MVAE", "**3.00 (1)**", "-"],
        ["means", "6.00 (1)", "6.00 (1)"],
    ]
    assert table.name == "stub-bridges-mse-by-d"
    plain = table_along(results, ERROR, "BRIDGES", "D", title="errors", mark_best=False)
    assert plain.rows[1] == ["NG-MVLVM", "4.00 (1)", "1.50 ± 0.50 (2)"]
    assert table_along(results, Measure("KNN", "KNN"), "BRIDGES", "D", title="none").rows == [["method"]]


def test_bars_have_means_and_standard_deviations(results):
    assert bar_groups(at_point(results, {"D": 10}), [ERROR], "BRIDGES") == {
        "NG-MVLVM": {"MSE": (1.5, 0.5)}, "means": {"MSE": (6.0, 0.0)},
    }  # fmt: skip


def test_methods_with_fewer_rows_are_named(results):
    assert row_count_note(results) == "Number of rows fitted: BRIDGES 10 (MVAE 7, limited by cost)."
    assert row_count_note(at_point(results, {"D": 10})) == "Number of rows fitted: BRIDGES 10."
    assert row_count_note(at_point(results, {"D": 3, "N": 4})).endswith("BRIDGES 10.")


def test_pixels_are_scaled_to_the_unit_interval():
    assert unit_pixels({"a": np.array([[0, 51, 255]], dtype=np.uint8)})["a"][0] == pytest.approx([0, 0.2, 1.0])


def test_mean_squared_error_does_not_overflow_integer_types():
    assert mean_squared_error(np.array([[250, 3]], dtype=np.uint8), np.array([[0.0, 4.0]])) == (250**2 + 1) / 2


def test_smaller_sample_of_rows_is_a_subset_of_a_larger_one():
    small, large = sample_rows(50, 5, 3), sample_rows(50, 20, 3)
    assert len(small) == 5
    assert set(small) < set(large)
    assert (np.diff(large) > 0).all()
    assert sample_rows(50, None, 3).tolist() == sample_rows(50, 60, 3).tolist() == list(range(50))
    data = tiny_images()
    some = select_rows(data, np.array([3, 5]))
    assert some["image"].tolist() == data["image"][[3, 5]].tolist()
    assert some.labels.tolist() == data.labels[[3, 5]].tolist()
