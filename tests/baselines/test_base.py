"""What all baselines share: what a failed fit leaves, and rows of views in another order.

Who stops before being done says so.

Libraries may use the global generator and leave no trace.
"""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

import mvlvm
from mvlvm import NumericalError, baselines
from mvlvm.baselines.base import as_uint32_seed, temporary_numpy_seed
from mvlvm.baselines.training import maximize
from tests.baselines.linear.test_factor_analysis import views_of_one_factor


def two_views(seed=0, n_rows=12):
    draws = np.random.default_rng(seed)
    a, b = draws.normal(size=(n_rows, 4)), draws.normal(size=(n_rows, 3))
    a[:, 1] = 2.5
    return {"a": a, "b": b}


def test_a_failed_fit_leaves_nothing_that_looks_fitted():
    est = baselines.get("PCA")(n_components=2).fit(two_views())
    est.set_params(n_components=50)
    with pytest.raises(ValueError, match="n_components"):
        est.fit(two_views())
    with pytest.raises(NotFittedError):
        est.transform(two_views())


def test_latents_that_are_not_finite_are_no_fit(monkeypatch):
    PCA = baselines.get("PCA")
    monkeypatch.setattr(PCA, "_fit_latents", lambda self, views, labels, seed: np.full((12, 2), np.nan))
    est = PCA(n_components=2)
    with pytest.raises(
        NumericalError, match="PCA failed numerically: not all latents are finite. Try another random_state"
    ):
        est.fit(two_views())
    with pytest.raises(NotFittedError):
        est.transform(two_views())


def test_latents_are_the_users_own():
    """Who changes them does not change where new rows go."""
    views = two_views()
    est = baselines.get("MV-GPLVM-SVI")(n_components=2, n_inducing=4, max_iter=3, random_state=0).fit(views)
    before = est.transform(views)
    est.embedding_ *= 0
    np.testing.assert_array_equal(est.transform(views), before)


def test_views_of_new_rows_may_come_in_any_order():
    views = two_views()
    est = baselines.get("PCA")(n_components=2).fit(views)
    turned = {"b": views["b"], "a": views["a"]}
    np.testing.assert_allclose(est.transform(turned), est.embedding_, atol=1e-12)


def test_a_constant_column_is_rebuilt_as_it_was():
    views = two_views()
    rebuilt = baselines.get("PCA")(n_components=6).fit(views).reconstruct()
    np.testing.assert_allclose(rebuilt["a"], views["a"], atol=1e-10)


METHODS = [
    ("GFA", "cca_zoo", {"tol": 1e-2}, "GFA reached max_iter=2 before its factors converged to tol=0.01"),
    ("MOFA", "mofapy2", {}, "MOFA reached max_iter=2 before its ELBO converged"),
    ("BGPLVM", "GPy", {"n_inducing": 5}, "BGPLVM did not converge within max_iter=2: maximum"),
    ("MRD", "GPy", {"n_inducing": 5}, "MRD did not converge within max_iter=2: maximum"),
]
ENOUGH = {"GFA": 3000, "MOFA": 1000, "BGPLVM": 20_000, "MRD": 20_000}


@pytest.mark.parametrize(("name", "package", "parameters", "message"), METHODS, ids=[entry[0] for entry in METHODS])
def test_too_few_rounds_are_told_of_and_enough_are_not(name, package, parameters, message):
    pytest.importorskip(package)
    views, _ = views_of_one_factor(n_rows=25)
    with pytest.warns(mvlvm.ConvergenceWarning, match=message + ".*Raise max_iter"):
        baselines.get(name)(n_components=1, max_iter=2, random_state=0, **parameters).fit(views)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        baselines.get(name)(n_components=1, max_iter=ENOUGH[name], random_state=0, **parameters).fit(views)


def test_an_interrupted_fit_is_told_of():
    module, n_asked = nn.Linear(1, 1), 0

    def bound(generator):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 4:
            raise KeyboardInterrupt
        return -module(torch.ones(1, 1)).square().sum().double()

    with pytest.warns(mvlvm.ConvergenceWarning, match="interrupted after 3 of 50 steps"):
        maximize(module, bound, max_iter=50, learning_rate=0.1, seed=0)


def test_a_view_without_noise_breaks_group_factors_in_words():
    pytest.importorskip("cca_zoo")
    labels = np.arange(60) % 3
    Y = np.random.default_rng(0).normal(size=(60, 8)) + 3 * np.eye(8)[labels]
    with pytest.raises(mvlvm.NumericalError, match="failed numerically.*3 factors explain without noise.*use MOFA"):
        baselines.get("GFA")(n_components=3, max_iter=200, random_state=0).fit({"Y": Y, "class": np.eye(3)[labels]})


def test_draws_depend_on_the_seed_alone_and_leave_no_trace():
    np.random.seed(3)
    expected = np.random.random(2)
    np.random.seed(3)
    with temporary_numpy_seed(2**62 + 1):
        first = np.random.random(4)
    after = np.random.random(2)
    with temporary_numpy_seed(2**62 + 1):
        second = np.random.random(4)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(after, expected)


def test_a_failure_leaves_no_trace_either():
    before = np.random.get_state()[1].copy()
    with pytest.raises(ZeroDivisionError), temporary_numpy_seed(0):
        _ = np.random.randint(5) / 0
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_small_seeds_stay_as_they_are():
    assert as_uint32_seed(7) == 7
    assert as_uint32_seed(2**32 + 7) == 7
