"""Reconstruction of images, rotated digits and channels: errors, saved images and pages."""

import numpy as np
import pytest

from mvlvm.experiments import reconstruction
from mvlvm.experiments.cells import CellStore, Effort
from tests.experiments.stored_results import cell, record, results_from_numbers, tiny_images


@pytest.fixture
def tiny(monkeypatch):
    views = {"MV-MNIST": ("0 degrees", "90 degrees")}
    monkeypatch.setattr(
        reconstruction,
        "load_paper_data",
        lambda name, **_: tiny_images(views[name], pixels=784) if name in views else tiny_images(),
    )


@pytest.mark.usefixtures("tiny")
def test_errors_of_mean_image_and_pca_equal_residual_variance():
    Y = tiny_images()["image"] / 255
    means = reconstruction.measure_reconstruction(cell(reconstruction.RECONSTRUCTION, "mean image")).numbers[
        "MSE image"
    ]
    assert means == pytest.approx(Y.var(axis=0).mean(), rel=1e-5)
    squares = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    two = reconstruction.measure_reconstruction(cell(reconstruction.RECONSTRUCTION, "PCA", D=2)).numbers["MSE image"]
    assert two == pytest.approx(squares[2:].sum() / Y.size, rel=1e-4)


def test_balanced_view_weights_are_inverse_to_the_number_of_columns():
    views = {"mnist": np.ones((3, 2)), "svhn": np.ones((3, 8))}
    model = reconstruction._model(cell(reconstruction.RECONSTRUCTION, "NG-MVLVM (balanced view weights)", D=2), views)
    assert model.view_weights == {"mnist": 1.0, "svhn": 0.25}
    assert reconstruction._model(cell(reconstruction.RECONSTRUCTION, "NG-MVLVM", D=2), views).view_weights is None


def test_paper_values_are_shown_for_two_dimensions_only(tmp_path):
    numbers = {("MNIST", "NG-MVLVM", 0, (("D", d),)): {"MSE image": 0.05 / d, "rows": 9} for d in (2, 10)}
    numbers["MNIST", "mean image", 0, ()] = {"MSE image": 0.067, "rows": 9}
    page = reconstruction.write_reconstruction(
        results_from_numbers(reconstruction.RECONSTRUCTION, CellStore(tmp_path), numbers)
    )
    first, along = page.tables
    assert first.rows[1] == ["NG-MVLVM", "0.0230 ± 0.0004", "**0.0250 (1)**", "+0.0020"]
    assert first.rows[2] == ["mean image", "-", "0.0670 (1)", "-"]
    assert along.rows[1] == ["NG-MVLVM", "**0.0250 (1)**", "**0.0050 (1)**"]
    assert list(page.figures) == ["by-dimension"]


def test_each_view_of_mnist_svhn_has_its_columns(tmp_path):
    numbers = {("MNIST-SVHN", "MVAE", 0, (("D", 2),)): {"MSE mnist": 0.05, "MSE svhn": 0.02, "rows": 9}}
    page = reconstruction.write_reconstruction(
        results_from_numbers(reconstruction.RECONSTRUCTION, CellStore(tmp_path), numbers)
    )
    assert page.tables[0].rows[1] == ["MVAE", "0.0310 ± 0.0021", "**0.0500 (1)**", "+0.0190",
                                      "0.0440 ± 0.0015", "**0.0200 (1)**", "-0.0240"]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_rotated_images_and_reconstructions_are_saved(tmp_path):
    measured = reconstruction.measure_rotated(cell(reconstruction.ROTATED, "PCA", D=2))
    assert set(measured.arrays) == {f"{w} {v}" for w in ("original", "rebuilt") for v in ("0 degrees", "90 degrees")}
    assert measured.arrays["original 0 degrees"].shape == (2, 784)  # one of each class
    assert measured.numbers["MSE"] == pytest.approx(np.mean([measured.numbers[f"MSE {v} degrees"] for v in (0, 90)]))
    store, ours = CellStore(tmp_path), cell(reconstruction.ROTATED, "NG-MVLVM", D=2)
    store.save_arrays(ours, measured.arrays)
    store.append(record(ours, KNN=0.8, MSE=0.04, rows=9))
    page = reconstruction.write_rotated(reconstruction.ROTATED.results(Effort.QUICK, store))
    assert list(page.figures) == ["knn", "images-2"]
    assert page.tables[0].rows == [["method", "KNN", "MSE"], ["NG-MVLVM", "**80.0 (1)**", "**0.0400 (1)**"]]


