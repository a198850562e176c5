"""Scaling of views, statistics of observed entries, and settings per view."""

import numpy as np
import pytest

from mvlvm import ViewError, ViewWarning, row_blocks
from mvlvm.views.scaling import (
    choose_scale,
    column_moments,
    count_observed,
    distinct_values,
    fit_scaling,
    fit_scalings,
    has_missing,
    observed_rows,
    per_view,
)

RNG = np.random.default_rng(0)
MIXED = RNG.normal(size=(50, 4)) * [1.0, 10.0, 100.0, 1000.0] + 5


@pytest.mark.parametrize("scale", ["view", "column", None])
def test_undo_inverts_apply(scale):
    scaling = fit_scaling("a", MIXED, scale)
    np.testing.assert_allclose(scaling.undo(scaling.apply(MIXED)), MIXED, rtol=1e-12)


def test_each_kind_of_scaling_normalises_as_documented():
    column, view, none = (fit_scaling("a", MIXED, scale).apply(MIXED) for scale in ("column", "view", None))
    np.testing.assert_allclose(column.var(axis=0), 1)
    assert view.var(axis=0).mean() == pytest.approx(1)
    np.testing.assert_allclose(view.std(axis=0) / view.std(axis=0)[0], MIXED.std(axis=0) / MIXED.std(axis=0)[0])
    np.testing.assert_allclose(none, MIXED - MIXED.mean(axis=0))


def test_constant_columns_are_dropped_with_a_warning_and_restored():
    Y = np.column_stack([MIXED[:, 0], np.full(50, 7.0), MIXED[:, 1]])
    with pytest.warns(ViewWarning, match=r"View 'a' has 1 constant column\(s\) \(1\)"):
        scaling = fit_scalings({"a": Y}, {"a": "column"})["a"]
    assert scaling.apply(Y).shape == (50, 2)
    np.testing.assert_allclose(scaling.undo(scaling.apply(Y)), Y)
    np.testing.assert_array_equal(scaling.undo_std(np.ones((50, 2)))[:, 1], 0)


def test_a_column_with_small_variation_around_a_large_value_is_kept():
    milliseconds = 1.7e12 + 100 * MIXED[:, :1]
    assert fit_scaling("a", milliseconds, "column").kept.all()


def test_a_constant_view_is_rejected():
    with pytest.raises(ViewError, match="View 'a' is constant: none of its 3 columns varies"):
        fit_scaling("a", np.full((5, 3), 0.1), "view")


@pytest.mark.parametrize(
    ("Y", "expected"),
    [
        (np.clip(RNG.normal(size=(80, 20)), 0, 1), "view"),  # pixels: most columns share their minimum and maximum
        (np.eye(5)[RNG.integers(5, size=80)], "view"),  # one-hot labels
        (RNG.poisson(1.0, size=(80, 30)).astype(float), "view"),  # counts
        (RNG.normal(size=(80, 30)), "view"),  # many columns of similar spread
        (MIXED, "column"),  # columns of different units
        (RNG.normal(size=(80, 4)), "column"),  # few columns
        (RNG.normal(size=(80, 1)), "column"),
    ],
    ids=["pixels", "one-hot", "counts", "similar", "units", "few", "one"],
)
def test_auto_scales_the_view_if_columns_share_a_unit(Y, expected):
    assert choose_scale(column_moments(Y)) == expected


def test_a_variance_is_returned_in_data_units():
    assert fit_scaling("a", MIXED, "view").undo_variance(1.0) == pytest.approx(MIXED.var(axis=0).mean())
    assert fit_scaling("a", MIXED, "column").undo_variance(0.5) == pytest.approx(0.5 * MIXED.var(axis=0).mean())


def test_a_setting_applies_to_all_views_or_is_given_per_view():
    assert per_view(2, ["a", "b"], "n_mixtures") == {"a": 2, "b": 2}
    assert per_view({"b": 1, "a": 3}, ["a", "b"], "n_mixtures") == {"a": 3, "b": 1}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ([1, 2], r"n_mixtures must be one value for all views, or a dict.*Got \[1, 2\]"),
        ({"a": 1}, "n_mixtures as a dict.*no value for 'b'.*The views are: a, b"),
        ({"a": 1, "b": 1, "c": 1}, "a value for 'c', which is not a view"),
    ],
)
def test_settings_that_do_not_match_the_views_are_rejected(setting, message):
    with pytest.raises(ValueError, match=message):
        per_view(setting, ["a", "b"], "n_mixtures")


@pytest.fixture(params=[2_000_000, 40], ids=["one block", "many blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", request.param)


def view_with_missing_entries():
    rng = np.random.default_rng(0)
    Y = rng.normal(loc=100.0, size=(120, 7)).round(1)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[33:70, :2] = np.nan
    Y[5] = np.nan
    return Y


@pytest.mark.usefixtures("blocks")
def test_moments_are_those_of_the_observed_entries():
    Y = view_with_missing_entries()
    moments = column_moments(Y)
    for found, expected in (
        (moments.mean, np.nanmean(Y, axis=0)),
        (moments.std, np.nanstd(Y, axis=0)),
        (moments.low, np.nanmin(Y, axis=0)),
        (moments.high, np.nanmax(Y, axis=0)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("blocks")
def test_moments_of_a_column_without_observed_entries_are_nan():
    Y = view_with_missing_entries()
    Y[:, 3] = np.nan
    moments = column_moments(Y)
    assert all(np.isnan(values[3]) for values in vars(moments).values())
    assert not np.isnan(moments.mean[[0, 1, 2, 4]]).any()


@pytest.mark.usefixtures("blocks")
def test_observed_entries_rows_and_values_are_found():
    Y = view_with_missing_entries()
    np.testing.assert_array_equal(count_observed(Y), (~np.isnan(Y)).sum(axis=0))
    np.testing.assert_array_equal(observed_rows(Y), ~np.isnan(Y).all(axis=1))
    some = np.array([True, True, False, False, False, False, False])
    np.testing.assert_array_equal(observed_rows(Y, some), ~np.isnan(Y[:, some]).all(axis=1))
    np.testing.assert_array_equal(distinct_values(Y), np.unique(Y[~np.isnan(Y)]))
    assert has_missing(Y)
    assert not has_missing(np.nan_to_num(Y))
