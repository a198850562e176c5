"""Reconstruction of images and rotated digits: errors, saved images, claims and pages."""

import numpy as np
import pytest

from benchmarks.paper import reconstruction
from benchmarks.paper.reconstruction import RECONSTRUCTION, ROTATED
from benchmarks.study import NO, TIE, YES
from tests.benchmarks.paper.stored_results import (
    cell,
    figures_of,
    results_from_cells,
    results_from_metrics,
    tables_of,
    tiny_images,
    verdicts,
)


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
    means = reconstruction.measure_reconstruction(cell(RECONSTRUCTION, "mean image")).metrics["MSE image"]
    assert means == pytest.approx(Y.var(axis=0).mean(), rel=1e-5)
    squares = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    two = reconstruction.measure_reconstruction(cell(RECONSTRUCTION, "PCA", D=2)).metrics["MSE image"]
    assert two == pytest.approx(squares[2:].sum() / Y.size, rel=1e-4)


def test_balanced_view_weights_are_inverse_to_the_number_of_columns():
    views = {"mnist": np.ones((3, 2)), "svhn": np.ones((3, 8))}
    model = reconstruction._model(cell(RECONSTRUCTION, "NG-MVLVM (balanced view weights)", D=2), views)
    assert model.view_weights == {"mnist": 1.0, "svhn": 0.25}
    assert reconstruction._model(cell(RECONSTRUCTION, "NG-MVLVM", D=2), views).view_weights is None


def test_paper_values_are_shown_for_two_dimensions_only(tmp_path):
    metrics = {("MNIST", "NG-MVLVM", 0, (("D", d),)): {"MSE image": 0.05 / d, "rows": 9} for d in (2, 10)}
    metrics["MNIST", "mean image", 0, ()] = {"MSE image": 0.067, "rows": 9}
    parts = reconstruction.reconstruction_page(results_from_metrics(RECONSTRUCTION, tmp_path, metrics))
    first, along = tables_of(parts)
    assert first.rows[1] == ["NG-MVLVM", "0.0230 ± 0.0004", "0.0250 (1)", "+0.0020"]
    assert first.rows[2] == ["mean image", "-", "0.0670 (1)", "-"]
    assert along.rows[1] == ["NG-MVLVM", "0.0250 (1)", "0.0050 (1)"]
    figures = figures_of(parts)
    assert list(figures) == ["by-dimension"]
    (panel,) = figures["by-dimension"]().axes
    assert [line.get_ydata()[0] for line in panel.lines if line.get_linestyle() == "--"] == [0.023]


def test_each_view_of_mnist_svhn_has_its_columns(tmp_path):
    metrics = {("MNIST-SVHN", "MVAE", 0, (("D", 2),)): {"MSE mnist": 0.05, "MSE svhn": 0.02, "rows": 9}}
    parts = reconstruction.reconstruction_page(results_from_metrics(RECONSTRUCTION, tmp_path, metrics))
    assert tables_of(parts)[0].rows[1] == ["MVAE", "0.0310 ± 0.0021", "0.0500 (1)", "+0.0190",
                                           "0.0440 ± 0.0015", "0.0200 (1)", "-0.0240"]  # fmt: skip


def test_data_sets_of_one_dimension_have_no_curves(tmp_path):
    metrics = {("R-MNIST", "NG-MVLVM", 0, (("D", 2),)): {"MSE image": 0.05, "rows": 9}}
    parts = reconstruction.reconstruction_page(results_from_metrics(RECONSTRUCTION, tmp_path, metrics, quick=False))
    assert figures_of(parts) == {}
    assert [table.name for table in tables_of(parts)] == ["reconstruction-r-mnist"]


def test_claims_on_errors_are_judged_at_two_dimensions(tmp_path):
    metrics = {}
    for seed in (0, 1):
        for d, ours in ((2, 0.02), (10, 0.9)):
            at = (("D", d),)
            metrics["MNIST", "NG-MVLVM", seed, at] = {"MSE image": ours + 0.001 * seed}
            metrics["MNIST", "MV-ARFLVM", seed, at] = {"MSE image": 0.03}
            metrics["MNIST", "MVAE", seed, at] = {"MSE image": 0.019}
        metrics["MNIST", "mean image", seed, ()] = {"MSE image": 0.001}  # not a model
    reached, stationary, best = verdicts(RECONSTRUCTION, results_from_metrics(RECONSTRUCTION, tmp_path, metrics))
    assert reached == ("1 of 1", YES)
    assert stationary == ("ahead of MV-ARFLVM by 0.0095 ± 0.0005", YES)
    assert best == ("behind MVAE by 0.0015 ± 0.0005", NO)


@pytest.mark.usefixtures("tiny")
def test_rotated_images_and_reconstructions_are_saved(tmp_path):
    measured = reconstruction.measure_rotated(cell(ROTATED, "PCA", D=2))
    assert set(measured.arrays) == {f"{w} {v}" for w in ("original", "rebuilt") for v in ("0 degrees", "90 degrees")}
    assert measured.arrays["original 0 degrees"].shape == (2, 784)  # one of each class
    assert measured.metrics["MSE"] == pytest.approx(np.mean([measured.metrics[f"MSE {v} degrees"] for v in (0, 90)]))
    ours = cell(ROTATED, "NG-MVLVM", D=2), {"KNN": 0.8, "MSE": 0.04, "rows": 9}, measured.arrays
    parts = reconstruction.rotated_page(results_from_cells(ROTATED, tmp_path, [ours]))
    figures = figures_of(parts)
    assert list(figures) == ["knn", "images-2"]
    labels = [name.get_text().replace("\n", " ") for name in figures["images-2"]().axes[0].get_yticklabels()]
    assert labels == ["0 degrees", "0 degrees, reconstructed", "90 degrees", "90 degrees, reconstructed"]
    assert [patch.get_height() for patch in figures["knn"]().axes[0].patches] == [80.0]
    (table,) = tables_of(parts)
    assert table.rows == [["method", "KNN", "MSE"], ["NG-MVLVM", "80.0 (1)", "0.0400 (1)"]]
    assert table.name == "rotated-2"


def test_rotated_claims_are_judged_at_every_dimension(tmp_path):
    metrics = {}
    for seed in (0, 1):
        for d, accuracy in ((2, 0.8), (10, 0.7 + 0.3 * seed)):
            metrics["MV-MNIST", "NG-MVLVM", seed, (("D", d),)] = {"KNN": accuracy, "MSE": 0.02}
            metrics["MV-MNIST", "MV-ARFLVM", seed, (("D", d),)] = {"KNN": 0.7, "MSE": 0.03 + 0.001 * seed}
    assert verdicts(ROTATED, results_from_metrics(ROTATED, tmp_path, metrics)) == [
        ("ahead on 2 of 2", YES), ("ahead on 1, tied on 1 of 2", TIE),
    ]  # fmt: skip
