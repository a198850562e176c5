import numpy as np
import pytest

import mvlvm
from mvlvm import NGMVLVM, ViewError, ViewWarning
from mvlvm.datasets import load

QUICK = {"max_iter": 10, "n_draws_predict": 1, "tol": 0.0, "n_points": 8, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return load("shared-private", n_samples=50, n_features=6, random_state=0)


def test_unit_sample_weights_do_not_change_the_fit(data):
    plain, weighted = (
        NGMVLVM(**QUICK).fit(data, sample_weight=weight).embedding_ for weight in (None, np.ones(50))
    )  # fmt: skip
    np.testing.assert_array_equal(plain, weighted)


def test_rows_with_larger_weights_are_explained_better():
    Y = np.random.default_rng(0).normal(size=(60, 8))
    errors = []
    for half in (slice(0, 30), slice(30, 60)):
        weight = np.full(60, 0.05)
        weight[half] = 5.0
        est = NGMVLVM(max_iter=150, tol=0.0, n_points=10, random_state=0).fit(Y, sample_weight=weight)
        errors.append(((est.reconstruct() - Y) ** 2).mean(axis=1))
    assert errors[0][:30].mean() < errors[1][:30].mean() - 0.05
    assert errors[1][30:].mean() < errors[0][30:].mean() - 0.05


def test_rows_of_weight_zero_do_not_influence_the_fit_and_are_inferred_as_new_rows(data):
    weight = np.ones(50)
    weight[[3, 17]] = 0.0
    with_outliers = {name: Y.copy() for name, Y in data.items()}
    for Y in with_outliers.values():
        Y[[3, 17]] = 1e3
    est, other = (NGMVLVM(**QUICK).fit(views, sample_weight=weight) for views in (data.views, with_outliers))
    positive = weight > 0
    np.testing.assert_array_equal(est.embedding_[positive], other.embedding_[positive])
    assert est.elbo_ == other.elbo_
    rows = {name: Y[[3, 17]] for name, Y in data.items()}
    mean, std = est.transform(rows, return_std=True)
    np.testing.assert_allclose(est.embedding_[[3, 17]], mean, atol=1e-5)
    np.testing.assert_allclose(est.embedding_std_[[3, 17]], std, rtol=1e-4)


def test_rows_of_weight_zero_are_inferred_from_encoded_views(data):
    """Labels and binary views are encoded, also for rows whose latents are inferred after training."""
    rng = np.random.default_rng(0)
    views = {
        "a": data["a"][:, :2],
        "label": rng.choice(["x", "y", "z"], 50),
        "sign": np.sign(data["b"] - np.median(data["b"], axis=0)),
    }
    weight = np.ones(50)
    weight[::5] = 0.0
    likelihood = {"a": "gaussian", "label": "categorical", "sign": "bernoulli"}
    est = NGMVLVM(likelihood=likelihood, **QUICK | {"max_iter": 40}).fit(views, sample_weight=weight)
    mean, std = est.transform({name: Y[::5] for name, Y in views.items()}, return_std=True)
    np.testing.assert_allclose(est.embedding_[::5], mean, atol=1e-5)
    np.testing.assert_allclose(est.embedding_std_[::5], std, rtol=1e-4)


@pytest.mark.parametrize("form", ["labels", "one-hot", "two values"])
def test_rows_of_weight_zero_are_inferred_from_categorical_and_binary_views(form, data):
    side = (data["a"][:, 0] > 0).astype(int)
    kind = {
        "labels": np.array(["no", "yes"])[side],
        "one-hot": np.eye(2)[side],
        "two values": 5.0 + 4.0 * side[:, None],
    }
    views = {"a": data["a"][:, :1], "kind": kind[form]}
    likelihood = {"a": "gaussian", "kind": "bernoulli" if form == "two values" else "categorical"}
    weight = np.ones(50)
    weight[:6] = 0.0
    est = NGMVLVM(n_components=1, likelihood=likelihood, **QUICK).fit(views, sample_weight=weight)
    inferred = est.transform({name: Y[:6] for name, Y in views.items()})
    np.testing.assert_allclose(est.embedding_[:6], inferred, atol=1e-5)
    from_one_view = est.transform({"a": views["a"][:6]})
    assert np.abs(inferred - from_one_view).max() > 1e-3  # otherwise the comparison above would be trivial


def test_a_class_that_occurs_only_in_rows_of_weight_zero_is_rejected(data):
    kind = np.where(data["a"][:, 0] > 0, "yes", "no").astype(object)
    kind[:3] = "never"
    weight = np.ones(50)
    weight[:3] = 0.0
    with (
        pytest.warns(ViewWarning, match="constant"),
        pytest.raises(ViewError, match="'kind' must hold classes that occur in training. Got 'never'"),
    ):
        NGMVLVM(**QUICK).fit({"a": data["a"], "kind": kind}, sample_weight=weight)


def test_sample_weights_are_saved(data, tmp_path):
    weight = np.random.default_rng(0).choice([0.0, 1.0, 5.0], size=50)
    est = NGMVLVM(**QUICK).fit(data, sample_weight=weight)
    est.save(tmp_path, data="predict")
    loaded = mvlvm.load(tmp_path)
    rows = {"a": data["a"][:10] + 0.1}
    np.testing.assert_array_equal(loaded.predict(rows, target="b"), est.predict(rows, target="b"))
    np.testing.assert_array_equal(loaded.model_.model.latent.sample_weight, weight)


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(49), r"must have one entry per row, shape \(50,\). Got \(49,\)"),
        (np.ones((50, 1)), r"must have one entry per row, shape \(50,\). Got \(50, 1\)"),
        (-np.ones(50), "must not be negative. Got -1"),
        (np.full(50, np.nan), "must be finite. Got 50 entries"),
        (np.full(50, np.inf), "must be finite. Got 50 entries"),
        (np.zeros(50), "must be positive for at least one row. Got only zeros"),
        (["heavy"] * 50, "must be numeric. Got list"),
    ],
    ids=["short", "matrix", "negative", "nan", "infinite", "zeros", "text"],
)
def test_invalid_sample_weights_are_rejected(weight, message, data):
    with pytest.raises(ValueError, match=f"sample_weight {message}"):
        NGMVLVM(**QUICK).fit(data, sample_weight=weight)


