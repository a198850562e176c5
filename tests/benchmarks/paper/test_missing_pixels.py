"""Imputation of missing pixels: evaluation on the missing pixels only, the page, and simple imputation methods."""

import numpy as np
import pytest

from benchmarks.paper import missing_pixels
from benchmarks.paper.missing_pixels import (
    MISSING,
    impute_column_means,
    impute_neighbours,
    impute_pca,
    page,
    pca_reconstruction,
)
from benchmarks.study import NO, YES
from tests.benchmarks.paper.stored_results import (
    cell,
    figures_of,
    results_from_cells,
    results_from_metrics,
    tables_of,
    tiny_images,
    verdicts,
)

# fits with few steps warn that they have not converged
pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
OURS, SHARE = "NG-MVLVM", "percent missing"


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(missing_pixels, "load_paper_data", lambda *_, **__: tiny_images(n=40))


def measured(method, share, **at):
    return missing_pixels.measure(cell(MISSING, method, **{SHARE: share, **at}))


def test_error_is_computed_on_missing_pixels_only():
    Y = tiny_images(n=40)["image"] / 255
    missing = np.random.default_rng(0).random(Y.shape) < 0.4
    means = np.array([Y[~missing[:, m], m].mean() for m in range(Y.shape[1])])
    expected = np.sqrt(np.mean((np.broadcast_to(means, Y.shape) - Y)[missing] ** 2))
    assert measured("column means", 40).metrics == {"RMSE": pytest.approx(expected, rel=1e-5), "rows": 40}


def test_our_model_reports_calibration_and_saves_images(monkeypatch):
    monkeypatch.setattr(missing_pixels, "_QUICK_STEPS", 60)
    ours = measured(OURS, 40, D=2)
    assert set(ours.metrics) == {"RMSE", "RMSE rebuilt", "log density", "coverage", "rows"}
    assert ours.metrics["RMSE"] < measured("column means", 40).metrics["RMSE"]
    assert 0.5 < ours.metrics["coverage"] <= 1
    is_missing = np.isnan(ours.arrays["observed"])
    assert 0.2 < is_missing.mean() < 0.6
    assert (ours.arrays["filled in"][~is_missing] == ours.arrays["original"][~is_missing]).all()
    assert set(measured(OURS, 0, D=2).metrics) == {"RMSE rebuilt", "rows"}


def test_missing_pixels_set_to_zero_increase_the_error(monkeypatch):
    monkeypatch.setattr(missing_pixels, "_QUICK_STEPS", 60)
    as_zeros = measured("NG-MVLVM (missing as zeros)", 60, D=2).metrics["RMSE"]
    assert as_zeros > measured(OURS, 60, D=2).metrics["RMSE"]


def test_iterative_pca_on_complete_data_is_pca():
    Y = tiny_images(n=40)["image"] / 255
    squares = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    reconstructed = measured("iterative PCA", 0, D=2).metrics["RMSE rebuilt"]
    assert reconstructed == pytest.approx(np.sqrt(squares[2:].sum() / Y.size), rel=1e-4)


def test_page_has_tables_by_dimension_and_images(tmp_path):
    images = {name: np.zeros((3, 784), dtype=np.float32) for name in ("original", "observed", "filled in")}
    images["observed"][:, 5] = np.nan
    ours = {share: {**({"RMSE": 0.1} if share else {}), "RMSE rebuilt": 0.2} for share in (0, 20)}
    cells = [(cell(MISSING, OURS, **{SHARE: share, "D": 2}), metrics, images) for share, metrics in ours.items()]
    cells.append((cell(MISSING, "column means", **{SHARE: 20}), {"RMSE": 0.3}, {}))
    parts = page(results_from_cells(MISSING, tmp_path, cells))
    missing, reconstructed = tables_of(parts)
    assert missing.rows == [
        ["method", "percent missing = 20"],
        [OURS, "0.1000 (1)"],
        ["column means", "0.3000 (1)"],
    ]
    assert reconstructed.rows[1:] == [[OURS, "0.2000 (1)", "0.2000 (1)"]]
    figures = figures_of(parts)
    assert list(figures) == ["rmse", "r-mnist-2"]
    labels = [name.get_text().replace("\n", " ") for name in figures["r-mnist-2"]().axes[0].get_yticklabels()]
    assert labels == ["original", "complete, reconstructed", "20 % missing", "20 %, imputed"]
    (panel,) = figures["rmse"]().axes
    assert panel.get_ylabel() == "RMSE of missing pixels"


def test_page_of_complete_images_has_no_curves(tmp_path):
    metrics = {("R-MNIST", OURS, 0, ((SHARE, 0), ("D", 2))): {"RMSE rebuilt": 0.2}}
    parts = page(results_from_metrics(MISSING, tmp_path, metrics))
    assert list(figures_of(parts)) == ["r-mnist-2"]
    assert len(tables_of(parts)) == 1


def claim_metrics(coverage, errors):
    """Return metrics of two seeds with the errors of methods, and the coverage of ours."""
    return {
        ("BRENDAN", method, seed, ((SHARE, 20), *((("D", 2),) if method != "ten nearest rows" else ()))): {
            "RMSE": error + 0.001 * seed, **({"coverage": coverage} if method == OURS else {})
        }
        for method, error in errors.items()
        for seed in (0, 1)
    }  # fmt: skip


@pytest.mark.parametrize(("coverage", "holds"), [(0.89, NO), (0.9, YES), (0.98, YES), (0.99, NO)])
def test_claims_on_errors_and_calibration(coverage, holds, tmp_path):
    errors = {OURS: 0.1, "NG-MVLVM (missing as zeros)": 0.3, "iterative PCA": 0.2, "ten nearest rows": 0.05}
    found = verdicts(MISSING, results_from_metrics(MISSING, tmp_path, claim_metrics(coverage, errors)))
    assert [verdict[1] for verdict in found] == [YES, YES, NO, holds]
    assert found[-1][0] == f"{100 * coverage:.1f} % to {100 * coverage:.1f} % in 1 settings"


def low_rank_data(rng):
    Y = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 8)) + 5.0
    missing = rng.random(Y.shape) < 0.2
    return Y, missing, np.where(missing, np.nan, Y)


def test_iterative_pca_recovers_low_rank_data():
    Y, missing, observed = low_rank_data(np.random.default_rng(0))
    errors = {way: np.sqrt(np.mean((imputed - Y)[missing] ** 2)) for way, imputed in (
        ("components", impute_pca(observed, 2)), ("means", impute_column_means(observed)),
        ("neighbours", impute_neighbours(observed)))}  # fmt: skip
    assert errors["components"] < 0.05 * errors["means"]
    assert errors["neighbours"] < errors["means"]


def test_observed_entries_are_unchanged():
    _, missing, observed = low_rank_data(np.random.default_rng(1))
    for imputed in (impute_pca(observed, 2), impute_column_means(observed), impute_neighbours(observed)):
        assert (imputed[~missing] == observed[~missing]).all()
        assert np.isfinite(imputed).all()


def test_column_without_observed_entries_is_imputed_with_zero():
    assert impute_column_means(np.array([[np.nan, 1.0], [np.nan, 3.0]])).tolist() == [[0.0, 1.0], [0.0, 3.0]]


def test_pca_reconstruction_keeps_leading_directions():
    Y = np.array([[3.0, 0.1], [-3.0, 0.1], [3.0, -0.1], [-3.0, -0.1]])
    np.testing.assert_allclose(pca_reconstruction(Y, 1), [[3, 0], [-3, 0], [3, 0], [-3, 0]], atol=1e-12)
