"""Which of the paper's numbers are reached."""

import pytest

from mvlvm.experiments.beside_paper import every_number, summary, table_of
from mvlvm.experiments.catalogue import EXPERIMENTS
from mvlvm.experiments.spec import Effort
from mvlvm.experiments.store import Store
from tests.experiments.findings import found_in


def rows_of(name, numbers, tmp_path):
    store = Store(tmp_path)
    found_in(EXPERIMENTS[name], store, numbers)
    return list(every_number(EXPERIMENTS.values(), Effort.QUICK, store))


@pytest.mark.parametrize(("accuracy", "reached"), [(0.8212, True), (0.821, False), (0.99, True)])
def test_accuracies_are_reached_within_one_standard_deviation_of_the_papers(accuracy, reached, tmp_path):
    (row,) = rows_of("multi-view", {("MNIST", "NG-MVLVM", 0, ()): {"KNN": accuracy}}, tmp_path)  # 82.72 ± 0.61
    assert row.is_reached is reached
    assert row.is_same_data


@pytest.mark.parametrize(("error", "reached"), [(0.0233, True), (0.0235, False), (0.001, True)])
def test_errors_are_reached_from_above_at_the_papers_dimension(error, reached, tmp_path):
    numbers = {("MNIST", "NG-MVLVM", 0, (("D", d),)): {"MSE image": value} for d, value in ((2, error), (10, 0.0))}
    (row,) = rows_of("reconstruction", numbers, tmp_path)  # 0.023 ± 0.0004
    assert row.is_reached is reached
    assert table_of([row]).rows[1][3:5] == ["0.0230 ± 0.0004", f"{error:.4f} (1)"]


def test_the_table_and_the_count_say_which_data_differ(tmp_path):
    numbers = {("MNIST", "NG-MVLVM", 0, ()): {"KNN": 0.9, "SVM": 0.1}, ("YALE", "NG-MVLVM", 0, ()): {"KNN": 0.1},
               ("YALE", "MVAE", 0, ()): {"KNN": 0.9}}  # fmt: skip
    rows = rows_of("multi-view", numbers, tmp_path)
    assert [row[1:3] + row[-1:] for row in table_of(rows).rows[1:]] == [
        ["MNIST", "KNN", "yes"], ["MNIST", "SVM", "**no**"], ["YALE (other data)", "KNN", "**no**"],
    ]  # fmt: skip
    assert table_of(rows).rows[1][3:5] == ["82.72 ± 0.61", "90.00 (1)"]  # with the paper's digits
    assert "1 of 3 are, and 1 of the 2 whose data" in " ".join(summary(rows).split())


def test_every_number_that_the_paper_prints_of_our_model_has_a_place():
    from mvlvm.experiments.paper import _tables

    places = {
        (name, f"{data} {measure.column}".strip())
        for name, experiment in EXPERIMENTS.items()
        for data, measures in experiment.printed.items()
        for measure in measures
    }
    assert places == {(table, column) for table, rows in _tables().items() for column in rows["NG-MVLVM"]}