def test_a_view_of_weight_zero_does_not_influence_the_latents_but_is_predicted(data):
    weights = {"a": 1.0, "b": 0.0}
    rng = np.random.default_rng(0)
    settings = QUICK | {"max_iter": 150, "n_points": 20}
    noise = {"a": data["a"], "b": rng.normal(size=data["b"].shape)}
    est, other = (NGMVLVM(view_weights=weights, **settings).fit(views) for views in (data.views, noise))
    np.testing.assert_allclose(est.embedding_, other.embedding_, atol=1e-6)
    assert est.explained_variance_["b"] > 0.2  # the shared one of its two factors
    assert est.predict({"a": data["a"][:5]}, target="b").shape == (5, 6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 0.0, "b": 0.0}, "view_weights must be positive for at least one view. Got only zeros"),
        ({"a": -1.0, "b": 1.0}, "view_weights must be a non-negative number. Got -1.0"),
    ],
)
def test_invalid_view_weights_are_rejected(weights, message, data):
    with pytest.raises(ValueError, match=message):
        NGMVLVM(view_weights=weights, **QUICK).fit(data)


def test_private_dimensions_of_a_view_of_weight_zero_are_rejected(data):
    with pytest.raises(ValueError, match="private dimensions to view 'b', but its weight in view_weights is zero"):
        NGMVLVM(view_weights={"a": 1.0, "b": 0.0}, n_private={"b": 1}, **QUICK).fit(data)
