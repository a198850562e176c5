"""Out-of-sample rows: `transform`, `predict`, `impute` and `score`."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

import mvlvm
from mvlvm import NGMVLVM, ViewError, ViewWarning
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2, coverage
from mvlvm.inference.new_rows import NewRows
from mvlvm.inference.tempering import Tempering
from tests.estimators.tempering import predictor_with_tempering, with_tempering

pytestmark = pytest.mark.xdist_group("new rows")
NEW = np.arange(300, 380)


@pytest.fixture(scope="module")
def curve():
    """Return latents in random order on a square, and two noisy views of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, size=(380, 2))
    views = {}
    for name, width in (("a", 12), ("b", 9)):
        frequency, phase = rng.normal(scale=0.8, size=(2, width)), rng.uniform(0, 6, width)
        views[name] = 5 + 2 * np.sin(X @ frequency + phase) + 0.1 * rng.normal(size=(380, width))
    return X, views


def rows(curve, index, *names):
    return {name: Y[index] for name, Y in curve[1].items() if not names or name in names}


@pytest.fixture(scope="module")
def est(curve):
    return NGMVLVM(max_iter=400, tol=0.0, random_state=0).fit(rows(curve, slice(300)))


@pytest.fixture(scope="module")
def frames(curve):
    return {
        name: pd.DataFrame(Y, columns=[f"{name}{k}" for k in range(Y.shape[1])], index=[f"row {i}" for i in range(380)])
        for name, Y in curve[1].items()
    }


@pytest.fixture(scope="module")
def fitted_to_frames(frames):
    return NGMVLVM(max_iter=30, tol=0.0, n_points=10, random_state=0).fit(
        {name: table[:300] for name, table in frames.items()}
    )


def with_missing(views, share, seed=0):
    rng = np.random.default_rng(seed)
    return {name: np.where(rng.random(Y.shape) < share, np.nan, Y) for name, Y in views.items()}


def torch_column(values):
    return torch.as_tensor(values)[:, None].double()


def message(call, *args, **keywords):
    with pytest.raises((ViewError, ValueError)) as caught:
        call(*args, **keywords)
    return str(caught.value)


def ignoring_view_warnings(call, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViewWarning)
        return call(*args)


def test_latents_of_new_rows_agree_with_those_of_training_rows(curve, est):
    """Latents are identified up to a smooth map; the map of the training rows, by neighbours, holds for new rows."""
    inferred = est.transform(rows(curve, NEW))
    truth = curve[0]
    predicted = KNeighborsRegressor(3).fit(est.embedding_, truth[:300]).predict(inferred)
    assert affine_r2(truth[NEW], predicted) > 0.98


def test_latents_inferred_from_one_view_are_similar_and_more_uncertain(curve, est):
    both, both_std = est.transform(rows(curve, NEW), return_std=True)
    one, one_std = est.transform(rows(curve, NEW, "a"), return_std=True)
    assert np.median(np.abs(one - both)) < 0.1
    assert np.median(one_std / both_std) > 1


def test_transform_of_training_rows_is_close_to_the_embedding(curve, est):
    inferred = est.transform(rows(curve, slice(300)))
    assert np.median(np.abs(inferred - est.embedding_)) < 0.05


def test_transform_does_not_temper_the_likelihood(curve, est):
    """Training rows have the standard deviations of training, whatever the tempering of predictions."""
    mean, std = est.transform(rows(curve, slice(300)), return_std=True)
    # at 0.5, the next level of tempering, standard deviations would be 1.4 times as large
    assert np.median(std / est.embedding_std_) == pytest.approx(1.0, abs=0.1)
    tempered = with_tempering(est, a=Tempering(0.01, 0.01), b=Tempering(0.01, 0.01))
    np.testing.assert_array_equal(tempered.transform(rows(curve, slice(300)), return_std=True), (mean, std))


def test_results_do_not_depend_on_the_order_of_rows_or_the_block_size(curve, est, monkeypatch):
    batch = NEW[:12]
    views = with_missing(rows(curve, batch), 0.2)
    together = est.transform(views), est.predict(views)["b"], est.impute(views)["a"]
    order = np.random.default_rng(1).permutation(len(batch))
    shuffled = {name: Y[order] for name, Y in views.items()}
    monkeypatch.setattr("mvlvm.row_blocks.NUMBERS_PER_BLOCK", 1)  # blocks of few rows
    apart = est.transform(shuffled), est.predict(shuffled)["b"], est.impute(shuffled)["a"]
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_allclose(one[order], other, rtol=0, atol=1e-6)


