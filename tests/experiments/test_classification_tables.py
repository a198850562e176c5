"""The gallery of latents: every method shows the same rows."""

import numpy as np

from mvlvm.experiments import classification_tables
from mvlvm.experiments.cells import CellStore, Effort
from mvlvm.experiments.paper_methods import MAX_ROWS
from tests.experiments.stored_results import cell, record, tiny_images


def test_gallery_shows_the_same_rows_for_methods_with_fewer_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(classification_tables, "load_paper_data", lambda *_, **__: tiny_images(n=60))
    monkeypatch.setattr(classification_tables, "_N_SHOWN", 20)
    monkeypatch.setitem(MAX_ROWS, "UMAP", 30)
    monkeypatch.setattr(classification_tables, "estimator_initialised_by_bound", lambda _: _FirstColumns())
    store, shown = CellStore(tmp_path), {}
    for method in ("MVAE", "UMAP"):
        one = cell(classification_tables.LATENTS, method)
        measured = classification_tables.measure_latents(one)
        store.save_arrays(one, measured.arrays)
        store.append(record(one, **measured.numbers))
        shown[method] = measured
    assert [shown[m].numbers["rows"] for m in ("MVAE", "UMAP")] == [60, 30]
    for name in ("latents", "labels"):
        np.testing.assert_array_equal(shown["MVAE"].arrays[name], shown["UMAP"].arrays[name])
    page = classification_tables.write_latents(classification_tables.LATENTS.results(Effort.QUICK, store))
    assert list(page.figures) == ["gallery"]


class _FirstColumns:
    def fit_transform(self, views):
        return views["image"][:, :2]
