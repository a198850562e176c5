"""Variants of NG-MVLVM: settings reach the estimator, and the page has a row for every variant."""

import numpy as np
import pytest

from benchmarks.cells import DONE, Cell, Code, Record
from benchmarks.quality import variants
from benchmarks.quality.variants import TASKS, VARIANTS, measure
from benchmarks.store import Store
from benchmarks.study import render_page
from mvlvm import DataFileError


class Spy:
    """Stands in for the estimator, and records the parameters of every fit."""

    fits = ()

    def __init__(self, **parameters):
        self.parameters = parameters

    def fit(self, views):
        Spy.fits = (*Spy.fits, (self.parameters, set(views)))
        n_rows = len(next(iter(views.values())))
        self.embedding_, self.elbo_, self._views = (
            np.random.default_rng(0).normal(size=(n_rows, 2)),
            -float(n_rows),
            views,
        )
        return self

    def reconstruct(self):
        return {"label": np.nan_to_num(self._views["label"])} if "label" in self._views else {}


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setattr(variants, "NGMVLVM", Spy)
    monkeypatch.setattr(Spy, "fits", ())
    return Spy


def cell_of(data, variant, seed=0):
    return Cell(study="variants", method="NG-MVLVM", data=data, seed=seed, settings={"variant": variant, "quick": True})


def paper_data_or_skip(cell):
    try:
        return measure(cell)
    except DataFileError as error:
        pytest.skip(f"the data set is not available: {error}")


def test_large_data_sets_have_one_seed_and_no_quick_cells():
    large = {name for name, task in TASKS.items() if task.large}
    assert large <= {cell.data for cell in VARIANTS.cells(0, False)}
    assert not large & {cell.data for cell in VARIANTS.cells(1, False)}
    assert not large & {cell.data for cell in VARIANTS.cells(0, True)}
    cells = VARIANTS.all_cells()
    assert len(set(cells)) == len(cells)


def test_a_first_fit_initialises_the_second(spy):
    cell = cell_of("MNIST-SVHN", "initialised by the latents of these weights")
    measured = paper_data_or_skip(cell)
    (first, _), (second, _) = spy.fits
    assert "view_weights" in first
    assert "view_weights" not in second
    assert second["init"].shape == (measured.metrics["rows"], 2)
    assert measured.metrics["bound"] == -1.0


def test_labels_are_a_view_except_in_the_variant_without_them(spy):
    paper_data_or_skip(cell_of("BRIDGES with held-out labels", "data only"))
    assert [names for _, names in spy.fits] == [{"counts"}]
    spy.fits = ()
    measured = measure(cell_of("BRIDGES with held-out labels", "labels with a Bernoulli likelihood"))
    assert [names for _, names in spy.fits] == [{"counts", "label"}] * 2
    assert spy.fits[0][0]["likelihood"] == {"counts": "gaussian", "label": "bernoulli"}
    assert set(measured.metrics) == {"KNN", "predicted"}


def test_the_page_has_a_row_for_every_variant_and_marks_clear_leads_only(tmp_path):
    store = Store(tmp_path)
    for seed in range(3):
        for variant, value in (('scale="view"', 0.3), ('scale="column"', 0.5)):
            cell = Cell(study="variants", method="NG-MVLVM", data="YALE", seed=seed, settings={"variant": variant})
            metrics = {"KNN": value + seed / 100, "bound": -3.0}
            store.append(Record(cell=cell, status=DONE, seconds=1.0, machine="m", code=Code("c"), metrics=metrics))
    text = render_page(VARIANTS, VARIANTS.results(store)).text
    assert '| scale="view" | -3.0 ± 0.0 (3) | 31.0 ± 1.0 (3) |' in text
    assert '| scale="column" | -3.0 ± 0.0 (3) | **51.0 ± 1.0 (3)** |' in text
    assert "CIFAR" not in text
