"""What all baselines share: what a failed fit leaves, and rows of views in another order."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mvlvm import baselines


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


def test_views_of_new_rows_may_come_in_any_order():
    views = two_views()
    est = baselines.get("PCA")(n_components=2).fit(views)
    turned = {"b": views["b"], "a": views["a"]}
    np.testing.assert_allclose(est.transform(turned), est.embedding_, atol=1e-12)


def test_a_constant_column_is_rebuilt_as_it_was():
    views = two_views()
    rebuilt = baselines.get("PCA")(n_components=6).fit(views).reconstruct()
    np.testing.assert_allclose(rebuilt["a"], views["a"], atol=1e-10)
