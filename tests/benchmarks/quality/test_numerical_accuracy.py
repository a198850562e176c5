"""Densities, expectations and bounds agree with independent references."""

import pytest

from benchmarks.quality.numerical_accuracy import BOUND, DENSITIES, NUMERICAL_ACCURACY
from benchmarks.study import claim_rows, render_page
from tests.benchmarks.quality.stored_results import check_sections_and_claims, record, results_of, table_row


@pytest.mark.parametrize("cell", NUMERICAL_ACCURACY.all_cells(quick=True), ids=lambda cell: cell.method)
def test_likelihoods_and_bound_agree_with_references(cell):
    metrics = NUMERICAL_ACCURACY.measure(cell).metrics
    assert max(map(abs, metrics.values())) < 1e-6


def test_a_single_large_error_refutes_a_claim(tmp_path):
    errors = {"density": 1e-12, "expected": 1e-9, "expected, relative": 1e-9}
    records = [
        record(NUMERICAL_ACCURACY, "densities", name, seed, dict(errors))
        for seed in (0, 1)
        for name in DENSITIES.methods
    ]
    records[3].metrics["expected"] = 1e-5
    results = results_of(NUMERICAL_ACCURACY, tmp_path, records)
    assert [row[-1] for row in claim_rows(NUMERICAL_ACCURACY, results)] == ["yes", "**no**", "yes", "not measured"]
    row = table_row(render_page(NUMERICAL_ACCURACY, results).text, DENSITIES.methods[0])
    assert row == [DENSITIES.methods[0], *["1.0e-12 ± 0.0e+00 (2)"], *["1.0e-09 ± 0.0e+00 (2)"] * 2]


def test_every_data_set_has_a_section_and_a_claim():
    check_sections_and_claims(NUMERICAL_ACCURACY, [DENSITIES, BOUND])
