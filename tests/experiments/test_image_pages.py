"""Images rebuilt: by how much they differ, and what is kept to show them."""

import numpy as np
import pytest

from mvlvm.experiments import latents, reconstruction, rotated
from mvlvm.experiments.methods import MOST_ROWS
from mvlvm.experiments.spec import Effort
from mvlvm.experiments.store import Store
from tests.experiments.findings import cell, found_in, tiny_images
from tests.experiments.test_running import record


@pytest.fixture
def tiny(monkeypatch):
    views = ("0 degrees", "90 degrees")
    monkeypatch.setattr(rotated, "load_paper_data", lambda *_, **__: tiny_images(views, pixels=784))
    monkeypatch.setattr(reconstruction, "load_paper_data", lambda *_, **__: tiny_images())
    monkeypatch.setattr(latents, "load_paper_data", lambda *_, **__: tiny_images(n=60))


@pytest.mark.usefixtures("tiny")
def test_the_mean_image_has_the_variance_as_error_and_components_have_what_is_left():
    Y = tiny_images()["image"] / 255
    means = reconstruction.measure(cell(reconstruction.EXPERIMENT, "mean of every pixel")).numbers["MSE image"]
    assert means == pytest.approx(Y.var(axis=0).mean(), rel=1e-5)
    squares = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    two = reconstruction.measure(cell(reconstruction.EXPERIMENT, "PCA", D=2)).numbers["MSE image"]
    assert two == pytest.approx(squares[2:].sum() / Y.size, rel=1e-4)


def test_views_weighed_alike_have_weights_by_their_columns():
    views = {"mnist": np.ones((3, 2)), "svhn": np.ones((3, 8))}
    model = reconstruction._model(cell(reconstruction.EXPERIMENT, "NG-MVLVM (views weighed alike)", D=2), views)
    assert model.view_weights == {"mnist": 1.0, "svhn": 0.25}
    assert reconstruction._model(cell(reconstruction.EXPERIMENT, "NG-MVLVM", D=2), views).view_weights is None


def test_the_paper_stands_beside_two_dimensions_alone(tmp_path):
    numbers = {("MNIST", "NG-MVLVM", 0, (("D", d),)): {"MSE image": 0.05 / d, "rows": 9} for d in (2, 10)}
    numbers["MNIST", "mean of every pixel", 0, ()] = {"MSE image": 0.067, "rows": 9}
    page = reconstruction.write(found_in(reconstruction.EXPERIMENT, Store(tmp_path), numbers))
    first, along = page.tables
    assert first.rows[1] == ["NG-MVLVM", "0.0230 ± 0.0004", "**0.0250 (1)**", "+0.0020"]
    assert first.rows[2] == ["mean of every pixel", "-", "0.0670 (1)", "-"]
    assert along.rows[1] == ["NG-MVLVM", "**0.0250 (1)**", "**0.0050 (1)**"]
    assert list(page.figures) == ["by-dimension"]


def test_both_views_of_pairs_have_their_own_columns(tmp_path):
    numbers = {("MNIST-SVHN", "MVAE", 0, (("D", 2),)): {"MSE mnist": 0.05, "MSE svhn": 0.02, "rows": 9}}
    page = reconstruction.write(found_in(reconstruction.EXPERIMENT, Store(tmp_path), numbers))
    assert page.tables[0].rows[1] == ["MVAE", "0.0310 ± 0.0021", "**0.0500 (1)**", "+0.0190",
                                      "0.0440 ± 0.0015", "**0.0200 (1)**", "-0.0240"]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_rotated_images_are_kept_beside_what_was_rebuilt(tmp_path):
    measured = rotated.measure(cell(rotated.EXPERIMENT, "PCA", D=2))
    assert set(measured.arrays) == {f"{w} {v}" for w in ("original", "rebuilt") for v in ("0 degrees", "90 degrees")}
    assert measured.arrays["original 0 degrees"].shape == (2, 784)  # one of each class
    assert measured.numbers["MSE"] == pytest.approx(np.mean([measured.numbers[f"MSE {v} degrees"] for v in (0, 90)]))
    store, ours = Store(tmp_path), cell(rotated.EXPERIMENT, "NG-MVLVM", D=2)
    store.keep_arrays(ours, measured.arrays)
    store.append(record(ours, KNN=0.8, MSE=0.04, rows=9))
    page = rotated.write(rotated.EXPERIMENT.found(Effort.QUICK, store))
    assert list(page.figures) == ["knn", "images-2"]
    assert page.tables[0].rows == [["method", "KNN", "MSE"], ["NG-MVLVM", "**80.0 (1)**", "**0.0400 (1)**"]]


@pytest.mark.usefixtures("tiny")
def test_the_same_rows_are_shown_of_a_method_that_sees_fewer(monkeypatch, tmp_path):
    monkeypatch.setattr(latents, "_N_SHOWN", 20)
    monkeypatch.setitem(MOST_ROWS, "UMAP", 30)
    monkeypatch.setattr(latents, "estimator_started_by_bound", lambda _: _FirstColumns())
    store, shown = Store(tmp_path), {}
    for method in ("MVAE", "UMAP"):
        one = cell(latents.EXPERIMENT, method)
        measured = latents.measure(one)
        store.keep_arrays(one, measured.arrays)
        store.append(record(one, **measured.numbers))
        shown[method] = measured
    assert [shown[m].numbers["rows"] for m in ("MVAE", "UMAP")] == [60, 30]
    for name in ("latents", "labels"):
        np.testing.assert_array_equal(shown["MVAE"].arrays[name], shown["UMAP"].arrays[name])
    page = latents.write(latents.EXPERIMENT.found(Effort.QUICK, store))
    assert list(page.figures) == ["gallery"]


class _FirstColumns:
    def fit_transform(self, views):
        return views["image"][:, :2]
