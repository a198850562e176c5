"""Aggregation over seeds, differences with standard errors, ties and rankings."""

import math

import numpy as np
import pytest
import scipy.stats

from benchmarks.cells import DONE, FAILED, Cell, Code, Record
from benchmarks.results import Difference, Results, decisive_rival, difference, mean_std, points_of, rank, seeds_of
from benchmarks.store import Store
from benchmarks.tables import Measure, ResultTable, table_along


def results_of(tmp_path, values, *, axis=None):
    """Return results of data set A: method -> values by seed, or method -> point -> values."""
    records = []
    for method, of_method in values.items():
        points = of_method if axis else {None: of_method}
        for point, seeds in points.items():
            for seed, value in enumerate(seeds):
                settings = {} if point is None else {axis: point}
                cell = Cell(study="toy", method=method, data="A", seed=seed, settings=settings)
                status, metrics = (FAILED, {}) if value is None else (DONE, {"accuracy": value})
                records.append(
                    Record(cell=cell, status=status, seconds=1.0, machine="m", code=Code("c"), metrics=metrics)
                )
    return Results("toy", ["A"], list(values), records, Store(tmp_path))


def test_standard_deviation_is_that_of_a_sample():
    values = [0.3, 0.5, 0.9]
    found = mean_std(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.std == pytest.approx(np.std(values) * math.sqrt(3 / 2))
    assert math.isnan(mean_std([0.5]).std)


def test_differences_are_paired_by_seed():
    ours, theirs = {0: 0.1, 1: 0.5, 2: 0.9}, {0: 0.0, 1: 0.41, 2: 0.78, 3: 0.0}
    found = difference(ours, theirs)
    pairs = scipy.stats.ttest_rel([0.1, 0.5, 0.9], [0.0, 0.41, 0.78])
    assert found.mean / found.standard_error == pytest.approx(pairs.statistic)
    assert found.is_clear


def test_differences_without_common_seeds_are_those_of_independent_means():
    found = difference({0: 1.0, 1: 2.0, 2: 4.0}, {5: 0.0, 6: 1.0})
    welch = scipy.stats.ttest_ind([1.0, 2.0, 4.0], [0.0, 1.0], equal_var=False)
    assert found.mean / found.standard_error == pytest.approx(welch.statistic)


def test_a_difference_below_two_standard_errors_is_a_tie():
    assert not Difference(1.9, 1.0, 5).is_clear
    assert Difference(-2.1, 1.0, 5).is_clear
    assert not Difference(0.0, 0.0, 5).is_clear
    assert not Difference(3.0, math.nan, 1).is_clear
    assert difference({}, {0: 1.0}) is None


def test_ranking_names_the_best_and_the_ties():
    values = {
        "best": {0: 0.90, 1: 0.92, 2: 0.94}, "tied": {0: 0.91, 1: 0.90, 2: 0.93}, "behind": {0: 0.5, 1: 0.52, 2: 0.51},
        "without values": {}, "single seed": {0: 0.89},
    }  # fmt: skip
    ranking = rank(values)
    assert ranking.best == ["best"]
    assert ranking.tied == ["tied"]
    assert rank(values, higher=False).best == ["behind"]
    assert rank({}).best == ()


def test_equal_means_are_both_the_best():
    assert rank({"a": {0: 1.0, 1: 2.0}, "b": {0: 2.0, 1: 1.0}}).best == ["a", "b"]


def test_single_seeds_have_no_standard_error_and_are_not_ranked():
    assert rank({"a": {0: 1.0}, "b": {0: 0.5}}).best == ()
    ranking = rank({"single": {0: 9.0}, "a": {0: 1.0, 1: 1.1}, "b": {0: 0.1, 1: 0.2}})
    assert (ranking.best, ranking.tied) == (["a"], [])


def test_the_decisive_rival_is_one_that_is_clearly_better():
    ours = {0: 0.50, 1: 0.52, 2: 0.51}
    rivals = {
        "noisy": {0: 0.40, 1: 0.70, 2: 0.60},
        "steady": {0: 0.52, 1: 0.541, 2: 0.53},
        "worse": {0: 0.1, 1: 0.1, 2: 0.1},
    }
    assert np.mean(list(rivals["noisy"].values())) > np.mean(list(rivals["steady"].values()))
    name, gain = decisive_rival(ours, rivals)
    assert name == "steady"
    assert gain.is_clear
    assert gain.mean < 0
    del rivals["steady"]
    assert decisive_rival(ours, rivals)[0] == "noisy"  # tied
    name, gain = decisive_rival(ours, {"worse": rivals["worse"]})
    assert gain.mean > 0
    assert decisive_rival(ours, {"worse": rivals["worse"]}, higher=False)[1].mean < 0
    assert decisive_rival(ours, {"empty": {}}) is None


def test_results_are_aggregated_over_finished_seeds(tmp_path):
    results = results_of(tmp_path, {"PCA": [0.5, 0.7, None], "MVAE": [None]})
    assert results.mean_std("accuracy", "A", "PCA") == mean_std([0.5, 0.7])
    assert results.mean_std("accuracy", "A", "MVAE") is None
    assert results.mean_std("R2", "A", "PCA") is None
    assert results.methods == ["PCA"]
    assert seeds_of(results) == [0, 1]


def test_methods_without_a_setting_belong_to_all_its_points(tmp_path):
    results = results_of(tmp_path, {"NG-MVLVM": {2: [0.5], 10: [0.9]}, "means": {None: [0.1]}}, axis="D")
    assert points_of(results, "D") == [2, 10]
    here = results.at({"D": 10})
    assert here.mean_std("accuracy", "A", "NG-MVLVM").mean == 0.9
    assert here.mean_std("accuracy", "A", "means").mean == 0.1
    table = table_along(results, Measure("accuracy", "accuracy"), "A", "D", title="By dimension")
    assert table.rows == [
        ["method", "D = 2", "D = 10"],
        ["NG-MVLVM", "50.0 (1)", "90.0 (1)"],
        ["means", "10.0 (1)", "10.0 (1)"],
    ]
    assert table.name == "toy-a-accuracy-by-d"


def test_columns_mark_the_best_and_the_ties(tmp_path):
    results = results_of(tmp_path, {"a": [0.90, 0.92], "b": [0.91, 0.90], "c": [0.1, 0.12]})
    measure = Measure("accuracy", "accuracy")
    texts = measure.column_texts(results, "A", ["a", "b", "c", "d"])
    assert texts == {"a": "**91.0 ± 1.4 (2)**", "b": "90.5 ± 0.7 (2) ≈", "c": "11.0 ± 1.4 (2)", "d": "-"}
    assert measure.column_texts(results, "A", ["a"], mark_best=False) == {"a": "91.0 ± 1.4 (2)"}


def test_csv_has_no_marks():
    table = ResultTable("t", "", [["method", "x"], ["a", "**1.0**"], ["b", "0.9 ≈"], ["c, d", "-"]])
    assert table.csv() == 'method,x\na,1.0\nb,0.9\n"c, d",-\n'
    assert table.markdown().splitlines()[0] == "| method | x |"
