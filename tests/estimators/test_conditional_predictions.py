"""Predictions by the conditional layer through the estimator: rows it applies to, caching, threads, files, input."""

import copy
import pickle
import threading

import numpy as np
import pytest

import mvlvm
from mvlvm import NGMVLVM, ViewError
from mvlvm.evaluation import coverage
from mvlvm.inference import conditional_rows
from mvlvm.inference.conditional_rows import Pair
from mvlvm.inference.held_out_latents import TrainingRows

N, NEW = 150, slice(150, 250)


@pytest.fixture(scope="module")
def data():
    """Three views with two common factors, and columns that a knows about b and c beyond them."""
    rng = np.random.default_rng(0)
    X, own = rng.standard_normal((250, 2)), rng.standard_normal((250, 6))
    common = {name: np.sin(X @ rng.standard_normal((2, width))) for name, width in (("a", 8), ("b", 6), ("c", 5))}
    views = {name: Y + 0.1 * rng.standard_normal(Y.shape) for name, Y in common.items()}
    views["a"] = np.hstack([views["a"], own])
    views["b"] = views["b"] + 0.7 * own
    return views


def rows(data, which, *names):
    return {name: data[name][which] for name in names or data}


def fit(data, **parameters):
    return NGMVLVM(max_iter=60, tol=0.0, n_points=10, random_state=0, **parameters).fit(data)


@pytest.fixture(scope="module")
def est(data):
    return fit(rows(data, slice(N)))


def error(data, predicted, target="b", which=NEW):
    return np.sqrt(np.mean((predicted - data[target][which]) ** 2))


def test_layer_is_more_accurate_than_the_latents_and_covers(data, est):
    given = rows(data, NEW, "a", "c")
    mean, std = est.predict(given, target="b", return_std=True)
    assert error(data, mean) < 0.6 * error(data, est.predict(given, target="b", conditional="latent"))
    assert 0.9 < coverage(data["b"][NEW], mean, std, level=0.95) < 0.99
    np.testing.assert_array_equal(mean, est.predict(given, target="b", conditional="blend"))
    _, function = est.predict(given, target="b", return_std=True, include_noise=False)
    assert (function < std).all()
    every = rows(data, NEW)
    assert est.score(every, target="b") > est.score(every, target="b", conditional="latent")


def test_rows_are_predicted_from_the_views_that_they_have(data, est):
    """Rows without c, rows without a and rows with both have layers of their own; the order of rows is irrelevant."""
    views = rows(data, NEW, "a", "c")
    views["c"], views["a"] = views["c"].copy(), views["a"].copy()
    views["c"][:30], views["a"][30:50] = np.nan, np.nan
    mean = est.predict(views, target="b")
    for which, names in ((slice(0, 30), "a"), (slice(30, 50), "c"), (slice(50, 100), "ac")):
        alone = est.predict({name: views[name][which] for name in names}, target="b")
        np.testing.assert_allclose(mean[which], alone, rtol=1e-8, atol=1e-10)
    order = np.random.default_rng(0).permutation(100)
    shuffled = est.predict({name: Y[order] for name, Y in views.items()}, target="b")
    np.testing.assert_allclose(shuffled, mean[order], rtol=1e-8, atol=1e-10)


