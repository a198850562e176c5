"""Printed values, tables that compare with them, leads and verdicts, and notes on the number of rows."""

import pytest

from benchmarks.paper.paper_tables import (
    Lead,
    PaperTable,
    accuracy_figure,
    bar_groups,
    comparison,
    first_seed,
    lead_on,
    lead_over_best,
    printed,
    reached_claim,
    row_count_note,
    verdict_on_leads,
)
from benchmarks.results import Difference
from benchmarks.study import NO, TIE, YES
from benchmarks.tables import Measure, curves_along
from tests.benchmarks.paper.stored_results import results_from_metrics, stub_study

KNN = Measure("KNN", "KNN")
ERROR = Measure("MSE", "MSE", 1.0, 2, higher_is_better=False)
TEN, TWO, FLAT = (("D", 10),), (("D", 2),), ()


@pytest.fixture
def two_seeds(tmp_path):
    """Return full-size results with two seeds; a quick cell must not influence them."""
    study = stub_study()
    means = {"NG-MVLVM": 0.9, "MVAE": 0.7}
    metrics = {
        ("BRIDGES", method, seed, ()): {"KNN": mean + seed / 50} for method, mean in means.items() for seed in (0, 1)
    }
    results_from_metrics(study, tmp_path, {("BRIDGES", "NG-MVLVM", 0, ()): {"KNN": 0.1}})
    return results_from_metrics(study, tmp_path, metrics, quick=False)


@pytest.fixture
def along_d(tmp_path):
    study = stub_study(methods=("NG-MVLVM", "MVAE", "means"))
    metrics = {
        ("BRIDGES", "NG-MVLVM", 0, TEN): {"MSE": 1.0, "rows": 10},
        ("BRIDGES", "NG-MVLVM", 1, TEN): {"MSE": 2.0, "rows": 10},
        ("BRIDGES", "NG-MVLVM", 0, TWO): {"MSE": 4.0, "rows": 10}, ("BRIDGES", "MVAE", 0, TWO): {"MSE": 3.0, "rows": 7},
        ("BRIDGES", "means", 0, FLAT): {"MSE": 6.0, "rows": 10},
    }  # fmt: skip
    return results_from_metrics(study, tmp_path, metrics)


@pytest.mark.parametrize(("table", "method", "column", "mean"), [
    ("multi-view", "NG-MVLVM", "MNIST KNN", 82.72), ("single-view", "Isomap", "R-MNIST KNN", 44.45),
    ("single-view", "linear discriminant analysis", "YALE KNN", 33.86), ("challenging", "MVAE", "CORA NN", 34.29),
    ("reconstruction", "MVAE", "MNIST", 0.077),
])  # fmt: skip
def test_printed_values_match_the_paper(table, method, column, mean):
    assert printed(table, method, column).mean == mean


def test_value_not_printed_in_the_paper_is_none():
    assert printed("multi-view", "MV-RFLVM", "MNIST KNN") is None


def test_row_has_paper_value_our_value_and_difference(two_seeds):
    paper = PaperTable("multi-view", {"BRIDGES": [KNN]})
    table = comparison(two_seeds, "BRIDGES", [KNN], paper=paper)
    assert table.name == "stub-bridges"
    assert table.rows[0] == ["method", "KNN paper", "KNN ours", "KNN difference"]
    assert table.rows[1] == ["NG-MVLVM", "85.3 ± 1.5", "**91.0 ± 1.4 (2)**", "+5.7"]
    assert table.rows[2] == ["MVAE", "73.4 ± 2.8", "71.0 ± 1.4 (2)", "-2.4"]


def test_smallest_value_is_bold_if_lower_is_better(two_seeds):
    rows = comparison(two_seeds, "BRIDGES", [Measure("KNN", "MSE", scale=1.0, digits=2, higher_is_better=False)]).rows
    assert rows[1:] == [["NG-MVLVM", "0.91 ± 0.01 (2)"], ["MVAE", "**0.71 ± 0.01 (2)**"]]


def test_methods_without_values_have_no_row(along_d):
    table = comparison(along_d.at({"D": 10}), "BRIDGES", [ERROR], title="errors", name="other")
    assert (table.name, table.title) == ("other", "errors")
    assert [row[0] for row in table.rows] == ["method", "NG-MVLVM", "means"]


def test_curves_are_sorted_along_the_setting(along_d):
    lines = curves_along(along_d, "MSE", "BRIDGES", "D", scale=10.0)
    assert {method: (x, means) for method, (x, means, _) in lines.items()} == {
        "NG-MVLVM": ([2.0, 10.0], [40.0, 15.0]), "MVAE": ([2.0], [30.0]), "means": ([2.0, 10.0], [60.0, 60.0]),
    }  # fmt: skip
    assert lines["NG-MVLVM"][2][1] == pytest.approx(10 * 0.5**0.5)
    assert curves_along(along_d, "KNN", "BRIDGES", "D") == {}


def test_bars_have_means_and_standard_deviations(along_d):
    groups = bar_groups(along_d.at({"D": 10}), [ERROR], "BRIDGES")
    assert groups["NG-MVLVM"]["MSE"] == pytest.approx((1.5, 0.5**0.5))
    assert groups["means"]["MSE"][0] == 6.0
    assert list(groups) == ["NG-MVLVM", "means"]


def test_accuracy_figure_has_the_papers_values(two_seeds):
    (figure,) = accuracy_figure(two_seeds, KNN, what="accuracy", paper=PaperTable("multi-view", {"BRIDGES": [KNN]}))
    (panel,) = figure.draw().axes
    marks = [y for line in panel.lines if line.get_marker() == "D" for y in line.get_ydata()]
    assert marks == [85.31, 73.38]
    assert [patch.get_height() for patch in panel.patches] == pytest.approx([91.0, 71.0])
    assert figure.caption == "Accuracy of all methods on all data sets; diamonds are the paper's values"
    assert "diamonds" not in accuracy_figure(two_seeds, KNN, what="accuracy")[0].caption


