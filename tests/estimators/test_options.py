import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, ViewError
from mvlvm.datasets import load

QUICK = {"max_iter": 15, "tol": 0.0, "n_points": 8, "random_state": 0}
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def data():
    return load("shared-private", n_samples=50, n_features=6, random_state=0)


@pytest.fixture(scope="module")
def with_private(data):
    return NGMVLVM(n_components=2, n_private={"b": 2}, **QUICK).fit(data)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
@pytest.mark.parametrize("n_private", [{"a": 1, "b": 1}, None], ids=["given", "not given"])
def test_shared_and_private_factors_are_recovered(n_private, seed):
    data = load("shared-private", n_samples=200, random_state=seed)
    truth = np.hstack([data.truth["shared"], data.truth["private"]["a"], data.truth["private"]["b"]])
    n_components = 3 if n_private is None else 1
    est = NGMVLVM(
        n_components=n_components, n_private=n_private, max_iter=300, tol=0.0, n_points=25, n_draws_predict=1,
        random_state=seed,
    ).fit(data)  # fmt: skip
    used = est.relevance_ >= 0.05 * est.relevance_.max(axis=1, keepdims=True)
    patterns = ([True, True], [True, False], [False, True])
    order = [np.flatnonzero((pattern == used.T).all(axis=1)).item() for pattern in patterns]
    correlations = np.abs(np.corrcoef(est.factors().to_numpy()[:, order].T, truth.T)[:3, 3:])
    assert correlations.diagonal().min() > 0.9
    assert (correlations - np.diag(correlations.diagonal())).max() < 0.25


def test_embedding_contains_shared_dimensions_and_private_embeddings_are_per_view(with_private, data):
    assert with_private.embedding_.shape == with_private.embedding_std_.shape == (50, 2)
    assert {view: X.shape for view, X in with_private.private_embedding_.items()} == {"b": (50, 2)}
    assert {view: X.shape for view, X in with_private.private_embedding_std_.items()} == {"b": (50, 2)}
    assert with_private.relevance_.shape == with_private.explained_variance_per_dimension_.shape == (2, 4)
    np.testing.assert_array_equal(with_private.relevance_[0, 2:], 0)
    np.testing.assert_array_equal(with_private.explained_variance_per_dimension_[0, 2:], 0)
    assert (with_private.relevance_[1] > 0).all()
    mean, std = with_private.transform({"a": data["a"][:5]}, return_std=True)
    assert mean.shape == std.shape == (5, 2)
    assert with_private.predict({"a": data["a"][:5]}, target="b").shape == (5, 6)


def test_private_embedding_is_empty_by_default(fitted):
    assert fitted.private_embedding_ == {}
    assert fitted.embedding_.shape == (60, 2)


def test_private_dimensions_are_saved(with_private, data, tmp_path):
    with_private.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    assert loaded.n_private == {"b": 2}
    np.testing.assert_array_equal(loaded.embedding_, with_private.embedding_)
    np.testing.assert_array_equal(loaded.private_embedding_["b"], with_private.private_embedding_["b"])
    np.testing.assert_array_equal(loaded.private_embedding_std_["b"], with_private.private_embedding_std_["b"])
    np.testing.assert_array_equal(loaded.relevance_, with_private.relevance_)
    np.testing.assert_array_equal(
        loaded.explained_variance_per_dimension_, with_private.explained_variance_per_dimension_
    )
    np.testing.assert_array_equal(loaded.kernel_matrix("a"), with_private.kernel_matrix("a"))
    views = {"b": data["b"][:4]}
    np.testing.assert_array_equal(loaded.transform(views), with_private.transform(views))


@pytest.mark.parametrize("n_columns", [1, 3])
def test_an_array_initialises_the_shared_dimensions_or_all(n_columns, data):
    initial = RNG.normal(size=(50, n_columns))
    est = MVARFLVM(n_private={"a": 1, "b": 1}, n_components=1, init=initial, **QUICK | {"learning_rate": 1e-6}).fit(
        data
    )
    latents = est.factors().to_numpy()
    np.testing.assert_allclose(latents[:, :n_columns], initial, atol=1e-3)


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("n_private", "error", "message"),
    [
        (1, ValueError, "n_private must be None, or a dict of view names.*Got 1. The views are: a, b"),
        ({"c": 1}, ValueError, "n_private must name views. Got 'c'. The views are: a, b"),
        ({"a": -1}, ValueError, "n_private must be an integer of at least 0. Got -1"),
        ({"a": 1.5}, ValueError, "n_private must be an integer of at least 0. Got 1.5"),
        ({"a": 7}, ViewError, r"n_private assigns 7 private dimensions to view 'a', which has only 6 column\(s\)"),
    ],
)
def test_invalid_numbers_of_private_dimensions_are_rejected(n_private, error, message, data):
    with pytest.raises(error, match=message):
        NGMVLVM(n_private=n_private, **QUICK).fit(data)


def test_an_initial_array_with_a_wrong_number_of_columns_is_rejected(data):
    with pytest.raises(ValueError, match=r"shape \(50, 1\), rows by n_components, or 3 columns with the private ones"):
        NGMVLVM(n_components=1, n_private={"a": 1, "b": 1}, init=np.zeros((50, 2)), **QUICK).fit(data)


def test_factors_and_relevance_are_labelled_dataframes(with_private, data):
    factors, relevance = with_private.factors(), with_private.relevance()
    assert list(factors.columns) == list(relevance.columns) == ["x0", "x1", "b:0", "b:1"]
    assert list(relevance.index) == ["a", "b"]
    np.testing.assert_array_equal(relevance, with_private.relevance_)
    variance = with_private.relevance(of="variance")
    assert list(variance.columns) == list(factors.columns)
    np.testing.assert_array_equal(variance, with_private.explained_variance_per_dimension_)
    with pytest.raises(ValueError, match="of must be one of 'variation', 'variance'. Got 'size'"):
        with_private.relevance(of="size")
    np.testing.assert_array_equal(factors[["x0", "x1"]], with_private.embedding_)
    np.testing.assert_array_equal(factors[["b:0", "b:1"]], with_private.private_embedding_["b"])
    rows = [f"cell {n}" for n in range(50)]
    labelled = NGMVLVM(**QUICK | {"max_iter": 1}).fit(pd.DataFrame(data["a"], index=rows))
    assert list(labelled.factors().index) == rows
