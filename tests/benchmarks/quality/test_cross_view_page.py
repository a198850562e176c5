"""The page on cross-view prediction: tables, claims and the calibration figure."""

import numpy as np
import pytest

from benchmarks.quality.cross_view_page import CROSS_VIEW, SECTIONS, reliability_curves
from benchmarks.study import claim_rows, render_page, write_page
from tests.benchmarks.quality.stored_results import check_sections_and_claims, record, results_of, table_row

RIVALS = {"ridge": 0.9, "5-NN": 0.8, "10-NN": 0.7, "column means": 1.0}


def digits_records(ours, *, covers=0.95):
    """Return records of one data set; the model has one value per seed, the other methods are constant."""
    curve = {"covers 95": covers, "expected": [0.5, 0.9], "observed": [0.4, 0.8], "entries": 100}
    values = {"NG-MVLVM": [{"RMSE": e, **curve} for e in ours]}
    values |= {rival: [{"RMSE": e}] * len(ours) for rival, e in RIVALS.items()}
    return [
        record(CROSS_VIEW, "digits-halves", method, seed, metrics)
        for method, by_seed in values.items()
        for seed, metrics in enumerate(by_seed)
    ]


def test_table_has_mean_and_standard_deviation_of_every_method(tmp_path):
    text = render_page(CROSS_VIEW, results_of(CROSS_VIEW, tmp_path, digits_records([0.5, 0.7]))).text
    assert table_row(text, "NG-MVLVM") == [
        "NG-MVLVM", "**0.600 ± 0.141 (2)**", "-", "-", "0.950 ± 0.000 (2)", "-", "-", "3",
    ]  # fmt: skip
    assert table_row(text, "10-NN")[:2] == ["10-NN", "0.700 ± 0.000 (2) ≈"]
    assert "NG-MVLVM has the settings" in text


@pytest.mark.parametrize(("ours", "covers", "expected"), [
    ([0.70, 0.71], 0.95, ["yes", "yes", "yes"]),
    ([0.80, 0.81], 0.99, ["yes", "**no**", "**no**"]),
    ([0.60, 1.00], 0.80, ["**tie**", "**tie**", "**no**"]),
    ([0.95, 0.96], 0.80, ["**no**", "**no**", "**no**"]),
])  # fmt: skip
def test_claims_use_the_best_setting_of_the_rival(tmp_path, ours, covers, expected):
    rows = claim_rows(CROSS_VIEW, results_of(CROSS_VIEW, tmp_path, digits_records(ours, covers=covers)))
    assert [row[-1] for row in rows[:3]] == expected
    assert "times that of 10-NN" in rows[1][1]
    assert {row[-1] for row in rows[3:]} == {"not measured"}


def test_unfinished_data_set_has_no_verdict_and_no_figure(tmp_path):
    results = results_of(CROSS_VIEW, tmp_path, digits_records([0.5])[:-1])  # one rival is unfinished
    assert {row[-1] for row in claim_rows(CROSS_VIEW, results)} == {"not measured"}
    page = render_page(CROSS_VIEW, results)
    assert page.text.count("Not measured yet.") == len(SECTIONS)
    assert not page.figures


def test_figure_of_the_page_is_written(tmp_path):
    results = results_of(CROSS_VIEW, tmp_path / "cells", digits_records([0.5]))
    page, *figures = write_page(CROSS_VIEW, results, tmp_path / "pages")
    assert "](cross-view-calibration.png)" in page.read_text()
    assert [path.name for path in figures] == ["cross-view-calibration.png", "cross-view-calibration.svg"]
    assert figures[0].stat().st_size > 10_000


def test_calibration_curve_weights_seeds_by_entries(tmp_path):
    records = digits_records([0.5, 0.5])
    parts = [{"observed": [0.2, 0.8], "entries": 100}, {"observed": [0.6, 0.8], "entries": 300}]
    for one, part in zip(records[:2], parts, strict=True):
        one.metrics.update(part)
    ((expected, observed),) = reliability_curves(results_of(CROSS_VIEW, tmp_path, records)).values()
    np.testing.assert_allclose((expected, observed), ([0.5, 0.9], [(0.2 * 100 + 0.6 * 300) / 400, 0.8]))


def test_every_data_set_has_a_section_and_a_claim():
    check_sections_and_claims(CROSS_VIEW, SECTIONS, without_claim=["mnist-10000"])


def test_the_timing_of_many_rows_has_one_seed():
    cells = CROSS_VIEW.all_cells()
    assert [cell.seed for cell in cells if cell.data == "mnist-10000"] == [0]
    assert {cell.seed for cell in cells} == set(range(5))
