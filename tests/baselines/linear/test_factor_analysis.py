"""Factor analysis: posterior means of factors, and recovery of factors."""

import numpy as np
import pytest

from mvlvm import ViewError, baselines
from mvlvm.baselines.linear.factor_analysis import Loadings, expected_factors

# a few iterations suffice here
pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")


def some_loadings(draws, n_columns, variances):
    W = draws.normal(size=(n_columns, 2))
    return Loadings(W, variances * draws.random((n_columns, 2)), 0.5 + draws.random(n_columns))


def conditional_mean(y, loadings):
    """Return E[x | y] of one row from the joint normal of x and y, with the full covariance of y.

    Uncertain weights add a precision to the prior, E[w w'] = w w' + diag(v).
    """
    W, V, tau = (np.concatenate(parts) for parts in zip(*loadings, strict=True))
    seen = ~np.isnan(y)
    prior = np.diag(1 / (1 + tau[seen] @ V[seen]))
    covariance = W[seen] @ prior @ W[seen].T + np.diag(1 / tau[seen])
    return prior @ W[seen].T @ np.linalg.solve(covariance, y[seen])


@pytest.mark.parametrize("variances", [0.0, 0.3])
def test_expected_factors_match_conditional_mean(variances):
    draws = np.random.default_rng(0)
    loadings = {"a": some_loadings(draws, 5, variances), "b": some_loadings(draws, 3, variances)}
    views = {"a": draws.normal(size=(6, 5)), "b": draws.normal(size=(6, 3))}
    views["a"][0, 2] = views["b"][1] = np.nan
    views["a"][5] = views["b"][5] = np.nan
    X = expected_factors(views, loadings)
    for n in range(5):
        expected = conditional_mean(np.concatenate([views["a"][n], views["b"][n]]), loadings.values())
        np.testing.assert_allclose(X[n], expected)
    np.testing.assert_array_equal(X[5], 0)
    only_b = expected_factors({"b": views["b"][:1]}, loadings)[0]
    np.testing.assert_allclose(only_b, conditional_mean(views["b"][0], [loadings["b"]]))


def views_of_one_factor(seed=0, n_rows=80):
    """Two views that share one factor; the first has an additional private factor."""
    draws = np.random.default_rng(seed)
    shared, private = draws.normal(size=(2, n_rows, 1))
    a = shared @ draws.normal(size=(1, 20)) + private @ draws.normal(size=(1, 20))
    b = shared @ draws.normal(size=(1, 16))
    return {"a": a + 0.1 * draws.normal(size=a.shape), "b": b + 0.1 * draws.normal(size=b.shape)}, shared[:, 0]


def share_explained(truth, X):
    """Return the R² of a regression of the truth on the latents."""
    design = np.column_stack([X, np.ones(len(X))])
    residual = truth - design @ np.linalg.lstsq(design, truth)[0]
    return 1 - residual.var() / truth.var()


METHODS = [("MOFA", "mofapy2", {"max_iter": 200}), ("GFA", "cca_zoo", {"max_iter": 500})]


@pytest.mark.parametrize(("name", "package", "parameters"), METHODS)
def test_shared_factor_is_recovered_and_predicts_other_view(name, package, parameters):
    pytest.importorskip(package)
    views, truth = views_of_one_factor()
    train, test = ({view: Y[rows] for view, Y in views.items()} for rows in (slice(60), slice(60, None)))
    est = baselines.get(name)(n_components=2, random_state=0, **parameters).fit(train)
    assert share_explained(truth[:60], est.embedding_) > 0.95
    # noise is a hundredth of the signal's variance; the prior and the 60 rows add some error
    predicted = est.predict({"a": test["a"]}, target="b")
    assert 1 - np.var(predicted - test["b"]) / np.var(test["b"]) > 0.9
    rebuilt = est.reconstruct()
    assert all(1 - np.var(rebuilt[view] - Y) / np.var(Y) > 0.95 for view, Y in train.items())


def test_mofa_transform_recovers_training_latents():
    pytest.importorskip("mofapy2")
    views, _ = views_of_one_factor()
    est = baselines.get("MOFA")(n_components=2, max_iter=1000, random_state=0).fit(views)
    placed = est.transform(views)
    # mofapy2 stops when its ELBO has converged, and updates its weights after its factors
    assert np.linalg.norm(placed - est.embedding_) < 0.05 * np.linalg.norm(est.embedding_)


def test_mofa_supports_missing_entries_in_training_and_new_rows():
    pytest.importorskip("mofapy2")
    views, truth = views_of_one_factor()
    views["a"][:10, :5] = np.nan
    views["b"][10:20] = np.nan
    est = baselines.get("MOFA")(n_components=2, max_iter=200, random_state=0).fit(views)
    assert share_explained(truth, est.embedding_) > 0.9
    assert np.isfinite(est.transform(views)).all()
    assert np.isfinite(est.reconstruct()["b"]).all()


def test_gfa_latents_match_cca_zoo():
    probabilistic = pytest.importorskip("cca_zoo.probabilistic")
    views, _ = views_of_one_factor()
    est = baselines.get("GFA")(n_components=2, max_iter=20, random_state=0).fit(views)
    # with centred and scaled columns
    scaled = {name: scaling.apply(views[name]) for name, scaling in est._validated.scalings.items()}
    model = probabilistic.GFA(2, max_iter=20, drop_k=False, n_posterior_samples=100, random_state=0)
    with pytest.warns(match="converge"):
        model.fit(list(scaled.values()))
    np.testing.assert_allclose(est.embedding_, model.posterior_mean(list(scaled.values())), rtol=1e-8, atol=1e-10)
    alone = model.posterior_mean([scaled["a"], None])
    np.testing.assert_allclose(est.transform({"a": views["a"]}), alone, rtol=1e-8, atol=1e-10)


def test_gfa_rejects_single_view():
    with pytest.raises(ViewError, match="GFA needs at least 2 views"):
        baselines.get("GFA")().fit(np.eye(4))
