"""Scores of predictions, and rounded normal distributions that are comparable with count models."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.cells import Cell
from benchmarks.quality.prediction_scores import (
    QUICK_ROWS,
    QUICK_STEPS,
    ColumnUnits,
    calibration,
    class_probabilities,
    fit_model,
    log_interval,
    log_loss,
    mean_log_probability,
    reduced,
    rmse,
)
from mvlvm.datasets import load


def make_cell(*, quick):
    return Cell(study="s", method="m", data="d", seed=3, settings={"quick": True} if quick else {}, device="cpu")


def test_quick_cells_have_few_rows_spread_over_all_of_them():
    data = load("digits-halves")
    assert reduced(make_cell(quick=False), data) is data
    few = reduced(make_cell(quick=True), data)
    assert {len(Y) for Y in few.values()} == {len(few.labels)} == {QUICK_ROWS}
    np.testing.assert_array_equal(few["left"][[0, -1]], data["left"][[0, -1]])
    assert len(np.unique(few.labels)) == 10


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
def test_fits_have_the_seed_and_device_of_the_cell_and_quick_ones_few_steps():
    Y = np.random.default_rng(0).normal(size=(30, 4))
    est = fit_model(make_cell(quick=True), {"a": Y}, max_iter=500)
    assert (est.max_iter, est.random_state, est.device) == (QUICK_STEPS, 3, "cpu")
    assert fit_model(make_cell(quick=False), {"a": Y}, max_iter=6).max_iter == 6


def test_units_are_those_of_the_observed_entries():
    Y = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, np.nan], [np.nan, 5.0, 4.0]])
    np.testing.assert_allclose(
        ColumnUnits.of(Y).apply(Y), [[-1, -1], [1, np.nan], [np.nan, 1]]
    )  # the constant column is excluded
    np.testing.assert_allclose(ColumnUnits.of(Y).apply_to_std(np.full((1, 3), 6.0)), [[6.0, 3.0]])


def test_errors_and_intervals_of_normal_predictions():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(200, 50))
    scores = calibration(truth, np.zeros_like(truth), np.ones_like(truth))
    assert rmse(truth, np.zeros_like(truth)) == pytest.approx(1, abs=0.03)
    # the standard error of a share is at most 0.005
    assert [scores[f"covers {p}"] for p in (50, 80, 95)] == pytest.approx([0.5, 0.8, 0.95], abs=0.02)
    assert scores["log density"] == pytest.approx(stats.norm.logpdf(truth).mean())
    assert scores["observed"] == pytest.approx(scores["expected"], abs=0.02)
    assert scores["entries"] == truth.size


@pytest.mark.parametrize(("logs", "highest"), [(False, np.inf), (True, np.inf), (False, 1.0), (False, 6.0)])
def test_probabilities_of_a_rounded_normal_variable_sum_to_one(logs, highest):
    top = int(min(highest, 3000))
    Y = np.arange(top + 1.0)[:, None]
    for mean, std in [(0.4, 0.3), (-2.0, 1.0), (3.0, 0.7)]:
        shares = np.exp(log_interval(Y, np.full_like(Y, mean), np.full_like(Y, std), highest=highest, logs=logs))
        # probability above the last count
        rest = 0.0 if np.isfinite(highest) else stats.norm.sf(np.log1p(top + 0.5) if logs else top + 0.5, mean, std)
        assert shares.sum() == pytest.approx(1 - rest, abs=1e-12)


def test_rounded_normal_probabilities_are_accurate_in_the_tails():
    Y = np.array([[2.0, 60.0, 500.0]])
    found = log_interval(Y, np.full_like(Y, 3.0), np.ones_like(Y))
    assert found[0, 0] == pytest.approx(np.log(stats.norm.cdf(-0.5) - stats.norm.cdf(-1.5)), rel=1e-12)
    # in the tail Phi(-a) is about phi(a) / a, and the far end of the interval is negligible
    for value, y in zip(found[0, 1:], (60, 500), strict=True):
        assert value == pytest.approx(stats.norm.logsf(y - 0.5 - 3), rel=1e-12)


def test_log_loss_and_class_probabilities():
    assert log_loss(np.array([[1.0, 0.0]]), np.array([[0.8, 0.4]])) == pytest.approx(-np.log([0.8, 0.6]).mean())
    shares = class_probabilities(np.array([[1.2, 0.5, -3.0]]))
    np.testing.assert_allclose(shares, np.array([[0.999, 0.5, 0.001]]) / 1.5)
    assert mean_log_probability(np.array([1]), shares) == pytest.approx(np.log(0.5 / 1.5))
