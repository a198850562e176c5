"""Comparisons over all experiments: values of the paper that are reached, and NG-SM against stationary kernels."""

from dataclasses import replace

import pytest

from mvlvm.experiments.catalogue import EXPERIMENTS
from mvlvm.experiments.cells import FAILED, Cell, CellStore, Effort
from mvlvm.experiments.experiment import write_overview
from mvlvm.experiments.paper_comparison import (
    KERNEL_COMPARISON,
    KERNEL_COMPARISON_TITLE,
    kernel_comparison_summary,
    kernel_comparison_table,
    kernel_pairs,
    paper_comparison_summary,
    paper_comparison_table,
    paper_comparisons,
)
from tests.experiments.stored_results import record, results_from_numbers


def rows_of(name, numbers, tmp_path):
    store = CellStore(tmp_path)
    results_from_numbers(EXPERIMENTS[name], store, numbers)
    return list(paper_comparisons(EXPERIMENTS.values(), Effort.QUICK, store))


@pytest.mark.parametrize(("accuracy", "reached"), [(0.8212, True), (0.821, False), (0.99, True)])
def test_accuracy_is_reached_within_one_standard_deviation_of_the_paper(accuracy, reached, tmp_path):
    (row,) = rows_of("multi-view", {("MNIST", "NG-MVLVM", 0, ()): {"KNN": accuracy}}, tmp_path)  # 82.72 ± 0.61
    assert row.is_reached is reached
    assert row.is_same_data


@pytest.mark.parametrize(("error", "reached"), [(0.0233, True), (0.0235, False), (0.001, True)])
def test_error_is_compared_at_the_latent_dimension_of_the_paper(error, reached, tmp_path):
    numbers = {("MNIST", "NG-MVLVM", 0, (("D", d),)): {"MSE image": value} for d, value in ((2, error), (10, 0.0))}
    (row,) = rows_of("reconstruction", numbers, tmp_path)  # 0.023 ± 0.0004
    assert row.is_reached is reached
    assert paper_comparison_table([row]).rows[1][3:5] == ["0.0230 ± 0.0004", f"{error:.4f} (1)"]


def test_table_and_summary_mark_different_data(tmp_path):
    numbers = {("MNIST", "NG-MVLVM", 0, ()): {"KNN": 0.9, "SVM": 0.1}, ("YALE", "NG-MVLVM", 0, ()): {"KNN": 0.1},
               ("YALE", "MVAE", 0, ()): {"KNN": 0.9}}  # fmt: skip
    rows = rows_of("multi-view", numbers, tmp_path)
    assert [row[1:3] + row[-1:] for row in paper_comparison_table(rows).rows[1:]] == [
        ["MNIST", "KNN", "yes"], ["MNIST", "SVM", "**no**"], ["YALE (different data)", "KNN", "**no**"],
    ]  # fmt: skip
    assert paper_comparison_table(rows).rows[1][3:5] == ["82.72 ± 0.61", "90.00 (1)"]  # with the decimals of the paper
    assert "1 of 3 values are reached, and 1 of the 2 whose data" in " ".join(paper_comparison_summary(rows).split())


def test_every_value_printed_for_our_model_is_compared():
    from mvlvm.experiments.result_tables import _tables

    places = {
        (name, f"{data} {measure.column}".strip())
        for name, experiment in EXPERIMENTS.items()
        for data, measures in experiment.printed.items()
        for measure in measures
    }
    assert places == {(table, column) for table, rows in _tables().items() for column in rows["NG-MVLVM"]}


def cell(method, seed, *, experiment="channel", data="CHANNEL", effort=Effort.FULL, at=(("D", 2),)):
    return Cell(experiment=experiment, data=data, method=method, seed=seed, effort=effort, at=at)


