"""Points, lines and bars of results, and who was given fewer rows."""

import numpy as np
import pytest

from mvlvm.experiments.aggregate import (
    at_point,
    bars_of,
    lines_along,
    mean_squared_error,
    note_on_rows,
    table_along,
    unit_pixels,
)
from mvlvm.experiments.cells import CellStore, Effort
from mvlvm.experiments.paper_data import draw_rows, some_rows
from mvlvm.experiments.result_tables import Measure
from tests.experiments.stored_results import found_in, tiny_images
from tests.experiments.stub_experiment import experiment

ERROR = Measure("MSE", "MSE", 1.0, 2, higher_is_better=False)
TEN, TWO, FLAT = (("D", 10),), (("D", 2),), ()


@pytest.fixture
def found(tmp_path):
    made_up = experiment(methods=("NG-MVLVM", "MVAE", "means"))
    numbers = {
        ("BRIDGES", "NG-MVLVM", 0, TEN): {"MSE": 1.0, "rows": 10},
        ("BRIDGES", "NG-MVLVM", 1, TEN): {"MSE": 2.0, "rows": 10},
        ("BRIDGES", "NG-MVLVM", 0, TWO): {"MSE": 4.0, "rows": 10}, ("BRIDGES", "MVAE", 0, TWO): {"MSE": 3.0, "rows": 7},
        ("BRIDGES", "means", 0, FLAT): {"MSE": 6.0, "rows": 10},
    }  # fmt: skip
    return found_in(made_up, CellStore(tmp_path), numbers, effort=Effort.FULL)


def test_a_point_holds_its_cells_and_those_that_have_no_such_axis(found):
    here = at_point(found, {"D": 2})
    assert {(r.cell.method, r.cell.at) for r in here.done} == {("NG-MVLVM", TWO), ("MVAE", TWO), ("means", FLAT)}


def test_lines_go_along_the_axis_in_order(found):
    assert lines_along(found, "MSE", "BRIDGES", "D", times=10.0) == {
        "NG-MVLVM": ([2.0, 10.0], [40.0, 15.0], [0.0, 5.0]),
        "MVAE": ([2.0], [30.0], [0.0]),
        "means": ([2.0, 10.0], [60.0, 60.0], [0.0, 0.0]),
    }
    assert lines_along(found, "KNN", "BRIDGES", "D") == {}


def test_a_table_along_an_axis_names_its_points_and_the_best_at_each(found):
    table = table_along(found, ERROR, "BRIDGES", "D", title="errors")
    assert table.rows == [
        ["method", "D = 2", "D = 10"],
        ["NG-MVLVM", "4.00 (1)", "**1.50 ± 0.50 (2)**"],
        ["MVAE", "**3.00 (1)**", "-"],
        ["means", "6.00 (1)", "6.00 (1)"],
    ]
    assert table.name == "made-up-bridges-mse-by-d"
    plain = table_along(found, ERROR, "BRIDGES", "D", title="errors", mark_best=False)
    assert plain.rows[1] == ["NG-MVLVM", "4.00 (1)", "1.50 ± 0.50 (2)"]
    assert table_along(found, Measure("KNN", "KNN"), "BRIDGES", "D", title="none").rows == [["method"]]


def test_bars_have_means_and_deviations(found):
    assert bars_of(at_point(found, {"D": 10}), [ERROR], "BRIDGES") == {
        "NG-MVLVM": {"MSE": (1.5, 0.5)}, "means": {"MSE": (6.0, 0.0)},
    }  # fmt: skip


def test_methods_that_saw_fewer_rows_are_named(found):
    assert note_on_rows(found) == "Rows that were fitted: BRIDGES 10 (MVAE 7, for what they cost)."
    assert note_on_rows(at_point(found, {"D": 10})) == "Rows that were fitted: BRIDGES 10."
    assert note_on_rows(at_point(found, {"D": 3, "N": 4})).endswith("BRIDGES 10.")


def test_pixels_run_to_one():
    assert unit_pixels({"a": np.array([[0, 51, 255]], dtype=np.uint8)})["a"][0] == pytest.approx([0, 0.2, 1.0])


def test_errors_are_mean_squares_whatever_the_type():
    assert mean_squared_error(np.array([[250, 3]], dtype=np.uint8), np.array([[0.0, 4.0]])) == (250**2 + 1) / 2


def test_a_small_draw_is_part_of_a_larger_one():
    small, large = draw_rows(50, 5, 3), draw_rows(50, 20, 3)
    assert len(small) == 5
    assert set(small) < set(large)
    assert (np.diff(large) > 0).all()
    assert draw_rows(50, None, 3).tolist() == draw_rows(50, 60, 3).tolist() == list(range(50))
    data = tiny_images()
    some = some_rows(data, np.array([3, 5]))
    assert some["image"].tolist() == data["image"][[3, 5]].tolist()
    assert some.labels.tolist() == data.labels[[3, 5]].tolist()