def test_progress_is_shown_only_if_verbose(curve, est, capsys):
    views = rows(curve, NEW[:7])
    est.transform(views)
    assert capsys.readouterr().out == ""
    verbose = copy.copy(est).set_params(verbose=1)
    np.testing.assert_array_equal(verbose.transform(views), est.transform(views))
    assert "7/7" in capsys.readouterr().out


def test_a_view_is_predicted_from_another_better_than_by_ridge_and_nearest_neighbours(curve, est):
    truth, (mean, std) = curve[1]["b"][NEW], est.predict(rows(curve, NEW, "a"), target="b", return_std=True)
    A, B = curve[1]["a"][:300], curve[1]["b"][:300]
    baselines = [model.fit(A, B).predict(curve[1]["a"][NEW]) for model in (RidgeCV(), KNeighborsRegressor(5))]
    error = np.sqrt(np.mean((mean - truth) ** 2))
    assert error < 0.9 * min(np.sqrt(np.mean((baseline - truth) ** 2)) for baseline in baselines)
    assert 0.9 < coverage(truth, mean, std) < 0.98


def test_digit_halves_are_predicted_better_than_by_ridge_with_calibrated_error_bars():
    data = load("digits-halves")
    order = np.random.default_rng(0).permutation(len(data.labels))
    train, test = order[:600], order[600:800]
    est = NGMVLVM(n_components=6, max_iter=250, tol=0.0, random_state=0)
    ignoring_view_warnings(est.fit, {name: Y[train] for name, Y in data.items()})
    mean, std = est.predict({"left": data["left"][test]}, target="right", return_std=True)
    truth = data["right"][test]
    ridge = RidgeCV(np.logspace(-2, 4, 13)).fit(data["left"][train], data["right"][train]).predict(data["left"][test])
    assert np.mean((mean - truth) ** 2) < 0.9 * np.mean((ridge - truth) ** 2)
    assert 0.9 < coverage(truth, mean, std) < 0.98


def test_variance_of_entries_is_that_of_the_function_plus_noise(curve, est):
    views = rows(curve, NEW, "a")
    _, entry = est.predict(views, target="b", return_std=True, conditional="latent")
    _, function = est.predict(views, target="b", return_std=True, include_noise=False, conditional="latent")
    noise = est.noise_variance_["b"]
    np.testing.assert_allclose((entry**2 - function**2).mean(), noise, rtol=1e-6)
    assert (function > 0).all()
    _, given_b = est.predict(rows(curve, NEW), return_std=True, include_noise=False)
    assert np.median(given_b["b"] / function) < 1  # observing b itself reduces its uncertainty
    _, reconstructed = est.reconstruct(return_std=True)
    _, function_std = est.reconstruct(return_std=True, include_noise=False)
    np.testing.assert_allclose((reconstructed["b"] ** 2 - function_std["b"] ** 2).mean(), noise, rtol=1e-6)


def test_error_bars_grow_far_from_the_training_rows(curve, est):
    outliers = {"a": curve[1]["a"][NEW] + 40.0}
    _, std = est.predict(outliers, target="b", return_std=True)
    _, typical = est.predict(rows(curve, NEW, "a"), target="b", return_std=True)
    assert np.median(std) > 2 * np.median(typical)


def test_missing_entries_are_imputed_and_observed_entries_unchanged(curve, est):
    views, truth = with_missing(rows(curve, NEW), 0.3), rows(curve, NEW)
    imputed, std = est.impute(views, return_std=True)
    for name, Y in views.items():
        missing = np.isnan(Y)
        np.testing.assert_array_equal(imputed[name][~missing], Y[~missing])
        assert (std[name][~missing] == 0).all()
        assert (std[name][missing] > 0).all()
        spread = np.nanstd(Y, axis=0).mean()
        assert np.sqrt(np.mean((imputed[name] - truth[name])[missing] ** 2)) < 0.3 * spread


def test_missing_entries_of_training_and_new_rows_are_imputed_equally(curve):
    views = with_missing(rows(curve, slice(100)), 0.2)
    est = NGMVLVM(max_iter=50, tol=0.0, n_points=10, random_state=0).fit(views)
    for imputed, expected in zip(est.impute(return_std=True), est.impute(views, return_std=True), strict=True):
        for name in views:
            np.testing.assert_array_equal(imputed[name], expected[name])


