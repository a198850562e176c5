"""What all baselines share: what a failed fit leaves, and rows of views in another order."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mvlvm import NumericalError, baselines


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
    monkeypatch.setattr(PCA, "_learn", lambda self, views, labels, seed: np.full((12, 2), np.nan))
    est = PCA(n_components=2)
    with pytest.raises(NumericalError, match="PCA broke down: not all latents are finite. Take another random_state"):
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
