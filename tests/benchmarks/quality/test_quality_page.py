"""Sections compare methods on the same seeds, and claims on two methods are decided by two standard errors."""

import pytest

from benchmarks.quality.quality_page import (
    QualitySection,
    ahead_of,
    complete_seeds,
    difference_within,
    largest_within,
    mean_within,
    ratio_within,
    section_parts,
    smallest_within,
    task_cells,
)
from benchmarks.study import NO, TIE, YES, Study, render_page
from benchmarks.tables import Measure
from tests.benchmarks.quality.stored_results import record, results_of, table_row

METHODS = ["ours", "rival, 1", "rival, 2", "truth"]
SECTION = QualitySection(
    data="digits", title="Digits", task="The task.", methods=METHODS, reading="How to read it.",
    columns=[
        Measure("RMSE", "error", scale=1.0, digits=2, higher_is_better=False),
        Measure("accuracy", "accuracy, %"),
        Measure("spread", "spread", scale=1.0, digits=0, notation="e"),
    ],
    ranked=["RMSE"], references=["truth"], each=["RMSE"],
)  # fmt: skip


def make_study(claims=()):
    return Study(
        name="study", title="A study", what="What.", group="quality", measure=lambda cell: None, claims=claims,
        cells=task_cells("study", {"digits": METHODS}, {}), page=lambda results: section_parts(SECTION, results),
    )  # fmt: skip


def records_of(metric, **values):
    """Return records; the value of a method is a list with one number per seed."""
    names = {"ours": "ours", "one": "rival, 1", "two": "rival, 2", "truth": "truth"}
    by_method = {names[key]: numbers for key, numbers in values.items()}
    rest = {name: [9.0] * len(values["ours"]) for name in METHODS if name not in by_method}
    return [
        record(make_study(), "digits", method, seed, {metric: value})
        for method, numbers in (by_method | rest).items()
        for seed, value in enumerate(numbers)
    ]


def judge(claim, folder, records):
    return claim.judge(results_of(make_study(), folder, records))


def test_table_has_means_deviations_marks_and_times(tmp_path):
    records = records_of("RMSE", ours=[0.5, 0.7], one=[0.8, 1.0], two=[0.55, 0.66], truth=[0.1, 0.1])
    text = render_page(make_study(), results_of(make_study(), tmp_path, records)).text
    table, every_seed = text.split("Every seed:")
    assert table_row(table, "ours") == ["ours", "**0.60 ± 0.14 (2)**", "-", "-", "3"]
    assert table_row(table, "rival, 1") == ["rival, 1", "0.90 ± 0.14 (2)", "-", "-", "3"]
    assert table_row(table, "rival, 2") == ["rival, 2", "0.60 ± 0.08 (2) ≈", "-", "-", "3"]
    assert table_row(table, "truth") == ["truth", "0.10 ± 0.00 (2)", "-", "-", "3"]  # better, but not a method
    assert table_row(every_seed, "ours") == ["ours", "error", "0.50", "0.70"]


def test_single_seed_has_no_marks_and_short_cells_no_seconds(tmp_path):
    records = [
        record(make_study(), "digits", method, 0, {"spread": 1e-9}, seconds=0.2) for method in METHODS
    ]  # fmt: skip
    text = render_page(make_study(), results_of(make_study(), tmp_path, records)).text
    assert table_row(text, "ours") == ["ours", "-", "-", "1e-09 (1)", "< 1"]
    assert "**" not in text
    assert "≈ |" not in text


def test_section_uses_only_seeds_on_which_every_method_finished(tmp_path):
    records = records_of("RMSE", ours=[0.5, 0.7, 0.9], one=[1.0, 1.0, 1.0], two=[1.0, 1.0], truth=[0.1, 0.1, 0.1])
    found = complete_seeds(results_of(make_study(), tmp_path, records), "digits", METHODS)
    assert found.by_seed("RMSE", "digits", "ours") == {0: 0.5, 1: 0.7}


def test_unfinished_section_is_not_measured_and_its_claims_are_not_judged(tmp_path):
    claim = ahead_of(SECTION, "error below", "ours", ["rival, 1"], "RMSE")
    results = results_of(make_study(), tmp_path, records_of("RMSE", ours=[0.5])[:-1])
    assert section_parts(SECTION, results)[-1] == "Not measured yet."
    assert claim.judge(results) is None


@pytest.mark.parametrize(("ours", "holds", "text"), [
    ([0.5, 0.6, 0.52], YES, "-0.16 (standard error 0.056) compared with rival, 2"),
    ([0.5, 0.9, 0.85], TIE, "+0.05 (standard error 0.13) compared with rival, 2"),
    ([0.9, 0.9, 0.95], NO, "+0.22 (standard error 0.017) compared with rival, 2"),
    ([0.5], TIE, "-0.20 (one seed) compared with rival, 2"),
])  # fmt: skip
def test_claim_of_a_lead_requires_two_standard_errors_over_the_best_rival(tmp_path, ours, holds, text):
    two = [0.7, 0.65, 0.75][: len(ours)]
    claim = ahead_of(SECTION, "error below that of the rival", "ours", SECTION.family("rival"), "RMSE")
    verdict = judge(claim, tmp_path, records_of("RMSE", ours=ours, one=[0.8] * len(ours), two=two))
    assert claim.statement == "digits: error below that of the rival"
    assert (verdict.holds, verdict.measured) == (holds, text)


