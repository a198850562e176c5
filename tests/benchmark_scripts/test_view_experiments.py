"""Experiments on views: removal of entries, and scores on the removed entries."""

import numpy as np
import pytest

from experiment import Effort
from mvlvm.datasets import load
from predicting_views import EXPERIMENTS, Halves, Patients, mfeat_incomplete
from running import measure
from scoring import Units
from tests.datasets.real_data import need
from using_latents import cll_rows

DIGITS = EXPERIMENTS[0].methods


def test_units_are_those_of_the_observed_entries():
    Y = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, np.nan], [np.nan, 5.0, 4.0]])
    np.testing.assert_allclose(
        Units.of(Y).apply(Y), [[-1, -1], [1, np.nan], [np.nan, 1]]
    )  # the constant column is excluded
    np.testing.assert_allclose(Units.of(Y).apply_to_std(np.full((1, 3), 6.0)), [[6.0, 3.0]])


def test_digits_are_split_by_row():
    halves, data = Halves.of(1), load("digits-halves")
    rows = np.vstack([np.hstack([halves.left, halves.right]), np.hstack([halves.new_left, halves.new_right])])
    whole = np.hstack([data["left"], data["right"]])
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], whole[np.lexsort(whole.T)])
    assert len(halves.new_left) == 360


def test_exact_prediction_has_no_error_and_means_are_worse_than_neighbours():
    halves = Halves.of(0)
    assert halves.score(halves.new_right) == {"RMSE": 0.0}
    assert DIGITS["column means"](0, Effort())["RMSE"] > DIGITS["10-NN"](0, Effort())["RMSE"]


def test_our_cell_has_all_numbers():
    numbers = measure(EXPERIMENTS[0], "ours", 0, Effort(most_steps=2)).numbers
    assert numbers["RMSE"] < DIGITS["column means"](0, Effort())["RMSE"]
    assert 0 < numbers["covers 50"] < numbers["covers 80"] < numbers["covers 95"] < 1
    assert len(numbers["expected"]) == len(numbers["observed"])


@need("mfeat.npz")
def test_a_fifth_of_the_views_and_of_the_remaining_entries_is_missing():
    incomplete = mfeat_incomplete(0)
    assert not (incomplete.removed & incomplete.scattered).any()
    n_pairs = incomplete.removed.shape[0] * len(incomplete.views)
    lacks = np.stack([np.isnan(Y).all(axis=1) for Y in incomplete.views.values()])
    # all six columns of the smallest view may be missing individually: 4 standard errors plus 0.2^6 of its rows
    assert lacks.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / n_pairs) + 0.2**6)
    rest = incomplete.scattered[~incomplete.removed]
    assert rest.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / rest.size))
    assert not lacks.all(axis=0).any()
    np.testing.assert_array_equal(np.isnan(np.hstack(list(incomplete.views.values()))), np.isnan(incomplete.table))
    assert np.nanmean(incomplete.table, axis=0) == pytest.approx(0, abs=1e-9)
    assert set(incomplete.score(incomplete.truth).values()) == {0.0}


@need("breast_tcga.npz")
def test_removed_proteins_are_missing_from_the_data_and_known_for_scoring():
    patients = Patients.of(0)
    assert (len(patients.hidden), len(patients.shown)) == (50, 100)
    assert not set(patients.hidden) & set(patients.shown)
    known = patients.standardised["protein"]
    assert np.isnan(known[patients.hidden]).all()
    assert not np.isnan(known[patients.shown]).any()
    assert not np.isnan(patients.truth).any()
    assert known[patients.shown].std(axis=0) == pytest.approx(1)


@need("cll_partial.npz")
def test_label_column_is_excluded_from_mutations():
    views, labels, compared = cll_rows()
    known = labels >= 0
    for column in views["mutations"][known].T:
        seen = ~np.isnan(column)
        assert (column[seen] != labels[known][seen]).any()
        assert (column[seen] != 1 - labels[known][seen]).any()
    assert compared.sum() < known.sum()
