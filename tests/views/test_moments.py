import numpy as np
import pytest

from mvlvm import row_blocks
from mvlvm.views.missing import count_entries, distinct_values, has_gaps, rows_with_entries
from mvlvm.views.moments import column_moments


@pytest.fixture(params=[2_000_000, 40], ids=["one block", "many blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", request.param)


def view_with_gaps():
    rng = np.random.default_rng(0)
    Y = rng.normal(loc=100.0, size=(120, 7)).round(1)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[33:70, :2] = np.nan
    Y[5] = np.nan
    return Y


@pytest.mark.usefixtures("blocks")
def test_moments_are_those_of_what_was_observed():
    Y = view_with_gaps()
    moments = column_moments(Y)
    for found, expected in (
        (moments.mean, np.nanmean(Y, axis=0)),
        (moments.std, np.nanstd(Y, axis=0)),
        (moments.low, np.nanmin(Y, axis=0)),
        (moments.high, np.nanmax(Y, axis=0)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("blocks")
def test_a_column_without_entries_has_no_moments():
    Y = view_with_gaps()
    Y[:, 3] = np.nan
    moments = column_moments(Y)
    assert all(np.isnan(values[3]) for values in vars(moments).values())
    assert not np.isnan(moments.mean[[0, 1, 2, 4]]).any()


@pytest.mark.usefixtures("blocks")
def test_gaps_are_counted():
    Y = view_with_gaps()
    np.testing.assert_array_equal(count_entries(Y), (~np.isnan(Y)).sum(axis=0))
    np.testing.assert_array_equal(rows_with_entries(Y), ~np.isnan(Y).all(axis=1))
    some = np.array([True, True, False, False, False, False, False])
    np.testing.assert_array_equal(rows_with_entries(Y, some), ~np.isnan(Y[:, some]).all(axis=1))
    np.testing.assert_array_equal(distinct_values(Y), np.unique(Y[~np.isnan(Y)]))
    assert has_gaps(Y)
    assert not has_gaps(np.nan_to_num(Y))