def test_seeds_are_compared_in_pairs(tmp_path):
    """The spread over seeds is far larger than the lead, which is the same on every seed."""
    claim = ahead_of(SECTION, "more accurate", "ours", ["rival, 1"], "accuracy")
    verdict = judge(claim, tmp_path, records_of("accuracy", ours=[0.2, 0.5, 0.9], one=[0.1, 0.4, 0.8]))
    assert verdict.holds == YES
    assert verdict.measured.startswith("+10.0 (standard error")


def test_equal_methods_are_tied(tmp_path):
    claim = ahead_of(SECTION, "more accurate", "ours", ["rival, 1"], "accuracy")
    assert judge(claim, tmp_path, records_of("accuracy", ours=[0.2, 0.5], one=[0.2, 0.5])).holds == TIE


@pytest.mark.parametrize(("ours", "holds"), [([0.6, 0.61], YES), ([0.7, 0.74], TIE), ([0.9, 0.91], NO)])
def test_claim_of_a_ratio_has_a_limit_and_the_error_of_a_ratio_of_means(tmp_path, ours, holds):
    claim = ratio_within(SECTION, "at most 3 % above", "ours", ["rival, 1", "rival, 2"], "RMSE", highest=1.03)
    verdict = judge(claim, tmp_path, records_of("RMSE", ours=ours, one=[0.9, 0.9], two=[0.7, 0.7]))
    ratio, deviation = sum(ours) / 1.4, (ours[1] - ours[0]) / 2**0.5
    expected = f"{ratio:.3f} (standard error {deviation / 2**0.5 / 0.7:.2g}) times that of rival, 2"
    assert (verdict.holds, verdict.measured) == (holds, expected)


def test_ratio_of_proportional_methods_has_no_error(tmp_path):
    claim = ratio_within(SECTION, "at most 3 % above", "ours", ["rival, 1"], "RMSE", highest=1.03)
    verdict = judge(claim, tmp_path, records_of("RMSE", ours=[0.5, 1.0], one=[1.0, 2.0]))
    assert verdict.measured == "0.500 (standard error 0) times that of rival, 1"


def test_claims_with_limits(tmp_path):
    records = records_of("accuracy", ours=[0.6, 0.7], one=[0.7, 0.7])
    near = difference_within(SECTION, "near", "ours", "rival, 1", "accuracy", lowest=-0.2)
    tied = difference_within(SECTION, "near", "ours", "rival, 1", "accuracy", lowest=-0.06)
    far = difference_within(SECTION, "near", "ours", "rival, 1", "accuracy", lowest=0.06)
    inside = mean_within(SECTION, "inside", "ours", "accuracy", lowest=0.5, highest=0.8)
    outside = mean_within(SECTION, "inside", "ours", "accuracy", highest=0.5)
    largest = largest_within(SECTION, "small", ["ours", "rival, 1"], "accuracy", highest=0.69)
    smallest = smallest_within(SECTION, "large", "ours", ["accuracy"], lowest=0.59)
    results = results_of(make_study(), tmp_path, records)
    verdicts = [claim.judge(results) for claim in (near, tied, far, inside, outside, largest, smallest)]
    assert [verdict.holds for verdict in verdicts] == [YES, TIE, NO, YES, NO, NO, YES]
    assert [verdict.measured for verdict in verdicts] == [
        *3 * ["-5.0 (standard error 5)"], "65.0 (standard error 5)", "65.0 (standard error 5)",
        "largest of 2 seeds: 70.0", "smallest of 2 seeds: 60.0",
    ]  # fmt: skip


def test_limits_of_extremes_are_on_absolute_values(tmp_path):
    claim = largest_within(SECTION, "small", ["ours"], "spread", highest=1e-6)
    verdict = judge(claim, tmp_path, records_of("spread", ours=[1e-9, -3e-6]))
    assert (verdict.holds, verdict.measured) == (NO, "largest of 2 seeds: 3e-06")


def test_data_sets_may_need_fewer_seeds():
    cells = task_cells("study", {"digits": ["a", "b"], "large": ["a"]}, {"large": 1})
    assert [(c.data, c.method) for c in cells(0, False)] == [("digits", "a"), ("digits", "b"), ("large", "a")]
    assert [(c.data, c.method, c.seed) for c in cells(1, True)] == [("digits", "a", 1), ("digits", "b", 1)]
    assert all(cell.is_quick for cell in cells(1, True))