def test_missing_rows_of_training_are_imputed_with_calibrated_error_bars():
    data, order = load("digits-halves"), np.random.default_rng(0).permutation(1797)[:500]
    views = {name: Y[order].copy() for name, Y in data.items()}
    truth = views["right"][350:].copy()
    views["right"][350:] = np.nan
    est = ignoring_view_warnings(NGMVLVM(n_components=6, max_iter=150, tol=0.0, random_state=0).fit, views)
    imputed, std = est.impute(return_std=True)
    assert 0.9 < coverage(truth, imputed["right"][350:], std["right"][350:]) < 0.98


def test_tempering_depends_on_whether_a_row_observes_the_target(curve, est):
    """Rows without the target use one level of tempering; rows that observe part of it use the other."""
    views = rows(curve, NEW[:6])
    views["b"][:3] = np.nan
    views["b"][3:, :4] = np.nan

    def predict(tempering):
        return NewRows(predictor_with_tempering(est.model_.predictor, b=tempering), views).predict(["b"])[0]["b"]

    mixed, low, high = predict(Tempering(0.01, 1.0)), predict(Tempering(0.01, 0.01)), predict(Tempering(1.0, 1.0))
    # batches of other rows round differently, by far less than the difference between the levels
    np.testing.assert_allclose(mixed[:3], low[:3], rtol=1e-6)
    np.testing.assert_allclose(mixed[3:], high[3:], rtol=1e-6)
    assert np.abs(low - high).max() > 0.1


def test_impute_without_missing_entries_in_training_raises_an_error(est):
    with pytest.raises(ValueError, match=r"training views have no missing entries to impute.*impute\(views\)"):
        est.impute()


def test_score_matches_numerical_integration_over_a_grid(curve):
    """With one latent dimension, the integral over the latent can be computed on a grid."""
    est = NGMVLVM(n_components=1, max_iter=100, tol=0.0, n_points=10, random_state=0, dtype="float64")
    est.fit(rows(curve, slice(200)))
    views = with_missing(rows(curve, NEW), 0.3)
    grid = np.linspace(-6, 6, 4001)
    grid_density = np.zeros((len(NEW), len(grid)))
    training_density, n_observed = np.zeros((len(NEW), 200)), 0
    mean, std = est.reconstruct(return_std=True)
    for name, Y in views.items():
        view, function = est.model_.views[name], est.model_.predictor.functions[name]
        on_grid = function.linearise(torch_column(grid)).moments
        centre = view.scaling.undo(on_grid.mean.numpy())
        noise_variance = function.likelihood.noise_variance.item()
        spread = view.scaling.undo_std(np.sqrt(on_grid.variance.numpy() + noise_variance))
        n_observed += (~np.isnan(Y)).sum()
        for m in range(Y.shape[1]):
            observed = ~np.isnan(Y[:, m])
            grid_density[observed] += norm.logpdf(Y[observed, m, None], centre[:, m], spread[:, m])
            training_density[observed] += norm.logpdf(Y[observed, m, None], mean[name][:, m], std[name][:, m])
    step = grid[1] - grid[0]
    of_prior = np.logaddexp.reduce(grid_density + norm.logpdf(grid) + np.log(step), axis=1)
    of_training = np.logaddexp.reduce(training_density - np.log(200), axis=1)
    expected = (np.logaddexp(of_prior, of_training) - np.log(2)).sum() / n_observed
    assert est.score(views) == pytest.approx(
        expected, abs=0.02
    )  # the score uses Laplace approximations at two modes at most


def test_score_is_a_density_in_the_units_of_the_data(curve):
    one, other = (
        NGMVLVM(max_iter=20, tol=0.0, n_points=10, random_state=0).fit({"a": factor * curve[1]["a"][:100]})
        for factor in (1.0, 10.0)
    )
    new = curve[1]["a"][NEW]
    assert other.score({"a": 10 * new}) == pytest.approx(one.score({"a": new}) - np.log(10), abs=1e-3)


def test_score_of_a_target_is_a_density_in_the_units_of_the_data(curve):
    """In units eight times smaller the density of the target is divided by eight, and the model is the same."""
    scores = []
    for unit in (1.0, 8.0):
        views = {"a": curve[1]["a"], "b": unit * curve[1]["b"]}
        est = NGMVLVM(max_iter=5, tol=0.0, n_points=5, random_state=0)
        est.fit({name: Y[:60] for name, Y in views.items()})
        scores.append(est.score({name: Y[NEW] for name, Y in views.items()}, target="b"))
    assert scores[1] == pytest.approx(scores[0] - np.log(8), abs=1e-9)


