"""Likelihoods on real data: binary digits, labels that are missing during fitting, and counts of cells."""

import numpy as np
import pytest

from benchmarks.cells import Cell
from benchmarks.quality.real_likelihoods import (
    BinaryHalves,
    SingleCellCounts,
    fit_negative_binomial,
    label_scores,
    logarithms,
    measure_likelihood,
    split_labels,
)
from tests.datasets.real_data import need


def make_cell(data, method="", **settings):
    return Cell(study="likelihoods", method=method, data=data, settings=settings, device="cpu")


@need("mnist.npz")
def test_digits_are_binary():
    halves = BinaryHalves.of(make_cell("binary-mnist"))
    assert all(set(np.unique(Y)) == {0.0, 1.0} for Y in (*halves.views.values(), *halves.new.values()))
    assert {name: Y.shape for name, Y in halves.views.items()} == {"left": (800, 392), "right": (800, 392)}


class Oracle:
    """An estimator that reconstructs the observed labels, and predicts class 1 for all others."""

    def __init__(self, views):
        self.label, self.classes_ = views["label"], {"label": [0, 1]}
        self.embedding_ = views["table"]

    def reconstruct(self):
        return {"label": np.eye(2)[np.where(np.isnan(self.label), 1, self.label).astype(int)]}

    def predict(self, views, *, target):
        assert set(views) == {"table"}
        return np.tile([0.25, 0.75], (len(views["table"]), 1))


def test_test_labels_are_missing_during_fitting_and_scored_afterwards():
    codes = np.array([0, 1] * 10)
    table = np.where(codes == 1, 1.0, -1.0)[:, None] + 1e-3 * np.arange(20)[:, None]
    train, test = split_labels(codes, 0)
    assert not set(train) & set(test)
    seen = []

    def fit(views):
        seen.append(views["label"])
        return Oracle(views)

    metrics = label_scores({"table": table}, codes, test, fit)
    assert np.isnan(seen[0][test]).all()
    np.testing.assert_array_equal(seen[0][train], codes[train])
    assert (metrics["predict"], metrics["reconstruct"], metrics["1-NN"]) == (0.5, 0.5, 1.0)
    assert metrics["log density"] == pytest.approx(np.log([0.25, 0.75]).mean())


@need("bridges.npz")
def test_classifiers_see_no_test_labels():
    accuracy = measure_likelihood(make_cell("labels-bridges", "1-NN, raw")).metrics["predict"]
    assert 0.6 < accuracy < 1  # 1-NN is exact on its training rows


@need("citeseq_pbmc.npz")
def test_cells_are_held_out_and_scaled_to_equal_totals():
    counts = SingleCellCounts.of(make_cell("citeseq-pbmc"))
    assert {name: (len(Y), len(counts.new[name])) for name, Y in counts.views.items()} == dict.fromkeys(
        counts.views, (400, 100)
    )
    logs = logarithms(counts.views, 1000.0)
    totals = np.expm1(logs["rna"]).sum(axis=1)
    np.testing.assert_allclose(totals[counts.views["rna"].sum(axis=1) > 0], 1000)
    np.testing.assert_allclose(np.expm1(logs["protein"]), counts.views["protein"])


def test_negative_binomial_parameters_are_recovered():
    y = np.random.default_rng(0).negative_binomial(3, 3 / (3 + 20), size=20_000)
    mean, r = fit_negative_binomial(y)
    assert mean == y.mean()
    assert r == pytest.approx(3, rel=0.05)  # its standard error is about 1 %
