"""Classes that a model has not seen: what is hidden from it, how it is judged, and what the page says."""

import numpy as np
import pytest

from mvlvm.datasets import Dataset
from mvlvm.experiments import held_out, methods
from mvlvm.experiments.held_out import EXPERIMENT, measure
from mvlvm.experiments.protocols import LABEL, Fitted, held_out_accuracies
from mvlvm.experiments.store import Store
from tests.experiments.findings import cell, found_in, tiny_images

LABELS = np.arange(40) % 4


def views(*, with_labels):
    latents = np.column_stack([10.0 * LABELS, np.arange(40)])
    return {"a": latents, **({LABEL: np.eye(4)[LABELS]} if with_labels else {})}


def test_every_row_is_hidden_once_and_no_other_with_it():
    seen = []

    def fit(part):
        seen.append(np.isnan(part[LABEL]).all(axis=1))
        assert not np.isnan(part[LABEL][~seen[-1]]).any()
        return Fitted(part["a"], lambda: {LABEL: np.nan_to_num(part[LABEL])})

    held_out_accuracies(fit, views(with_labels=True), LABELS, seed=0, n_folds=5)
    assert np.sum(seen, axis=0).tolist() == [1] * 40


def test_neighbours_and_the_models_own_prediction_are_judged_apart():
    wrong = np.where(np.arange(40) < 10, (LABELS + 1) % 4, LABELS)
    fit = lambda part: Fitted(part["a"], lambda: {LABEL: np.eye(4)[wrong]})  # noqa: E731
    told = held_out_accuracies(fit, views(with_labels=True), LABELS, seed=0, n_folds=5)
    assert told == {"KNN": 1.0, "predicted": 0.75}


def test_a_class_that_no_row_has_keeps_its_column():
    labels = np.where(LABELS == 1, 2, LABELS)
    fit = lambda part: Fitted(part["a"], lambda: {LABEL: np.eye(4)[labels]})  # noqa: E731
    given = {**views(with_labels=False), LABEL: np.eye(4)[labels]}
    assert held_out_accuracies(fit, given, labels, seed=0, n_folds=5)["predicted"] == 1.0


def test_columns_of_a_view_keep_their_sizes_before_neighbours(monkeypatch):
    """The first column tells the class; standardised, as the rest would be, it is lost in them."""
    draws = np.random.default_rng(0)
    Y = np.hstack([20.0 * (LABELS[:, None] % 2), draws.normal(size=(40, 200))])
    monkeypatch.setattr(held_out, "load_paper_data", lambda name, **options: Dataset({"a": Y}, labels=LABELS % 2))
    assert measure(cell(EXPERIMENT, "1-NN on the data")).numbers["KNN"] == 1.0


def test_on_data_alone_one_fit_serves_all_folds():
    calls = []
    fit = lambda part: calls.append(sorted(part)) or Fitted(part["a"], dict)  # noqa: E731
    assert held_out_accuracies(fit, views(with_labels=False), LABELS, seed=0) == {"KNN": 1.0}
    assert calls == [["a"]]


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", ["NG-MVLVM", "NG-MVLVM with classes", "1-NN on the data"])
def test_a_cell_has_a_label_view_only_if_its_method_says_so(method, monkeypatch):
    asked = {}

    def load(name, **options):
        asked.update(options)
        data = tiny_images()
        if options["label_view"]:
            data.views[LABEL] = np.eye(2)[data.labels]
        return data

    monkeypatch.setattr(held_out, "load_paper_data", load)
    monkeypatch.setitem(methods._QUICK, "NG-MVLVM", {"max_iter": 20})
    numbers = measure(cell(EXPERIMENT, method)).numbers
    assert asked["label_view"] is ("with classes" in method)
    assert ("predicted" in numbers) is ("with classes" in method)
    assert 0.6 < numbers["KNN"] <= 1.0


def test_the_page_says_who_is_ahead_and_what_classes_add(tmp_path):
    numbers = {
        ("BRIDGES", "NG-MVLVM", 0, ()): {"KNN": 0.8},
        ("BRIDGES", "PCA", 0, ()): {"KNN": 0.7},
        ("BRIDGES", "PCA", 1, ()): {"KNN": 0.99},  # a seed that ours does not have
        ("BRIDGES", "t-SNE", 0, ()): {"KNN": 0.9},
        ("BRIDGES", "NG-MVLVM with classes", 0, ()): {"KNN": 0.75, "predicted": 0.85},
        ("BRIDGES", "NG-MVLVM with classes", 1, ()): {"KNN": 0.1, "predicted": 0.1},  # nor here
        ("CORA", "NG-MVLVM", 0, ()): {"KNN": 0.6},
        ("CORA", "MOFA", 0, ()): {"KNN": 0.62},
    }
    page = EXPERIMENT.write(found_in(EXPERIMENT, Store(tmp_path), numbers))
    said = " ".join(" ".join(page.notes).split())
    assert "is the best on 1 of 2 sets: BRIDGES. Behind on CORA (MOFA, by 2.0 points)." in said
    assert "BRIDGES -5.0 and +5.0." in said
    assert page.tables[0].rows[0] == ["method", "accuracy", "predicted by the model"]
    both_seeds = ["NG-MVLVM with classes", "42.5 ± 32.5 (2)", "**47.5 ± 37.5 (2)**"]
    assert both_seeds in [list(row) for row in page.tables[0].rows]
