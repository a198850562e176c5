"""Canonical correlations against singular values."""

import numpy as np
import pytest

from mvlvm import baselines
from tests.baselines.test_linear_factors import share_explained, views_of_one_factor

pytest.importorskip("cca_zoo")
MCCA = baselines.get("MCCA")


def basis(Y):
    """Give an orthonormal basis of the columns, centred."""
    return np.linalg.qr(Y - Y.mean(0))[0]


def test_scores_of_two_views_correlate_as_canonical_correlations_do():
    draws = np.random.default_rng(0)
    Y = draws.normal(size=(100, 7)) @ draws.normal(size=(7, 7))
    views = {"a": Y[:, :3], "b": Y[:, 3:] + draws.normal(size=(100, 4))}
    expected = np.linalg.svd(basis(views["a"]).T @ basis(views["b"]), compute_uv=False)
    est = MCCA(n_components=2).fit(views)
    a, b = (est.transform({name: views[name]}) for name in ("a", "b"))
    correlations = [np.corrcoef(a[:, d], b[:, d])[0, 1] for d in range(2)]
    # cca-zoo lifts small eigenvalues by a millionth of the largest
    np.testing.assert_allclose(correlations, expected[:2], atol=1e-4)
    np.testing.assert_allclose(est.embedding_, (a + b) / 2)


def test_the_factor_that_views_share_comes_first_and_predicts():
    views, truth = views_of_one_factor()
    est = MCCA(n_components=1, shrinkage=0.1, random_state=0).fit(views)
    assert share_explained(truth, est.embedding_) > 0.95
    predicted = est.predict({"a": views["a"]}, target="b")
    assert 1 - np.var(predicted - views["b"]) / np.var(views["b"]) > 0.9


def test_views_are_rebuilt_by_least_squares():
    views, _ = views_of_one_factor()
    est = MCCA(n_components=2).fit(views)
    design = np.column_stack([est.embedding_, np.ones(80)])
    for name, Y in est.reconstruct().items():
        np.testing.assert_allclose(Y, design @ np.linalg.lstsq(design, views[name])[0], atol=1e-8)
