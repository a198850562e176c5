"""Classification tables: claims, and the gallery of latents, in which every method shows the same rows."""

import numpy as np

from benchmarks.paper import classification_tables
from benchmarks.paper.classification_tables import LATENTS, MULTI_VIEW, SINGLE_VIEW
from benchmarks.paper.paper_methods import MAX_ROWS
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


def metrics(**means):
    """Return metrics of two seeds on BRIDGES by method."""
    return {
        ("BRIDGES", method.replace("_", "-"), seed, ()): {"KNN": mean + 0.002 * seed, "SVM": mean, "rows": 9}
        for method, mean in means.items()
        for seed in (0, 1)
    }


def test_page_has_a_table_per_data_set_compared_with_the_paper(tmp_path):
    parts = MULTI_VIEW.page(results_from_metrics(MULTI_VIEW, tmp_path, metrics(NG_MVLVM=0.9, MVAE=0.7)))
    (table,) = tables_of(parts)
    assert table.title == "BRIDGES"
    assert [cell for cell in table.rows[0] if cell.startswith("SVM")] == ["SVM paper", "SVM ours", "SVM difference"]
    assert table.rows[1][:4] == ["NG-MVLVM", "85.3 ± 1.5", "**90.1 ± 0.1 (2)**", "+4.8"]
    assert list(figures_of(parts)) == ["accuracy"]


def test_claims_compare_with_the_paper_and_with_the_best_other_method(tmp_path):
    clear = results_from_metrics(MULTI_VIEW, tmp_path / "a", metrics(NG_MVLVM=0.9, MVAE=0.7, MMVAE=0.8))
    assert verdicts(MULTI_VIEW, clear) == [("2 of 2", YES), ("ahead of MMVAE by 0.10000 ± 0.00000", YES)]
    behind = results_from_metrics(MULTI_VIEW, tmp_path / "b", metrics(NG_MVLVM=0.8, MVAE=0.7, MMVAE=0.81))
    assert [holds for _, holds in verdicts(MULTI_VIEW, behind)] == [NO, NO]
    equal = results_from_metrics(MULTI_VIEW, tmp_path / "c", metrics(NG_MVLVM=0.9, MVAE=0.9))
    assert verdicts(MULTI_VIEW, equal)[1][1] == TIE


def test_discriminant_analysis_of_all_labels_is_not_a_rival(tmp_path):
    given = metrics(NG_MVLVM=0.9, VAE=0.5)
    given |= {("BRIDGES", "linear discriminant analysis", seed, ()): {"KNN": 1.0} for seed in (0, 1)}
    results = results_from_metrics(SINGLE_VIEW, tmp_path, given)
    assert verdicts(SINGLE_VIEW, results)[1] == ("ahead of VAE by 0.40000 ± 0.00000", YES)


def test_gallery_shows_the_same_rows_for_methods_with_fewer_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(classification_tables, "load_paper_data", lambda *_, **__: tiny_images(n=60))
    monkeypatch.setattr(classification_tables, "_N_SHOWN", 20)
    monkeypatch.setitem(MAX_ROWS, "MMVAE", 30)
    monkeypatch.setattr(classification_tables, "estimator_initialised_by_bound", lambda _: _FirstColumns())
    shown = {method: classification_tables.measure_latents(cell(LATENTS, method)) for method in ("MVAE", "MMVAE")}
    assert [shown[method].metrics["rows"] for method in ("MVAE", "MMVAE")] == [60, 30]
    for name in ("latents", "labels"):
        np.testing.assert_array_equal(shown["MVAE"].arrays[name], shown["MMVAE"].arrays[name])
    measured = [(cell(LATENTS, method), one.metrics, one.arrays) for method, one in shown.items()]
    figures = figures_of(LATENTS.page(results_from_cells(LATENTS, tmp_path, measured)))
    assert list(figures) == ["gallery"]
    panels = figures["gallery"]().axes
    assert {f"1-NN {100 * one.metrics['KNN']:.1f} %" for one in shown.values()} <= {p.get_xlabel() for p in panels}


class _FirstColumns:
    def fit_transform(self, views):
        return views["image"][:, :2]