def test_later_rows_are_classified_by_earlier_rows():
    labels = np.repeat([0, 1], 10)
    moving = np.concatenate([np.arange(10.0), np.arange(10.0) + 20])[:, None]
    assert reconstruction.accuracy_on_later_rows(moving, labels) == 1.0
    moving[8:10] += 20  # the first user ends among the rows of the second
    assert reconstruction.accuracy_on_later_rows(moving, labels) == 0.5


def test_power_lost_is_one_for_zero_and_zero_for_exact_reconstruction():
    views = {"real": np.array([[1.0], [-1.0]]), "imag": np.array([[0.0], [0.0]])}
    assert reconstruction._channel_errors(views, {"real": np.zeros((2, 1)), "imag": np.zeros((2, 1))}) == {
        "MSE": 0.5,
        "power lost": 1.0,
    }
    assert reconstruction._channel_errors(views, views) == {"MSE": 0.0, "power lost": 0.0}


def test_channel_cell_has_all_numbers_of_the_page(monkeypatch):
    monkeypatch.setattr(reconstruction, "load_paper_data", lambda *_, **__: tiny_images(("real", "imag")))
    numbers = reconstruction.measure_channel(cell(reconstruction.CHANNEL, "PCA", D=2)).numbers
    assert set(numbers) == {"KNN", "LR", "SVM", "KNN later", "MSE", "power lost", "power lost later", "rows"}
    assert 0 < numbers["power lost"] < numbers["power lost later"]
    assert numbers["rows"] == 24


def test_later_rows_are_reconstructed_by_a_model_of_earlier_rows(monkeypatch):
    given = []

    class Model:
        def fit(self, views):
            given.append(views)
            return self

        def predict(self, views):
            given.append(views)
            return {name: np.zeros_like(Y) for name, Y in views.items()}

    monkeypatch.setattr(reconstruction, "estimator_for", lambda *_: Model())
    views = {"real": np.arange(10.0)[:, None], "imag": np.ones((10, 1))}
    labels = np.repeat([0, 1], 5)
    assert (
        reconstruction._errors_on_later_rows(cell(reconstruction.CHANNEL, "MVAE", D=2), views, labels)["power lost"]
        == 1.0
    )
    assert [part["real"].ravel().tolist() for part in given] == [[0, 1, 2, 3, 5, 6, 7, 8], [4, 9]]


def test_channel_page_has_a_table_for_every_dimension(tmp_path):
    shown = {"KNN": 0.5, "LR": 0.4, "SVM": 0.3, "KNN later": 0.2, "MSE": 0.001, "power lost": 0.064, "rows": 10}
    at = {
        ("CHANNEL", method, 0, (("D", d),)): {**shown, "KNN": 0.5 + d / 100}
        for method in ("PCA", "MVAE")
        for d in (2, 10)
    }
    page = reconstruction.write_channel(results_from_numbers(reconstruction.CHANNEL, CellStore(tmp_path), at))
    assert [table.name for table in page.tables] == ["channel-2", "channel-10"]
    assert page.tables[1].rows[1][:2] == ["MVAE", "**60.0 (1)**"]
    assert page.tables[1].rows[1][5:] == ["**1.000 (1)**", "**6.4 (1)**", "-"]
    assert list(page.figures) == ["accuracy", "accuracy-by-dimension", "mse"]


def test_channel_page_without_results_has_no_figures(tmp_path):
    assert not reconstruction.write_channel(
        results_from_numbers(reconstruction.CHANNEL, CellStore(tmp_path), {})
    ).figures


@pytest.mark.parametrize("effort", list(reconstruction.CHANNEL.grids))
def test_channel_includes_two_dimensions_at_every_effort(effort):
    assert 2 in reconstruction.CHANNEL.grids[effort][0].axes["D"]