def test_a_row_without_any_entry_has_the_prior_and_warns_once(curve, est):
    views = rows(curve, NEW[:5])
    for Y in views.values():
        Y[[1, 3]] = np.nan
    with pytest.warns(ViewWarning, match=r"2 row\(s\) without an entry") as warned:
        mean, std = est.transform(views, return_std=True)
    assert len(warned) == 1
    np.testing.assert_allclose(mean[[1, 3]], 0, atol=1e-6)
    np.testing.assert_allclose(std[[1, 3]], 1, atol=1e-6)
    with pytest.warns(ViewWarning, match="without an entry"):
        predicted, spread = est.predict({"a": views["a"]}, target="b", return_std=True)
    assert np.isfinite(predicted).all()
    assert (spread[1] > 2 * spread[0]).mean() > 0.5


def test_dataframes_have_the_columns_of_training_and_the_index_of_new_rows(frames, fitted_to_frames):
    new = {"a": frames["a"][300:303]}
    mean, std = fitted_to_frames.predict(new, target="b", return_std=True)
    for table in (mean, std):
        assert list(table.columns) == list(frames["b"].columns)
        assert list(table.index) == ["row 300", "row 301", "row 302"]
    predictions = fitted_to_frames.predict(new)
    assert list(predictions) == ["a", "b"]
    imputed = fitted_to_frames.impute({"a": new["a"].mask(new["a"] > 6)})
    assert list(imputed) == ["a"]
    assert imputed["a"].columns.equals(new["a"].columns)
    assert imputed["a"].index.equals(new["a"].index)
    assert not imputed["a"].isna().any().any()


def test_missing_views_are_none_in_a_list(curve):
    A, B = curve[1].values()
    est = NGMVLVM(max_iter=20, tol=0.0, n_points=10, random_state=0).fit([A[:100], B[:100]])
    np.testing.assert_array_equal(est.transform([None, B[NEW]]), est.transform({"view1": B[NEW]}))
    assert est.predict([A[NEW], None], target="view1").shape == B[NEW].shape
    assert [Y.shape for Y in est.predict([A[NEW], None])] == [A[NEW].shape, B[NEW].shape]


def test_a_single_row_and_a_target_without_entries_are_accepted(curve, est):
    views = {"a": curve[1]["a"][300:301], "b": np.full((1, 9), np.nan)}
    without_target = est.predict({"a": views["a"]}, target="b")
    np.testing.assert_array_equal(est.predict(views, target="b"), without_target)


def test_equal_seeds_give_equal_predictions_and_other_numbers_of_draws_do_not(curve):
    views, new = rows(curve, slice(60)), rows(curve, NEW[:4], "a")

    def predict(**parameters):
        est = NGMVLVM(max_iter=10, tol=0.0, n_points=10, random_state=3, **parameters).fit(views)
        return est.predict(new, target="b", conditional="latent")

    np.testing.assert_array_equal(predict(), predict())
    assert not np.array_equal(predict(), predict(n_draws_predict=1))
    with pytest.raises(ValueError, match="n_draws_predict must be"):
        predict(n_draws_predict=0)


def test_a_saved_model_gives_equal_predictions(curve, est, tmp_path):
    est.save(tmp_path / "model.safetensors")
    loaded = mvlvm.load(tmp_path / "model.safetensors")
    views = rows(curve, NEW, "a")
    expected = est.predict(views, target="b", conditional="latent")
    np.testing.assert_array_equal(loaded.predict(views, target="b", conditional="latent"), expected)
    np.testing.assert_array_equal(loaded.transform(views), est.transform(views))
    assert loaded.score(views) == est.score(views)
    with pytest.raises(ValueError, match="loaded from a file"):
        loaded.impute()


def test_columns_without_training_entries_stay_missing_and_warn(curve):
    tables = {"a": pd.DataFrame(curve[1]["a"][:100]).rename(columns=str), "b": curve[1]["b"][:100]}
    tables["a"]["3"] = np.nan
    with pytest.warns(ViewWarning, match="without any observed entry"):
        est = NGMVLVM(max_iter=10, tol=0.0, n_points=10, random_state=0).fit(tables)
    new = tables["a"][:2].mask(tables["a"][:2] > 6)
    with pytest.warns(ViewWarning, match=r"View 'a' keeps missing entries in 1 column\(s\) \('3'\)"):
        imputed = est.impute({"a": new})
    assert imputed["a"]["3"].isna().all()
    assert not imputed["a"].drop(columns="3").isna().any().any()


