"""The schedule of spectral points and learning rate."""

import numpy as np
import pytest

from mvlvm import NGMVLVM, defaults
from mvlvm.datasets import load

FIT = {"n_draws_predict": 1, "random_state": 0}
SCHEDULES = "coarse-to-fine", "constant"
# Few steps are needed until the bound rises less than this per entry and window.
COARSE = {"tol": 0.1, **FIT}


@pytest.fixture(scope="module")
def views():
    return dict(load("s-curve", n_samples=60, n_features=12, random_state=0))


def same_history(first, second):
    return np.array_equal(first.history_["elbo"], second.history_["elbo"])


@pytest.mark.parametrize(
    "setting",
    [
        {"tol": 0.0, "max_iter": 400},
        {"n_points": 25},
        {"max_iter": 399},
        {"view_weights": {"view1": 1.0, "view2": 0.0}},
    ],
    ids=["no tolerance", "few points", "few steps", "one view of positive weight"],
)
def test_all_points_are_used_where_two_phases_are_impossible(views, setting):
    fine, constant = (NGMVLVM(schedule=name, **COARSE | setting).fit(views) for name in SCHEDULES)
    assert same_history(fine, constant)
    assert fine.history_["learning_rate"][0] == defaults.LEARNING_RATE


def test_a_single_view_uses_all_points(views):
    view = next(iter(views.values()))
    assert same_history(*(NGMVLVM(schedule=name, **COARSE).fit(view) for name in SCHEDULES))


@pytest.mark.parametrize("rate", [None, 0.02])
def test_learning_rates_are_relative_to_the_given_one(views, rate):
    given = {} if rate is None else {"learning_rate": rate}
    rates = NGMVLVM(schedule="coarse-to-fine", **COARSE | given).fit(views).history_["learning_rate"]
    rate = rate or defaults.LEARNING_RATE
    assert rates[0] == pytest.approx(2 * rate)
    n_first = len(rates) - defaults.DECAY_STEPS
    assert np.ptp(rates[: n_first + defaults.HOLD_STEPS + 1]) == 0
    assert np.all(np.diff(rates[n_first + defaults.HOLD_STEPS + 1 :]) < 0)
    assert rates[-1] == pytest.approx(defaults.FINAL_LEARNING_RATE_FRACTION * rate, rel=0.01)


def test_the_second_phase_is_complete_if_the_bound_never_becomes_flat(views):
    est = NGMVLVM(schedule="coarse-to-fine", **FIT, tol=1e-12, max_iter=400)
    with pytest.warns(match="converge"):
        est.fit(views)
    assert est.n_iter_ == 400
    assert np.count_nonzero(np.diff(est.history_["learning_rate"])) == defaults.DECAY_STEPS - defaults.HOLD_STEPS - 1


def test_the_reported_bound_uses_all_points(views):
    """The bound of a fit with the schedule is near that of one with all points throughout."""
    fine, constant = (NGMVLVM(schedule=name, **FIT).fit(views) for name in SCHEDULES)
    n_entries = sum(Y.size for Y in views.values())
    assert abs(fine.elbo_ - constant.elbo_) / n_entries < 0.02


def test_an_unknown_schedule_is_rejected(views):
    with pytest.raises(ValueError, match=r"schedule.*'constant'.*'coarse-to-fine'.*'linear'"):
        NGMVLVM(schedule="linear").fit(views)
