"""The comparison of options on all data sets, and its page for the schedule of spectral points."""

import numpy as np
import pytest

from benchmarks.cells import Cell
from benchmarks.quality import fit_comparison
from benchmarks.quality.fit_comparison import MEASURES, compare, load_rows, measure_options
from benchmarks.quality.spectral_points import COARSE, CONSTANT, SPECTRAL_POINTS
from benchmarks.study import claim_rows, render_page
from tests.benchmarks.quality.stored_results import record, results_of, table_row


def make_record(method, seed, metrics):
    return record(SPECTRAL_POINTS, "mfeat", method, seed, metrics, settings={"D": 2})


def records_of(gains, metric="bound"):
    return [
        make_record(method, seed, {metric: value, "seconds": 1.0 + (method == CONSTANT)})
        for seed, gain in enumerate(gains)
        for method, value in ((COARSE, seed + gain), (CONSTANT, float(seed)))
    ]


def test_gains_are_paired_by_seed_and_errors_count_as_losses(tmp_path):
    results = results_of(SPECTRAL_POINTS, tmp_path, records_of([0.02, 0.04], "RMSE"))
    (item,) = compare(results, COARSE, CONSTANT, (2,))
    assert (item.data, item.dimensions, item.measure.metric) == ("mfeat", 2, "RMSE")
    assert item.gain.mean == pytest.approx(-3.0)
    assert item.gain.standard_error == pytest.approx(1.0)
    assert item.is_worse
    assert item.is_much_worse


@pytest.mark.parametrize(("gains", "holds", "shown"), [([0.001, 0.002], "yes", "+1.50 ± 0.50"),
                                                       ([-0.004, -0.005], "**no**", "**-4.50 ± 0.50**")])  # fmt: skip
def test_page_shows_losses_and_the_claim(tmp_path, gains, holds, shown):
    results = results_of(SPECTRAL_POINTS, tmp_path, records_of(gains))
    row = table_row(render_page(SPECTRAL_POINTS, results).text, "mfeat")
    assert row[:3] == ["mfeat", "2", shown]
    assert row[-1] == "0.50"
    assert [claim[-1] for claim in claim_rows(SPECTRAL_POINTS, results)] == [holds]


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
def test_every_metric_is_measured():
    cell = Cell(study="spectral-points", method=COARSE, data="s-curve", seed=0, settings={"D": 2, "quick": True})
    metrics = measure_options(cell, {"schedule": "coarse-to-fine"}).metrics
    assert {measure.metric for measure in MEASURES} - set(metrics) == {"accuracy"}
    assert all(np.isfinite(value) for value in metrics.values())


def test_rows_are_drawn_by_the_seed(monkeypatch):
    monkeypatch.setattr(fit_comparison, "MULTI_VIEW_SETS", {"s-curve": {"rows": 50}})
    cells = (Cell(study="x", method="y", data="s-curve", seed=seed, settings={}) for seed in (0, 0, 1))
    first, again, other = map(load_rows, cells)
    assert {Y.shape[0] for Y in first.values()} == {50}
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not any(np.array_equal(first[name], other[name]) for name in first)
