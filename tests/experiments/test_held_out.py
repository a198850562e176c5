"""Held-out labels: masking during fitting, evaluation, and the text of the page."""

import numpy as np
import pytest

from mvlvm.datasets import Dataset
from mvlvm.experiments import held_out, paper_methods
from mvlvm.experiments.cells import CellStore
from mvlvm.experiments.held_out import HELD_OUT, measure
from mvlvm.experiments.paper_methods import LABEL, FittedLatents, held_out_accuracies
from tests.experiments.stored_results import cell, results_from_numbers, tiny_images

LABELS = np.arange(40) % 4


def views(*, with_labels):
    latents = np.column_stack([10.0 * LABELS, np.arange(40)])
    return {"a": latents, **({LABEL: np.eye(4)[LABELS]} if with_labels else {})}


def test_every_label_is_masked_in_exactly_one_fold():
    masked = []

    def fit(part):
        masked.append(np.isnan(part[LABEL]).all(axis=1))
        assert not np.isnan(part[LABEL][~masked[-1]]).any()
        return FittedLatents(part["a"], lambda: {LABEL: np.nan_to_num(part[LABEL])})

    held_out_accuracies(fit, views(with_labels=True), LABELS, seed=0, n_folds=5)
    assert np.sum(masked, axis=0).tolist() == [1] * 40


def test_nearest_neighbour_and_model_prediction_are_evaluated_separately():
    wrong = np.where(np.arange(40) < 10, (LABELS + 1) % 4, LABELS)
    fit = lambda part: FittedLatents(part["a"], lambda: {LABEL: np.eye(4)[wrong]})  # noqa: E731
    accuracies = held_out_accuracies(fit, views(with_labels=True), LABELS, seed=0, n_folds=5)
    assert accuracies == {"KNN": 1.0, "predicted": 0.75}


def test_empty_class_keeps_its_column():
    labels = np.where(LABELS == 1, 2, LABELS)
    fit = lambda part: FittedLatents(part["a"], lambda: {LABEL: np.eye(4)[labels]})  # noqa: E731
    given = {**views(with_labels=False), LABEL: np.eye(4)[labels]}
    assert held_out_accuracies(fit, given, labels, seed=0, n_folds=5)["predicted"] == 1.0


def test_columns_are_not_standardised_before_nearest_neighbours(monkeypatch):
    """The first column determines the class; if all columns were standardised, the others would dominate."""
    draws = np.random.default_rng(0)
    Y = np.hstack([20.0 * (LABELS[:, None] % 2), draws.normal(size=(40, 200))])
    monkeypatch.setattr(held_out, "load_paper_data", lambda name, **options: Dataset({"a": Y}, labels=LABELS % 2))
    assert measure(cell(HELD_OUT, "1-NN on the data")).numbers["KNN"] == 1.0


def test_one_fit_serves_all_folds_without_a_label_view():
    calls = []
    fit = lambda part: calls.append(sorted(part)) or FittedLatents(part["a"], dict)  # noqa: E731
    assert held_out_accuracies(fit, views(with_labels=False), LABELS, seed=0) == {"KNN": 1.0}
    assert calls == [["a"]]


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", ["NG-MVLVM", "NG-MVLVM with classes", "1-NN on the data"])
def test_label_view_is_used_only_by_methods_with_classes(method, monkeypatch):
    requested = {}

    def load(name, **options):
        requested.update(options)
        data = tiny_images()
        if options["label_view"]:
            data.views[LABEL] = np.eye(2)[data.labels]
        return data

    monkeypatch.setattr(held_out, "load_paper_data", load)
    monkeypatch.setitem(paper_methods._QUICK, "NG-MVLVM", {"max_iter": 20})
    numbers = measure(cell(HELD_OUT, method)).numbers
    assert requested["label_view"] is ("with classes" in method)
    assert ("predicted" in numbers) is ("with classes" in method)
    assert 0.6 < numbers["KNN"] <= 1.0


def page_notes(accuracies, store):
    """Return the notes of a page with these accuracies: (data, method) -> accuracies by seed."""
    numbers = {
        (data, method, seed, ()): {"KNN": accuracy}
        for (data, method), seeds in accuracies.items()
        for seed, accuracy in enumerate(seeds)
    }
    return " ".join(" ".join(HELD_OUT.write(results_from_numbers(HELD_OUT, store, numbers)).notes).split())


def test_page_ranks_methods_on_data_only_and_with_classes(tmp_path):
    notes = page_notes(
        {
            ("BRIDGES", "NG-MVLVM"): [0.8],
            ("BRIDGES", "PCA"): [0.7, 0.99],  # ours has no second seed
            ("BRIDGES", "t-SNE"): [0.9],  # not a latent variable model
            ("BRIDGES", "NG-MVLVM with classes"): [0.6],
            ("BRIDGES", "MV-ARFLVM with classes"): [0.82],
            ("CORA", "NG-MVLVM"): [0.6, 0.7],
            ("CORA", "NG-MVLVM with classes"): [0.8, 0.7],
            ("CORA", "MOFA"): [0.7, 0.72],
            ("CORA", "MOFA with classes"): [0.5, 0.5],
        },
        CellStore(tmp_path),
    )
    behind = "Elsewhere it is tied or behind:"
    alone = "Of the latent variable models, all on the data only, NG-MVLVM is the best on 1 of 2 data sets:"
    assert f"{alone} BRIDGES (10.0 points ahead of PCA). {behind} CORA (6.0 ± 4.0 points behind MOFA)." in notes
    either = "each on the data only or with classes, whichever is better, NG-MVLVM is the best on 1 of 2 data sets:"
    assert (
        f"{either} CORA (with classes 4.0 ± 6.0 points ahead of MOFA). {behind} BRIDGES (2.0 points behind MV" in notes
    )


def test_tie_is_not_a_lead_and_first_of_equal_rivals_is_named(tmp_path):
    accuracies = {("CORA", m): [0.1, 0.2, 0.3] for m in ("MOFA", "MVAE", "MV-DGPLVM", "NG-MVLVM")}
    notes = page_notes(accuracies, CellStore(tmp_path))
    behind = "Elsewhere it is tied or behind: CORA (0.0 ± 0.0 points behind MV-DGPLVM)."
    assert f"is the best on 0 of 1 data sets. {behind}" in notes


def test_no_ranking_without_results_of_ours_or_of_any_rival(tmp_path):
    assert "is the best on" not in page_notes(
        {("CORA", "PCA"): [0.1], ("YALE", "NG-MVLVM"): [0.5]}, CellStore(tmp_path)
    )


def test_page_reports_the_gain_from_training_labels(tmp_path):
    numbers = {
        ("BRIDGES", "NG-MVLVM", 0, ()): {"KNN": 0.8},
        ("BRIDGES", "NG-MVLVM with classes", 0, ()): {"KNN": 0.75, "predicted": 0.85},
        ("BRIDGES", "NG-MVLVM with classes", 1, ()): {
            "KNN": 0.1,
            "predicted": 0.1,
        },  # no result on the data only for this seed
    }
    page = HELD_OUT.write(results_from_numbers(HELD_OUT, CellStore(tmp_path), numbers))
    assert "BRIDGES -5.0 and +5.0." in " ".join(page.notes)
    assert page.tables[0].rows[0] == ["method", "accuracy", "predicted by the model"]
    both_seeds = ["NG-MVLVM with classes", "42.5 ± 32.5 (2)", "**47.5 ± 37.5 (2)**"]
    assert both_seeds in [list(row) for row in page.tables[0].rows]