@pytest.fixture
def store(tmp_path):
    kept = CellStore(tmp_path)
    for seed in range(4):
        kept.append(record(cell("NG-MVLVM", seed), KNN=0.7 + 0.01 * seed, MSE=0.2))
        kept.append(record(cell("MV-ARFLVM", seed), KNN=0.6 + 0.012 * seed, MSE=0.1 + 0.001 * seed))
    kept.append(record(cell("NG-MVLVM", 4), KNN=0.0))  # no stationary result for this seed
    kept.append(record(cell("MV-ARFLVM", 0, at=(("D", 5),)), KNN=1.0))  # no result of ours at this grid point
    kept.append(record(cell("NG-MVLVM", 0, effort=Effort.QUICK), KNN=0.0))
    kept.append(record(cell("MVAE", 0), KNN=0.0))
    kept.append(record(cell("MV-ARFLVM", 4), status=FAILED))
    return kept


def test_pairs_share_grid_point_effort_and_seed(store):
    pairs = {pair.number: pair for pair in kernel_pairs(EXPERIMENTS.values(), Effort.FULL, store)}
    assert set(pairs) == {"KNN", "MSE"}
    assert pairs["KNN"].ours.tolist() == pytest.approx([0.7, 0.71, 0.72, 0.73])
    assert pairs["KNN"].gain == pytest.approx(0.1 - 0.003)
    assert pairs["KNN"].standard_error == pytest.approx(0.002 * (5 / 3) ** 0.5 / 2)
    assert kernel_pairs(EXPERIMENTS.values(), Effort.QUICK, store) == []


def test_smaller_error_is_a_gain(store):
    pairs = {pair.number: pair for pair in kernel_pairs(EXPERIMENTS.values(), Effort.FULL, store)}
    assert pairs["KNN"].gain > 0 > pairs["MSE"].gain
    assert "Of 2 numbers, 1 are significantly better (bold) and 1 significantly worse" in " ".join(
        kernel_comparison_summary(list(pairs.values())).split()
    )
    rows = {row[2]: row for row in kernel_comparison_table(pairs.values()).rows[1:]}
    assert rows["KNN"][1] == "CHANNEL, D = 2"
    assert rows["KNN"][5].startswith("**+0.0970")
    assert rows["MSE"][5].startswith("*+0.0985")
    assert rows["MSE"][6] == "+97.0"


def test_insignificant_difference_is_not_clear(tmp_path):
    kept = CellStore(tmp_path)
    for seed, ours in enumerate((0.5, 0.7, 0.5, 0.7)):
        kept.append(record(cell("NG-MVLVM", seed), KNN=ours))
        kept.append(record(cell("ARFLVM", seed), KNN=0.58))
    (pair,) = kernel_pairs(EXPERIMENTS.values(), Effort.FULL, kept)
    assert not pair.is_clear
    assert "0 are significantly better" in " ".join(kernel_comparison_summary([pair]).split())
    assert kernel_comparison_table([pair]).rows[1][5] == "+0.0200 ± 0.0577"


def test_machines_are_not_mixed_and_three_seeds_are_required(tmp_path):
    kept = CellStore(tmp_path)
    for seed in range(5):
        kept.append(record(cell("NG-MVLVM", seed), KNN=0.7 + 0.01 * seed))
        theirs = record(cell("MV-ARFLVM", seed), KNN=0.6)
        kept.append(replace(theirs, machine="elsewhere") if seed > 1 else theirs)
    assert kernel_pairs(EXPERIMENTS.values(), Effort.FULL, kept) == []


def test_repeated_experiment_is_not_counted_twice(tmp_path):
    kept = CellStore(tmp_path)
    for seed in range(5):
        for method, accuracy in (("NG-MVLVM", 0.7 + 0.01 * seed), ("MV-ARFLVM", 0.6)):
            kept.append(record(EXPERIMENTS["held-out"].cell("BRIDGES", method, seed, Effort.FULL, {}), KNN=accuracy))
    assert kernel_pairs(EXPERIMENTS.values(), Effort.FULL, kept) == []


def test_overview_is_written_as_markdown_and_csv(store):
    pairs = kernel_pairs(EXPERIMENTS.values(), Effort.FULL, store)
    path = write_overview(
        KERNEL_COMPARISON_TITLE,
        kernel_comparison_summary(pairs),
        kernel_comparison_table(pairs),
        Effort.FULL,
        store.folder,
    )
    assert "| channel | CHANNEL, D = 2 | KNN |" in path.read_text()
    assert (store.folder / f"{KERNEL_COMPARISON}.csv").read_text().count("\n") == 3
