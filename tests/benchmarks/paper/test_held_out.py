"""Held-out labels: masking during fitting, evaluation, and the text of the page."""

import numpy as np
import pytest

from benchmarks.paper import held_out, paper_methods
from benchmarks.paper.held_out import HELD_OUT, measure, page
from benchmarks.paper.paper_methods import LABEL, FittedLatents, held_out_accuracies
from benchmarks.study import NO, TIE, YES
from mvlvm.datasets import Dataset
from tests.benchmarks.paper.stored_results import cell, results_from_metrics, tables_of, text_of, tiny_images, verdicts

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
    assert measure(cell(HELD_OUT, "1-NN on the data")).metrics["KNN"] == 1.0


def test_one_fit_serves_all_folds_without_a_label_view():
    calls = []
    fit = lambda part: calls.append(sorted(part)) or FittedLatents(part["a"], dict)  # noqa: E731
    assert held_out_accuracies(fit, views(with_labels=False), LABELS, seed=0) == {"KNN": 1.0}
    assert calls == [["a"]]


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", ["NG-MVLVM", "NG-MVLVM with labels", "1-NN on the data"])
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
    metrics = measure(cell(HELD_OUT, method)).metrics
    assert requested["label_view"] is ("with labels" in method)
    assert requested["quick"] is True
    assert ("predicted" in metrics) is ("with labels" in method)
    assert 0.6 < metrics["KNN"] <= 1.0


def results_of(accuracies, folder):
    """Return the results with these accuracies: (data, method) -> accuracies by seed."""
    metrics = {
        (data, method, seed, ()): {"KNN": accuracy}
        for (data, method), seeds in accuracies.items()
        for seed, accuracy in enumerate(seeds)
    }
    return results_from_metrics(HELD_OUT, folder, metrics)


ALONE = "Of the latent variable models, all on the data only, NG-MVLVM is the best on"
EITHER = "each on the data only or with labels, whichever is better, NG-MVLVM is the best on"
TIED, BEHIND = "It is tied with another model on", "It is behind on"


def test_only_clear_leads_count_as_best(tmp_path):
    """A lead of 0.1 ± 0.2 points over two seeds is a tie, one of 10 ± 0.5 points is clear."""
    accuracies = {
        ("BRIDGES", "NG-MVLVM"): [0.8, 0.81], ("BRIDGES", "PCA"): [0.7, 0.7],
        ("BRIDGES", "t-SNE"): [0.9, 0.9],  # not a latent variable model
        ("CORA", "NG-MVLVM"): [0.6, 0.604], ("CORA", "MOFA"): [0.601, 0.601], ("CORA", "PCA"): [0.1, 0.1],
        ("YALE", "NG-MVLVM"): [0.5, 0.5], ("YALE", "MVAE"): [0.55, 0.56],
    }  # fmt: skip
    text = text_of(page(results_of(accuracies, tmp_path)))
    assert f"{ALONE} 1 of 3 data sets: BRIDGES (10.5 ± 0.5 points ahead of PCA)." in text
    assert f"{TIED} CORA (0.1 ± 0.2 points ahead of MOFA). {BEHIND} YALE (5.5 ± 0.5 points behind MVAE)." in text
    assert "three of its standard errors" not in text


def test_variant_with_classes_is_compared_if_it_is_better(tmp_path):
    accuracies = {
        ("CORA", "NG-MVLVM"): [0.6, 0.61], ("CORA", "NG-MVLVM with labels"): [0.8, 0.81],
        ("CORA", "MOFA"): [0.7, 0.7], ("CORA", "MOFA with labels"): [0.5, 0.5],
    }  # fmt: skip
    text = text_of(page(results_of(accuracies, tmp_path)))
    assert f"{EITHER} 1 of 1 data sets: CORA (with labels 10.5 ± 0.5 points ahead of MOFA)." in text
    assert f"{ALONE} 0 of 1 data sets. {BEHIND} CORA (9.5 ± 0.5 points behind MOFA)." in text


def test_equal_values_and_single_seeds_are_ties_and_first_of_equal_rivals_is_named(tmp_path):
    equal = {("CORA", m): [0.1, 0.2, 0.3] for m in ("MOFA", "MVAE", "MV-DGPLVM", "NG-MVLVM")}
    text = text_of(page(results_of(equal, tmp_path / "a")))
    assert f"{ALONE} 0 of 1 data sets. {TIED} CORA (0.0 ± 0.0 points from MV-DGPLVM)." in text
    single = {("CORA", "NG-MVLVM"): [0.9], ("CORA", "PCA"): [0.1]}
    text = text_of(page(results_of(single, tmp_path / "b")))
    assert f"{ALONE} 0 of 1 data sets. {TIED} CORA (80.0 points ahead of PCA)." in text


def test_no_ranking_without_results_of_ours_or_of_any_rival(tmp_path):
    results = results_of({("CORA", "PCA"): [0.1], ("YALE", "NG-MVLVM"): [0.5]}, tmp_path)
    assert "is the best on" not in text_of(page(results))
    assert verdicts(HELD_OUT, results) == [None, None, None]


def test_claims_are_judged_with_and_without_the_stationary_variant(tmp_path):
    accuracies = {
        ("CORA", "NG-MVLVM"): [0.6, 0.604], ("CORA", "MV-ARFLVM"): [0.601, 0.601], ("CORA", "PCA"): [0.1, 0.1],
        ("CORA", "MOFA with labels"): [0.9, 0.91],
    }  # fmt: skip
    alone, without_stationary, either = verdicts(HELD_OUT, results_of(accuracies, tmp_path))
    assert (alone[1], without_stationary[1], either[1]) == (TIE, YES, NO)
    assert without_stationary[0] == "ahead of PCA by 0.502 ± 0.002"


def test_page_reports_the_gain_from_training_labels(tmp_path):
    metrics = {
        ("BRIDGES", "NG-MVLVM", 0, ()): {"KNN": 0.8},
        ("BRIDGES", "NG-MVLVM with labels", 0, ()): {"KNN": 0.75, "predicted": 0.85},
        ("BRIDGES", "NG-MVLVM with labels", 1, ()): {
            "KNN": 0.1,
            "predicted": 0.1,
        },  # no result on the data only for this seed
    }
    parts = page(results_from_metrics(HELD_OUT, tmp_path, metrics))
    assert "BRIDGES -5.0 and +5.0." in text_of(parts)
    (table,) = tables_of(parts)
    assert table.rows[0] == ["method", "accuracy", "predicted by the model"]
    both_seeds = ["NG-MVLVM with labels", "**42.5 ± 46.0 (2)**", "**47.5 ± 53.0 (2)**"]
    assert [row for row in table.rows if row[0] == both_seeds[0]] == [both_seeds]


def test_page_says_which_implementation_of_t_sne_embeds_no_new_rows(tmp_path):
    text = text_of(page(results_of({("CORA", "PCA"): [0.1]}, tmp_path)))
    assert "scikit-learn's implementation of t-SNE does not embed new rows (openTSNE and UMAP do)" in text
