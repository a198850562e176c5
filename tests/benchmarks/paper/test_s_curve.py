"""The S-curve: evaluation against the true latents and kernels, and the toy page."""

import numpy as np
import pytest

from benchmarks.paper import s_curve
from benchmarks.paper.s_curve import TOY, measure, page
from benchmarks.study import NO, TIE, YES
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2
from tests.benchmarks.paper.stored_results import (
    cell,
    figures_of,
    results_from_cells,
    results_from_metrics,
    tables_of,
    verdicts,
)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(s_curve, "_N_QUICK_ROWS", 40)


def test_pca_is_evaluated_by_latents_and_has_no_kernel():
    measured = measure(cell(TOY, "PCA", data="RBF+Gibbs", seed=3))
    data = load("s-curve", kernels=["rbf", "gibbs"], n_samples=40, n_features=100, random_state=3)
    assert set(measured.metrics) == {"R2"}
    assert affine_r2(data.truth["latents"], measured.arrays["latents"].astype(float)) == pytest.approx(
        measured.metrics["R2"], abs=1e-5
    )
    np.testing.assert_allclose(measured.arrays["true latents"], data.truth["latents"], rtol=1e-6)
    np.testing.assert_allclose(measured.arrays["true kernel 2"], data.truth["kernels"]["view2"], rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
def test_kernel_correlation_compares_matching_views(monkeypatch):
    monkeypatch.setattr("benchmarks.paper.paper_methods._QUICK", {"NG-MVLVM": {"max_iter": 30, "tol": 0.0}})
    measured = measure(cell(TOY, "NG-MVLVM", data="RBF+Gibbs"))
    above = np.triu_indices(40, k=1)
    for view in (1, 2):
        true, learned = (measured.arrays[f"{kind} kernel {view}"][above] for kind in ("true", "learned"))
        assert np.corrcoef(true, learned)[0, 1] == pytest.approx(measured.metrics[f"kernel {view}"], abs=1e-4)
    assert measured.metrics["R2"] > 0.5


def fake_result(method, r2, kernels=None, seed=0):
    rng = np.random.default_rng(seed)
    X, K = rng.normal(size=(12, 2)), np.eye(12)
    arrays = {"latents": X, "true latents": X, "angle": np.arange(12.0), "true kernel 1": K, "true kernel 2": K}
    metrics = {"R2": r2}
    for view, correlation in enumerate(kernels or (), 1):
        metrics[f"kernel {view}"] = correlation
        arrays[f"learned kernel {view}"] = K
    return cell(TOY, method, data="RBF+RBF", seed=seed), metrics, arrays


def test_table_marks_the_best_and_has_dashes_without_a_kernel(tmp_path):
    results = results_from_cells(TOY, tmp_path, [fake_result("PCA", 0.95), fake_result("NG-MVLVM", 0.9, (0.7, 0.8))])
    (table,) = tables_of(page(results))
    assert [row[1:] for row in table.rows[1:]] == [
        ["0.900 (1)", "0.700 (1)", "0.800 (1)"], ["0.950 (1)", "-", "-"],
    ]  # fmt: skip


def test_figure_shows_truth_and_methods_of_the_first_seed(tmp_path):
    results = [fake_result("NG-MVLVM", 0.25, (0.7, 0.8), seed=1), fake_result("NG-MVLVM", 0.9, (0.7, 0.8)),
               fake_result("PCA", 0.95)]  # fmt: skip
    (draw,) = figures_of(page(results_from_cells(TOY, tmp_path, results))).values()
    figure = draw()
    names = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert names == ["truth", "NG-MVLVM", "PCA"]
    titles = " ".join(axes.get_title() for axes in figure.axes)
    assert [score in titles for score in ("0.900", "0.950", "0.250")] == [True, True, False]


def test_claims_compare_kernels_with_the_stationary_model_and_latents_with_all_methods(tmp_path):
    metrics = {}
    for seed in (0, 1):
        ours = {"R2": 0.9 + 0.01 * seed, "kernel 1": 0.5 + 0.2 * seed, "kernel 2": 0.9}
        metrics["RBF+Gibbs", "NG-MVLVM", seed, ()] = ours
        metrics["RBF+Gibbs", "MV-ARFLVM", seed, ()] = {"R2": 0.8, "kernel 1": 0.6, "kernel 2": 0.7 + 0.01 * seed}
        metrics["RBF+Gibbs", "PCA", seed, ()] = {"R2": 0.99}
    gibbs, kernels, latents = verdicts(TOY, results_from_metrics(TOY, tmp_path, metrics))
    assert gibbs == ("ahead of MV-ARFLVM by 0.195 ± 0.005", YES)
    assert kernels == ("ahead on 1, tied on 1 of 2", TIE)
    assert latents == ("behind PCA by 0.085 ± 0.005", NO)
    assert verdicts(TOY, results_from_metrics(TOY, tmp_path / "none", {})) == [None, None, None]
