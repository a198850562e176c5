"""Cross-view prediction: removal of entries, and scores on the removed entries."""

import numpy as np
import pytest

from benchmarks.cells import Cell
from benchmarks.quality.cross_view import (
    PREDICTION_TASKS,
    DigitHalves,
    IncompleteViews,
    ProteinSplit,
    measure_prediction,
)
from mvlvm.datasets import load
from tests.datasets.real_data import need


def make_cell(data="digits-halves", method="NG-MVLVM", seed=0, *, quick=False):
    settings = {"quick": True} if quick else {}
    return Cell(study="cross-view", method=method, data=data, seed=seed, settings=settings, device="cpu")


def test_digits_are_split_by_row():
    halves, data = DigitHalves.of(make_cell(seed=1)), load("digits-halves")
    rows = np.vstack([np.hstack([halves.left, halves.right]), np.hstack([halves.new_left, halves.new_right])])
    whole = np.hstack([data["left"], data["right"]])
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], whole[np.lexsort(whole.T)])
    assert len(halves.new_left) == 360


def test_exact_prediction_has_no_error_and_means_are_worse_than_neighbours():
    halves = DigitHalves.of(make_cell())
    assert halves.score(halves.new_right) == {"RMSE": 0.0}
    errors = {
        method: measure_prediction(make_cell(method=method)).metrics["RMSE"] for method in ("column means", "10-NN")
    }
    assert errors["column means"] > errors["10-NN"]


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
def test_cell_of_the_model_has_all_metrics():
    metrics = measure_prediction(make_cell(quick=True)).metrics
    assert metrics["RMSE"] > 0
    assert 0 < metrics["covers 50"] < metrics["covers 80"] < metrics["covers 95"] <= 1
    assert len(metrics["expected"]) == len(metrics["observed"])
    assert 0 < metrics["tempering"] <= 1


@need("mfeat.npz")
def test_a_fifth_of_the_views_and_of_the_remaining_entries_is_missing():
    incomplete = IncompleteViews.of(make_cell("mfeat"))
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


@need("mfeat.npz")
def test_imputation_by_means_has_an_error_of_one():
    metrics = measure_prediction(make_cell("mfeat", "column means")).metrics
    assert list(metrics.values()) == pytest.approx([1.0] * 3, abs=0.02)


@need("breast_tcga.npz")
def test_removed_proteins_are_missing_from_the_data_and_known_for_scoring():
    split = ProteinSplit.of(make_cell("breast-tcga"))
    assert (len(split.test), len(split.train)) == (50, 100)
    assert not set(split.test) & set(split.train)
    known = split.standardised["protein"]
    assert np.isnan(known[split.test]).all()
    assert not np.isnan(known[split.train]).any()
    assert not np.isnan(split.truth).any()
    assert known[split.train].std(axis=0) == pytest.approx(1)


@need("breast_tcga.npz")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
@pytest.mark.parametrize("method", ["MOFA, 2 factors", "ridge on 5 scores per view"])
def test_linear_methods_learn_something_about_proteins(method):
    if method.startswith("MOFA"):
        pytest.importorskip("mofapy2")
    error = measure_prediction(make_cell("breast-tcga", method)).metrics["RMSE"]
    assert error < measure_prediction(make_cell("breast-tcga", "column means")).metrics["RMSE"]


def test_every_task_has_the_model():
    assert all(any(m.startswith("NG-MVLVM") for m in methods) for methods in PREDICTION_TASKS.values())
