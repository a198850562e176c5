"""Wireless channels: later rows of every user, power lost, and the page."""

import numpy as np
import pytest

from benchmarks.paper import channel
from benchmarks.paper.channel import CHANNEL
from benchmarks.study import NO, TIE, YES
from tests.benchmarks.paper.stored_results import (
    cell,
    figures_of,
    results_from_metrics,
    tables_of,
    tiny_images,
    verdicts,
)


def test_later_rows_are_classified_by_earlier_rows():
    labels = np.repeat([0, 1], 10)
    moving = np.concatenate([np.arange(10.0), np.arange(10.0) + 20])[:, None]
    assert channel.accuracy_on_later_rows(moving, labels) == 1.0
    moving[8:10] += 20  # the first user ends among the rows of the second
    assert channel.accuracy_on_later_rows(moving, labels) == 0.5


def test_power_lost_is_one_for_zero_and_zero_for_exact_reconstruction():
    views = {"real": np.array([[1.0], [-1.0]]), "imag": np.array([[0.0], [0.0]])}
    zeros = {"real": np.zeros((2, 1)), "imag": np.zeros((2, 1))}
    assert channel._errors(views, zeros) == {"MSE": 0.5, "power lost": 1.0}
    assert channel._errors(views, views) == {"MSE": 0.0, "power lost": 0.0}


def test_cell_has_all_metrics_of_the_page(monkeypatch):
    monkeypatch.setattr(channel, "load_paper_data", lambda *_, **__: tiny_images(("real", "imag")))
    metrics = channel.measure(cell(CHANNEL, "PCA", D=2)).metrics
    assert set(metrics) == {"KNN", "LR", "SVM", "KNN later", "MSE", "power lost", "power lost later", "rows"}
    assert 0 < metrics["power lost"] < metrics["power lost later"]
    assert metrics["rows"] == 24


def test_later_rows_are_reconstructed_by_a_model_of_earlier_rows(monkeypatch):
    given = []

    class Model:
        def fit(self, views):
            given.append(views)
            return self

        def predict(self, views):
            given.append(views)
            return {name: np.zeros_like(Y) for name, Y in views.items()}

    monkeypatch.setattr(channel, "estimator_for", lambda *_: Model())
    views = {"real": np.arange(10.0)[:, None], "imag": np.ones((10, 1))}
    labels = np.repeat([0, 1], 5)
    assert channel._errors_on_later_rows(cell(CHANNEL, "MVAE", D=2), views, labels)["power lost"] == 1.0
    assert [part["real"].ravel().tolist() for part in given] == [[0, 1, 2, 3, 5, 6, 7, 8], [4, 9]]


def test_page_has_a_table_for_every_dimension(tmp_path):
    shown = {"KNN": 0.5, "LR": 0.4, "SVM": 0.3, "KNN later": 0.2, "MSE": 0.001, "power lost": 0.064, "rows": 10}
    at = {
        ("CHANNEL", method, 0, (("D", d),)): {**shown, "KNN": 0.5 + d / 100}
        for method in ("PCA", "MVAE")
        for d in (2, 10)
    }
    parts = channel.page(results_from_metrics(CHANNEL, tmp_path, at))
    tables = tables_of(parts)
    assert [table.name for table in tables] == ["channel-2", "channel-10"]
    assert tables[1].rows[1][:2] == ["MVAE", "60.0 (1)"]
    assert tables[1].rows[1][5:] == ["1.000 (1)", "6.4 (1)", "-"]
    figures = figures_of(parts)
    assert list(figures) == ["accuracy", "accuracy-by-dimension", "mse"]
    first, *_ = figures["accuracy-by-dimension"]().axes
    assert first.lines[0].get_xydata().tolist() == [[2, 52], [10, 60]]
    assert len(figures["accuracy"]().axes[0].patches) == 8
    assert figures["mse"]().axes[0].get_yscale() == "log"


def test_page_without_results_has_no_figures(tmp_path):
    assert not figures_of(channel.page(results_from_metrics(CHANNEL, tmp_path, {})))


def test_claims_are_judged_at_two_dimensions(tmp_path):
    metrics = {}
    for seed in (0, 1):
        step = 0.01 * seed
        ours = {"KNN": 0.6 + step, "LR": 0.5, "SVM": 0.4, "MSE": 0.2 + step, "power lost later": 0.3}
        theirs = {"KNN": 0.5, "LR": 0.4 + 0.2 * seed, "SVM": 0.3, "MSE": 0.1, "power lost later": 0.4 + step}
        metrics["CHANNEL", "NG-MVLVM", seed, (("D", 2),)] = ours
        metrics["CHANNEL", "MVAE", seed, (("D", 2),)] = theirs
        metrics["CHANNEL", "MVAE", seed, (("D", 20),)] = dict.fromkeys(theirs, 0.0)
    accuracies, error, power = verdicts(CHANNEL, results_from_metrics(CHANNEL, tmp_path, metrics))
    assert accuracies == ("ahead on 2, tied on 1 of 3", TIE)
    assert error == ("behind MVAE by 0.105 ± 0.005", NO)
    assert power == ("ahead of MVAE by 0.105 ± 0.005", YES)


@pytest.mark.parametrize("quick", [True, False])
def test_cells_of_every_size_include_two_dimensions(quick):
    assert 2 in {one.settings["D"] for one in CHANNEL.all_cells(quick=quick)}
