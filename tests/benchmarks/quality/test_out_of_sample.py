"""Use of latents: the label is not among the views, and new rows are not among the fitted ones."""

import numpy as np
import pytest

from benchmarks.cells import Cell
from benchmarks.quality.out_of_sample import (
    LATENT_TASKS,
    balanced_accuracy,
    cll_rows,
    digit_rows,
    neighbour_accuracy,
)
from tests.datasets.real_data import need


def make_cell(data, method="NG-MVLVM"):
    return Cell(study="cross-view", method=method, data=data, settings={"quick": True}, device="cpu")


@need("cll_partial.npz")
def test_label_column_is_excluded_from_mutations():
    views, labels, compared = cll_rows()
    known = labels >= 0
    for column in views["mutations"][known].T:
        observed = ~np.isnan(column)
        assert (column[observed] != labels[known][observed]).any()
        assert (column[observed] != 1 - labels[known][observed]).any()
    assert compared.sum() < known.sum()


def test_accuracies_of_separated_classes():
    labels = np.repeat([0, 1], 20)
    table = np.where(labels == 1, 1.0, -1.0)[:, None] + 0.01 * np.arange(40)[:, None]
    table[3] = np.nan  # imputed by a mean
    assert balanced_accuracy(table, labels, 0) > 0.9
    table[3] = -1.0
    assert neighbour_accuracy(table, labels, table + 0.001, labels) == 1.0
    assert neighbour_accuracy(table, labels, -table, labels) == 0.0


@need("mfeat.npz")
def test_new_rows_are_not_fitted():
    views, labels, old, new = digit_rows("mfeat", make_cell("transform-mfeat"))
    assert sorted([*old, *new]) == list(range(len(labels)))
    assert len(new) == len(labels) // 5
    assert {len(Y) for Y in views.values()} == {len(labels)}


@need("mnist.npz")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
def test_time_of_transform_is_measured():
    metrics = LATENT_TASKS["mnist-10000"]["NG-MVLVM"](make_cell("mnist-10000"))
    assert metrics["rows"] == 240
    assert metrics["seconds"] > 0
    assert 0.1 < metrics["accuracy"] < 1