def test_missing_views_are_imputed_by_the_layer_and_missing_entries_by_the_latents(data, est):
    views = rows(data, NEW)
    views["b"] = views["b"].copy()
    views["b"][:40] = np.nan
    views["b"][40:60, 2] = np.nan
    filled, std = est.impute(views, return_std=True)
    by_latents = est.impute(views, conditional="latent")
    expected = est.predict({name: views[name][:40] for name in "ac"}, target="b")
    np.testing.assert_allclose(filled["b"][:40], expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(filled["b"][40:], by_latents["b"][40:], rtol=1e-6)
    np.testing.assert_array_equal(filled["a"], data["a"][NEW])
    assert (std["b"][:40] > 0).all()


def test_gaps_in_given_views_widen_error_bars_that_still_cover(data, est):
    views, rng = rows(data, NEW, "a", "c"), np.random.default_rng(0)
    gaps = {name: np.where(rng.random(Y.shape) < 0.2, np.nan, Y) for name, Y in views.items()}
    mean, std = est.predict(gaps, target="b", return_std=True)
    assert 0.9 < coverage(data["b"][NEW], mean, std, level=0.95) < 0.99
    assert np.mean(std) > np.mean(est.predict(views, target="b", return_std=True)[1])
    by_latents = est.predict(gaps, target="b", conditional="latent")
    assert error(data, est.predict(views, target="b")) < error(data, mean) < error(data, by_latents)
    some = est.predict({name: Y[7:12] for name, Y in gaps.items()}, target="b")
    np.testing.assert_allclose(some, mean[7:12], rtol=1e-8, atol=1e-10)


def test_all_views_are_predicted_at_once(data, est):
    everything = est.predict(rows(data, NEW, "a"))
    np.testing.assert_allclose(everything["b"], est.predict(rows(data, NEW, "a"), target="b"), rtol=1e-8)
    of_given = est.predict(rows(data, NEW, "a"), conditional="latent")["a"]
    np.testing.assert_allclose(everything["a"], of_given, rtol=1e-6)


def test_a_pair_is_fitted_once_by_several_threads(data, monkeypatch):
    calls, found, est = [], [], fit(rows(data, slice(N)))
    original = conditional_rows.choose_layer

    def counted(*arguments):
        calls.append(1)
        return original(*arguments)

    monkeypatch.setattr(conditional_rows, "choose_layer", counted)
    barrier = threading.Barrier(4)

    def predict():
        barrier.wait()
        found.append(est.predict(rows(data, NEW, "a"), target="b"))

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    for result in found:
        np.testing.assert_array_equal(result, found[0])


def test_old_layers_leave_a_bounded_cache(data, est, monkeypatch):
    layers = copy.copy(est.model_.predictor).layers
    expected = est.predict(rows(data, NEW, "a"), target="b")
    monkeypatch.setattr(conditional_rows, "_MAX_CACHED_BYTES", 0)
    est.predict(rows(data, NEW, "a"), target="c")
    assert list(est.model_.predictor.layers._layers) == [Pair(("a",), "c")]
    np.testing.assert_array_equal(est.predict(rows(data, NEW, "a"), target="b"), expected)
    assert layers is not None


@pytest.mark.parametrize("duplicate", ["data=True", "predict", "pickle", "deepcopy", "prepare"])
def test_copies_and_files_predict_the_same(data, duplicate, tmp_path):
    est = fit(rows(data, slice(N)))
    fitted = est.predict(rows(data, NEW, "a"), target="b", return_std=True)
    if duplicate in ("data=True", "predict"):
        est.save(tmp_path / "m", data=True if duplicate == "data=True" else "predict")
        other = mvlvm.load(tmp_path / "m")
        assert list(other.model_.predictor.layers.saved) == [Pair(("a",), "b")]
    else:
        other = {"pickle": lambda: pickle.loads(pickle.dumps(est)), "deepcopy": lambda: copy.deepcopy(est),
                 "prepare": est.prepare}[duplicate]()  # fmt: skip
    for again, expected in zip(other.predict(rows(data, NEW, "a"), target="b", return_std=True), fitted, strict=True):
        np.testing.assert_array_equal(again, expected)
    np.testing.assert_array_equal(
        other.predict(rows(data, NEW, "c"), target="b"), fit(rows(data, slice(N))).predict(
            rows(data, NEW, "c"), target="b")
    )  # fmt: skip


def test_a_model_without_training_rows_warns_and_uses_the_latents(data, est, tmp_path):
    est.save(tmp_path / "m")
    loaded, given = mvlvm.load(tmp_path / "m"), rows(data, NEW, "a", "c")
    with pytest.warns(mvlvm.ViewWarning, match="'b' of 100 row.*by the latents alone.*training rows are not available"):
        mean = loaded.predict(given, target="b")
    np.testing.assert_array_equal(mean, est.predict(given, target="b", conditional="latent"))
    with pytest.raises(ValueError, match="loaded from a file without them"):
        loaded.save(tmp_path / "again", data="predict")
    with pytest.raises(ViewError, match="training rows are not available"):
        loaded.prediction_sources("b")


def test_a_file_for_predictions_does_not_impute_training_rows(data, tmp_path):
    views = rows(data, slice(N))
    views["b"] = views["b"].copy()
    views["b"][3, 1] = np.nan
    est = fit(views)
    est.save(tmp_path / "m", data="predict")
    with pytest.raises(ValueError, match="save the model with data=True"):
        mvlvm.load(tmp_path / "m").impute()


def test_many_training_rows_are_reduced_to_a_random_subset(data, est, monkeypatch):
    monkeypatch.setattr("mvlvm.inference.held_out_latents.MAX_TRAINING_ROWS", 60)
    chosen = TrainingRows.select(est._record.data, est.model_.model.latent, 0)
    assert len(chosen.indices.unique()) == 60
    np.testing.assert_allclose(chosen.entries["b"], est._record.data["b"].Y[chosen.indices], rtol=1e-6)


def test_rows_of_weight_zero_have_no_influence(data):
    views, weight = rows(data, slice(N)), np.ones(N)
    weight[:30] = 0
    chosen = (
        fit(views, kernel="sm").set_params(max_iter=5).fit(views, sample_weight=weight).model_.predictor.layers.rows
    )
    np.testing.assert_array_equal(chosen.value.indices, np.arange(30, N))


@pytest.mark.parametrize("n", [4, 9])
def test_few_rows_with_all_views_leave_the_prediction_to_the_latents(data, n):
    views = rows(data, slice(40))
    views["b"] = np.where(np.arange(40)[:, None] < n, views["b"], np.nan)
    est = fit(views)
    given = rows(data, NEW, "a")
    expected = est.predict(given, target="b", conditional="latent")
    np.testing.assert_array_equal(est.predict(given, target="b"), expected)
    with pytest.warns(mvlvm.ViewWarning, match=f"{n} training rows have all entries of 'a', 'b', and 10 are needed"):
        np.testing.assert_array_equal(est.predict(given, target="b", conditional="blend"), expected)


def test_other_likelihoods_stay_with_the_latents_and_are_given_as_numbers(data):
    rng = np.random.default_rng(0)
    kinds = list(np.where(data["a"][:, 0] > 0, "x", "y"))
    views = {"counts": rng.poisson(np.exp(data["a"])).astype(float), "kind": kinds, "b": data["b"]}
    train = {name: Y[:N] for name, Y in views.items()}
    est = fit(train, likelihood={"counts": "poisson", "kind": "categorical", "b": "gaussian"})
    new = {"counts": views["counts"][NEW], "b": views["b"][NEW]}
    np.testing.assert_array_equal(
        est.predict(new, target="kind"), est.predict(new, target="kind", conditional="latent")
    )
    assert error(data, est.predict({"counts": new["counts"]}, target="b")) < data["b"][NEW].std()
    with pytest.raises(ViewError, match="'kind' is not Gaussian"):
        est.prediction_sources("kind")


def test_sources_show_what_comes_from_where(data, est):
    sources = est.prediction_sources("b", given=["a"])
    assert sources["n_rows"] == N
    assert sources["view_share"] > 0.2
    assert sources["rmse"] < sources["latent_rmse"]
    assert est.prediction_sources("b") != sources
    assert est.prediction_sources("b", given=["c", "a"]) == est.prediction_sources("b")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda est, data: est.predict(data, target="b"), "both given and to be predicted"),
        (lambda est, data: est.predict({"b": data["b"]}, target="b"), "both given and to be predicted"),
        (lambda est, data: est.predict(data, target="b", conditional="mixed"), "conditional must be one of 'auto'"),
        (lambda est, data: est.impute(data, conditional="none"), "conditional must be one of 'auto'"),
        (lambda est, data: est.score(data, target="b", conditional=""), "conditional must be one of 'auto'"),
        (lambda est, data: est.prediction_sources("d"), "target must be one of the model's views"),
        (lambda est, data: est.prediction_sources("b", given=["b"]), "at least one view other than the target 'b'"),
        (lambda est, data: est.prediction_sources("b", given=[]), "at least one view other than the target 'b'"),
        (lambda est, data: est.save("x", data="all"), "data must be True or False"),
    ],
)  # fmt: skip
def test_invalid_input_is_rejected(data, est, call, message):
    with pytest.raises(ValueError, match=message):
        call(est, rows(data, NEW))