def test_methods_with_fewer_rows_are_named(along_d):
    assert row_count_note(along_d) == "Number of rows fitted: BRIDGES 10 (MVAE 7, limited by cost)."
    assert row_count_note(along_d.at({"D": 10})) == "Number of rows fitted: BRIDGES 10."
    assert row_count_note(along_d.at({"D": 3, "N": 4})).endswith("BRIDGES 10.")


def test_first_seed_does_not_depend_on_the_order_of_records(along_d):
    records = along_d.select(method="NG-MVLVM", at={"D": 10})
    assert [record.cell.seed for record in first_seed(records[::-1])] == [0]
    assert list(first_seed([])) == []


def seeds(*values):
    return dict(enumerate(values))


def test_lead_is_over_the_best_other_method_and_of_the_best_variant():
    values = {"NG-MVLVM": seeds(0.5, 0.6), "NG-MVLVM 2": seeds(0.7, 0.8), "a": seeds(0.6, 0.69), "b": seeds(0.1, 0.2)}
    lead = lead_over_best(values, ["NG-MVLVM", "NG-MVLVM 2"])
    assert (lead.ours, lead.rival, lead.status) == ("NG-MVLVM 2", "a", "ahead")
    assert lead.difference.mean == pytest.approx(0.105)
    lower = lead_over_best(values, ["NG-MVLVM"], higher=False)
    assert (lower.rival, lower.status) == ("b", "behind")
    assert lower.difference.mean == pytest.approx(-0.4)


def test_difference_below_two_standard_errors_is_a_tie():
    # differences 0.1 and 0.28: mean 0.19, standard error 0.09; then 0.1 and 0.32: mean 0.21, standard error 0.11
    clear = lead_over_best({"NG-MVLVM": seeds(0.6, 0.78), "a": seeds(0.5, 0.5)})
    tied = lead_over_best({"NG-MVLVM": seeds(0.6, 0.82), "a": seeds(0.5, 0.5)})
    assert (clear.status, tied.status) == ("ahead", "tied")


def test_single_seed_or_equal_values_are_ties_and_missing_values_no_lead():
    assert lead_over_best({"NG-MVLVM": seeds(0.9), "a": seeds(0.5)}).status == "tied"
    assert lead_over_best({"NG-MVLVM": seeds(0.9, 0.8), "a": seeds(0.9, 0.8)}).status == "tied"
    assert lead_over_best({"NG-MVLVM": {}, "a": seeds(0.5)}) is None
    assert lead_over_best({"NG-MVLVM": seeds(0.5), "a": {}}) is None


def test_lead_on_a_data_set_uses_the_direction_of_the_measure_and_the_settings(along_d):
    lead = lead_on(along_d, ERROR, "BRIDGES", ["MVAE", "means"], {"D": 2})
    assert (lead.rival, lead.difference.mean) == ("MVAE", -1.0)
    assert lead_on(along_d, ERROR, "BRIDGES", ["MVAE", "means"], {"D": 10}).rival == "means"


AHEAD, BEHIND, TIED = (Lead("NG-MVLVM", "PCA", Difference(mean, 0.02, 5)) for mean in (0.123, -0.1, 0.03))


@pytest.mark.parametrize(("leads", "measured", "holds"), [
    ({"A": AHEAD, "B": AHEAD}, "ahead on 2 of 2", YES),
    ({"A": AHEAD, "B": TIED, "C": None}, "ahead on 1, tied on 1 of 2", TIE),
    ({"A": AHEAD, "B": TIED, "C": BEHIND}, "ahead on 1, tied on 1, behind on 1 of 3 (C)", NO),
    ({str(k): BEHIND for k in range(4)}, "behind on 4 of 4", NO),
    ({"A": AHEAD}, "ahead of PCA by 0.12 ± 0.02", YES),
    ({"A": BEHIND}, "behind PCA by 0.10 ± 0.02", NO),
    ({"A": TIED}, "tied with PCA: +0.03 ± 0.02", TIE),
    ({"A": Lead("NG-MVLVM", "PCA", Difference(0.5, float("nan"), 1))}, "tied with PCA: +0.50000", TIE),
])  # fmt: skip
def test_claim_of_a_lead_holds_only_if_every_lead_is_clear(leads, measured, holds):
    verdict = verdict_on_leads(leads)
    assert (verdict.measured, verdict.holds) == (measured, holds)


def test_no_verdict_without_leads():
    assert verdict_on_leads({"A": None}) is None


@pytest.mark.parametrize(("accuracy", "holds"), [(0.83, NO), (0.84, YES)])  # the paper has 85.31 ± 1.47
def test_claim_of_reached_values_ignores_data_that_differ_from_the_paper(accuracy, holds, tmp_path):
    table = PaperTable("multi-view", {"BRIDGES": [KNN], "YALE": [KNN]})
    study = stub_study(data=("BRIDGES", "YALE"))
    metrics = {("BRIDGES", "NG-MVLVM", 0, ()): {"KNN": accuracy}, ("YALE", "NG-MVLVM", 0, ()): {"KNN": 0.1}}
    verdict = reached_claim(table).judge(results_from_metrics(study, tmp_path, metrics))
    assert (verdict.measured, verdict.holds) == (f"{int(holds == YES)} of 1", holds)
    assert reached_claim(table).judge(results_from_metrics(study, tmp_path / "none", {})) is None
