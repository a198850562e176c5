"""The page on likelihoods: tables, claims and sections."""

import pytest

from benchmarks.quality.likelihoods_page import LIKELIHOODS, SECTIONS
from benchmarks.study import claim_rows, render_page
from tests.benchmarks.quality.stored_results import check_sections_and_claims, record, results_of, table_row


def poisson_records(ours):
    values = {"gaussian": -2.0, "gaussian on log(1 + y)": -1.9, "true functions": -1.5}
    return [
        record(LIKELIHOODS, "synthetic-poisson", method, seed, {"log density": value})
        for seed, one in enumerate(ours)
        for method, value in {"poisson": one, **values}.items()
    ]


def test_tables_have_means_and_seeds(tmp_path):
    text = render_page(LIKELIHOODS, results_of(LIKELIHOODS, tmp_path, poisson_records([-1.6, -1.8]))).text
    means, every_seed = text.split("Every seed:")
    assert table_row(means, "poisson") == ["poisson", "**-1.700 ± 0.141 (2)**", "-", "3"]
    assert table_row(means, "true functions")[1] == "-1.500 ± 0.000 (2)"  # no method, so not the best
    assert table_row(every_seed, "poisson") == ["poisson", "log density", "-1.600", "-1.800"]


@pytest.mark.parametrize(
    ("ours", "holds"), [([-1.8, -1.81], "yes"), ([-1.7, -2.0], "**tie**"), ([-1.95, -1.96], "**no**")]
)
def test_claim_is_on_the_best_gaussian_view(tmp_path, ours, holds):
    rows = claim_rows(LIKELIHOODS, results_of(LIKELIHOODS, tmp_path, poisson_records(ours)))
    (row,) = [row for row in rows if row[0].startswith("synthetic-poisson")]
    assert row[-1] == holds
    assert row[1].startswith(f"{sum(ours) / 2 + 1.9:+.3f}")
    assert "compared with gaussian on log(1 + y)" in row[1]


def test_unfinished_data_set_has_no_verdict(tmp_path):
    rows = claim_rows(LIKELIHOODS, results_of(LIKELIHOODS, tmp_path, poisson_records([-1.6])[:-1]))
    assert {row[-1] for row in rows} == {"not measured"}


def test_every_data_set_has_a_section_and_a_claim():
    check_sections_and_claims(LIKELIHOODS, SECTIONS)
