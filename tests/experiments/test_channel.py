"""Channels: users told apart, later rows by earlier ones, and the power that is lost."""

import numpy as np
import pytest

from mvlvm.experiments import channel
from mvlvm.experiments.store import Store
from tests.experiments.findings import cell, found_in, tiny_images


def test_later_rows_are_told_by_earlier_ones():
    labels = np.repeat([0, 1], 10)
    moving = np.concatenate([np.arange(10.0), np.arange(10.0) + 20])[:, None]
    assert channel.accuracy_on_later_rows(moving, labels) == 1.0
    moving[8:10] += 20  # the first user ends among the second one's rows
    assert channel.accuracy_on_later_rows(moving, labels) == 0.5


def test_the_mean_loses_all_power_of_centred_data_and_a_perfect_copy_none():
    views = {"real": np.array([[1.0], [-1.0]]), "imag": np.array([[0.0], [0.0]])}
    assert channel._errors(views, {"real": np.zeros((2, 1)), "imag": np.zeros((2, 1))}) == {
        "MSE": 0.5,
        "power lost": 1.0,
    }
    assert channel._errors(views, views) == {"MSE": 0.0, "power lost": 0.0}


def test_a_cell_has_all_that_the_page_shows(monkeypatch):
    monkeypatch.setattr(channel, "load_paper_data", lambda *_, **__: tiny_images(("real", "imag")))
    numbers = channel.measure(cell(channel.EXPERIMENT, "PCA", D=2)).numbers
    assert set(numbers) == {"KNN", "LR", "SVM", "KNN later", "MSE", "power lost", "power lost later", "rows"}
    assert 0 < numbers["power lost"] < numbers["power lost later"]
    assert numbers["rows"] == 24


def test_later_rows_are_rebuilt_by_a_model_that_has_not_seen_them(monkeypatch):
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
    assert channel._errors_on_later_rows(cell(channel.EXPERIMENT, "MVAE", D=2), views, labels)["power lost"] == 1.0
    assert [part["real"].ravel().tolist() for part in given] == [[0, 1, 2, 3, 5, 6, 7, 8], [4, 9]]


def test_the_page_has_a_table_for_every_dimension(tmp_path):
    shown = {"KNN": 0.5, "LR": 0.4, "SVM": 0.3, "KNN later": 0.2, "MSE": 0.001, "power lost": 0.064, "rows": 10}
    at = {
        ("CHANNEL", method, 0, (("D", d),)): {**shown, "KNN": 0.5 + d / 100}
        for method in ("PCA", "MVAE")
        for d in (2, 10)
    }
    page = channel.write(found_in(channel.EXPERIMENT, Store(tmp_path), at))
    assert [table.name for table in page.tables] == ["channel-2", "channel-10"]
    assert page.tables[1].rows[1][:2] == ["MVAE", "**60.0 (1)**"]
    assert page.tables[1].rows[1][5:] == ["**1.000 (1)**", "**6.4 (1)**", "-"]
    assert list(page.figures) == ["accuracy", "accuracy-by-dimension", "mse"]


def test_nothing_found_is_no_failure(tmp_path):
    assert not channel.write(found_in(channel.EXPERIMENT, Store(tmp_path), {})).figures


@pytest.mark.parametrize("effort", list(channel.EXPERIMENT.grids))
def test_two_dimensions_are_among_those_of_every_effort(effort):
    assert 2 in channel.EXPERIMENT.grids[effort][0].axes["D"]
