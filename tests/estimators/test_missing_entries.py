"""Fitting views with missing entries and missing rows."""

import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import NGMVLVM, ViewError, ViewWarning
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2
from tests.datasets.real_data import need


@pytest.fixture(scope="module")
def curve():
    return load("s-curve", kernels={"a": "rbf", "b": "rbf"}, n_samples=150, n_features=30, random_state=1)


def with_missing(curve, share, rows=()):
    rng = np.random.default_rng(0)
    views = {name: np.where(rng.random(Y.shape) < share, np.nan, Y) for name, Y in curve.items()}
    views["b"][list(rows)] = np.nan
    return views


@pytest.fixture(scope="module")
def fitted(curve):
    return NGMVLVM(max_iter=300, tol=0.0, random_state=0).fit(with_missing(curve, 0.2, range(20)))


def test_latents_are_recovered_from_views_with_missing_entries(curve, fitted):
    complete = NGMVLVM(max_iter=300, tol=0.0, random_state=0).fit(curve)
    recovered, best = (affine_r2(curve.truth["latents"], est.embedding_) for est in (fitted, complete))
    assert recovered > best - 0.05
    assert np.isfinite(fitted.elbo_)


def test_missing_entries_are_predicted_far_better_than_by_column_means(curve, fitted):
    views, mean = with_missing(curve, 0.2, range(20)), fitted.reconstruct()
    for name, Y in curve.items():
        missing = np.isnan(views[name])
        error = (mean[name] - Y)[missing]
        column = (np.nanmean(views[name], axis=0) - Y)[missing]
        assert np.sqrt(np.mean(error**2)) < 0.4 * np.sqrt(np.mean(column**2)), name


def test_error_bars_of_missing_entries_are_calibrated(curve, fitted):
    views = with_missing(curve, 0.2, range(20))
    mean, std = fitted.reconstruct(return_std=True)
    missing = np.isnan(views["a"])
    inside = np.abs(mean["a"] - curve["a"])[missing] < 1.96 * std["a"][missing]
    assert 0.88 < inside.mean() < 0.99


def test_missing_rows_of_a_view_do_not_enter_its_evidence(curve):
    """Only observed rows enter the evidence of a view, however the other rows are marked as missing."""
    rows = with_missing(curve, 0.0, range(100, 150))
    est = NGMVLVM(max_iter=20, tol=0.0, random_state=0)
    one = est.fit(rows).embedding_
    frame = pd.DataFrame(rows["b"]).mask(np.isnan(rows["b"]))
    np.testing.assert_array_equal(est.fit({"a": rows["a"], "b": frame}).embedding_, one)


def test_a_row_without_any_entry_stays_at_the_prior(curve):
    views = {name: Y.copy() for name, Y in curve.items()}
    for Y in views.values():
        Y[7] = np.nan
    with pytest.warns(ViewWarning, match="1 row.s. without an entry in any view"):
        est = NGMVLVM(max_iter=600, tol=0.0, random_state=0).fit(views)
    np.testing.assert_allclose(est.embedding_[7], 0, atol=0.05)
    np.testing.assert_allclose(est.embedding_std_[7], 1, atol=0.1)


def test_a_row_without_any_entry_is_at_the_prior_from_the_first_step(curve):
    views = {name: Y.copy() for name, Y in curve.items()}
    for Y in views.values():
        Y[7] = np.nan
    init = np.random.default_rng(0).normal(size=(150, 2))
    with pytest.warns(ViewWarning, match="without an entry in any view"):
        est = NGMVLVM(
            init=init, max_iter=1, tol=0.0, learning_rate=1e-12, n_points=2, n_draws_predict=1, random_state=0
        ).fit(views)
    np.testing.assert_allclose(est.embedding_[[6, 8]], init[[6, 8]], atol=1e-6)
    np.testing.assert_allclose(est.embedding_[7], 0, atol=1e-6)
    np.testing.assert_allclose(est.embedding_std_[7], 1, atol=1e-6)


def test_columns_without_observed_entries_warn_and_are_returned_empty(curve):
    frame = pd.DataFrame(curve["a"], columns=[f"gene {k}" for k in range(30)])
    frame[["gene 3", "gene 9"]] = np.nan
    with pytest.warns(ViewWarning, match=r"2 column\(s\) without any observed entry \('gene 3', 'gene 9'\)"):
        est = NGMVLVM(max_iter=5, tol=0.0, random_state=0).fit({"a": frame, "b": curve["b"]})
    mean, std = est.reconstruct(return_std=True)
    assert list(mean["a"].columns) == list(frame.columns)
    assert mean["a"].columns[mean["a"].isna().any()].tolist() == ["gene 3", "gene 9"]
    assert std["a"].columns[std["a"].isna().any()].tolist() == ["gene 3", "gene 9"]


def test_a_view_without_observed_entries_is_rejected(curve):
    with pytest.raises(ViewError, match="View 'b' must be observed in at least 2 rows. Got 0"):
        NGMVLVM().fit({"a": curve["a"], "b": np.full((150, 3), np.nan)})


def test_a_model_of_views_with_missing_entries_can_be_saved(fitted, tmp_path):
    fitted.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    for one, other in zip(fitted.reconstruct(return_std=True), loaded.reconstruct(return_std=True), strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_explained_variance_uses_only_observed_entries(curve, fitted):
    views, mean = with_missing(curve, 0.2, range(20)), fitted.reconstruct()
    for name, Y in views.items():
        observed = ~np.isnan(Y)
        centred = (Y - np.nanmean(Y, axis=0))[observed]
        expected = 1 - np.sum((Y - mean[name])[observed] ** 2) / np.sum(centred**2)
        assert fitted.explained_variance_[name] == pytest.approx(expected, abs=1e-6)


@need("cll_partial.npz")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
def test_patients_with_missing_views_are_fitted_in_one_call():
    data = load("cll", label_columns=False)
    est = NGMVLVM(n_components=5, max_iter=60, tol=0.0, random_state=0).fit(data)
    assert est.embedding_.shape == (200, 5)
    mean, std = est.reconstruct(return_std=True)
    for name in data:
        assert np.isfinite(mean[name]).all()
        assert (std[name] > 0).all()
