"""The estimator interface of all baselines: failed fits, copies, and the order of views.

Also convergence warnings, and the temporary seed of NumPy's global generator.
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


def test_failed_fit_leaves_estimator_unfitted():
    est = baselines.get("PCA")(n_components=2).fit(two_views())
    est.set_params(n_components=50)
    with pytest.raises(ValueError, match="n_components"):
        est.fit(two_views())
    with pytest.raises(NotFittedError):
        est.transform(two_views())


def test_non_finite_latents_raise_error(monkeypatch):
    PCA = baselines.get("PCA")
    monkeypatch.setattr(PCA, "_fit_latents", lambda self, views, labels, seed: np.full((12, 2), np.nan))
    est = PCA(n_components=2)
    with pytest.raises(
        NumericalError, match="PCA failed numerically: not all latents are finite. Try another random_state"
    ):
        est.fit(two_views())
    with pytest.raises(NotFittedError):
        est.transform(two_views())


def test_embedding_is_independent_copy():
    """Modifying the embedding does not change the latents of new rows."""
    views = two_views()
    est = baselines.get("MV-GPLVM-SVI")(n_components=2, n_inducing=4, max_iter=3, random_state=0).fit(views)
    before = est.transform(views)
    est.embedding_ *= 0
    np.testing.assert_array_equal(est.transform(views), before)


def test_order_of_new_views_is_irrelevant():
    views = two_views()
    est = baselines.get("PCA")(n_components=2).fit(views)
    turned = {"b": views["b"], "a": views["a"]}
    np.testing.assert_allclose(est.transform(turned), est.embedding_, atol=1e-12)


def test_constant_column_is_reconstructed():
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
def test_convergence_warning_is_issued_only_without_convergence(name, package, parameters, message):
    pytest.importorskip(package)
    views, _ = views_of_one_factor(n_rows=25)
    with pytest.warns(mvlvm.ConvergenceWarning, match=message + ".*Raise max_iter"):
        baselines.get(name)(n_components=1, max_iter=2, random_state=0, **parameters).fit(views)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        baselines.get(name)(n_components=1, max_iter=ENOUGH[name], random_state=0, **parameters).fit(views)


def test_interrupted_fit_issues_warning():
    module, n_asked = nn.Linear(1, 1), 0

    def bound(generator):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 4:
            raise KeyboardInterrupt
        return -module(torch.ones(1, 1)).square().sum().double()

    with pytest.warns(mvlvm.ConvergenceWarning, match="interrupted after 3 of 50 steps"):
        maximize(module, bound, max_iter=50, learning_rate=0.1, seed=0)


def test_gfa_explains_failure_for_noiseless_view():
    pytest.importorskip("cca_zoo")
    labels = np.arange(60) % 3
    Y = np.random.default_rng(0).normal(size=(60, 8)) + 3 * np.eye(8)[labels]
    with pytest.raises(mvlvm.NumericalError, match="failed numerically.*3 factors explain without noise.*use MOFA"):
        baselines.get("GFA")(n_components=3, max_iter=200, random_state=0).fit({"Y": Y, "class": np.eye(3)[labels]})


def test_temporary_seed_determines_draws_and_restores_state():
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


def test_temporary_seed_restores_state_after_exception():
    before = np.random.get_state()[1].copy()
    with pytest.raises(ZeroDivisionError), temporary_numpy_seed(0):
        _ = np.random.randint(5) / 0
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_small_seeds_are_unchanged():
    assert as_uint32_seed(7) == 7
    assert as_uint32_seed(2**32 + 7) == 7