def test_invalid_new_rows_raise_informative_errors(curve, est, frames, fitted_to_frames):
    A, B = (Y[NEW] for Y in curve[1].values())
    assert "no view 'c' in training. The model's views are 'a', 'b'" in message(est.transform, {"a": A, "c": B})
    assert "View 'a': X has 11 features, but it is expecting 12" in message(est.transform, {"a": A[:, 1:]})
    assert "'b' is both given and to be predicted" in message(est.predict, {"a": A, "b": B}, target="b")
    assert "target must be one of the model's views, 'a', 'b'. Got 'c'" in message(est.predict, {"a": A}, target="c")
    assert "Only the target 'b' was given" in message(est.predict, {"b": np.full_like(B, np.nan)}, target="b")
    assert "one matrix without a name" in message(est.transform, A)
    assert "views have names: 'a', 'b'. Got a list" in message(est.transform, [A, B])
    assert "At least one view is needed" in message(est.transform, {})
    assert "0 sample(s)" in message(est.transform, {"a": A[:0]})
    assert "same number of rows" in message(est.transform, {"a": A, "b": B[1:]})
    assert "contains infinity" in message(est.transform, {"a": np.where(A > 6, np.inf, A)})
    assert "no observed entry to score" in ignoring_view_warnings(message, est.score, {"a": np.full_like(A, np.nan)})
    table = frames["a"][NEW[0] :]
    assert "now missing:\n- a5\n" in message(fitted_to_frames.transform, {"a": table.drop(columns="a5")})
    assert "unseen at fit time:\n- extra\n" in message(fitted_to_frames.transform, {"a": table.assign(extra=0.0)})
    expected, reordered = (fitted_to_frames.transform({"a": rows}) for rows in (table, table[table.columns[::-1]]))
    np.testing.assert_array_equal(reordered, expected)


@pytest.mark.usefixtures("no_type_checks")
def test_flags_must_be_booleans(curve, est):
    views = {"a": curve[1]["a"][NEW]}
    assert "return_std must be True or False. Got 'yes'" in message(est.transform, views, return_std="yes")
    assert "include_noise must be True or False. Got 2" in message(est.predict, views, include_noise=2)


@pytest.mark.parametrize("method", ["transform", "predict", "impute", "score"])
def test_methods_require_a_fitted_estimator(method, curve):
    with pytest.raises(NotFittedError):
        getattr(NGMVLVM(), method)(curve[1])


def test_lists_of_the_wrong_length_raise_an_error_that_explains_how_to_omit_a_view(curve):
    A, B = (Y[:50] for Y in curve[1].values())
    est = NGMVLVM(max_iter=5, tol=0.0, n_points=5, random_state=0).fit([A, B])
    assert "one entry for every view of training, 2. Got 1. Use None" in message(est.transform, [A])


def test_mudata_may_lack_modalities_and_rows(curve):
    mudata = pytest.importorskip("mudata")
    anndata = pytest.importorskip("anndata")

    def annotated(name, index):
        obs = pd.DataFrame(index=[f"cell {i}" for i in index])
        var = pd.DataFrame(index=[f"{name}{k}" for k in range(curve[1][name].shape[1])])
        return anndata.AnnData(curve[1][name][index], obs=obs, var=var)

    with mudata.set_options(pull_on_update=False):
        training = mudata.MuData({name: annotated(name, np.arange(80)) for name in curve[1]})
        new = mudata.MuData({"a": annotated("a", NEW[:3]), "b": annotated("b", NEW[1:5])})
        one = mudata.MuData({"a": annotated("a", NEW[:3])})
    est = NGMVLVM(max_iter=10, tol=0.0, n_points=10, random_state=0).fit(training)
    assert est.transform(new).shape == (5, 2)
    predicted = est.predict(one, target="b")
    assert list(predicted.index) == [f"cell {i}" for i in NEW[:3]]
    imputed = est.impute(new)
    assert imputed.shape == (5, 21)
    assert not np.isnan(imputed["b"].X).any()
    assert list(imputed["b"].obs_names) == list(new.obs_names)
