"""Tiny data sets, and stored results of studies that were not run."""

import numpy as np

from benchmarks.cells import DONE, Cell, Code, Grid, Record
from benchmarks.store import Store
from benchmarks.study import PageFigure, Study, cells_of_grids
from benchmarks.tables import ResultTable
from mvlvm.datasets import Dataset

CODE = Code("0" * 40)


def cell(study, method, *, data=None, seed=0, quick=True, **settings):
    settings = {**settings, **({"quick": True} if quick else {})}
    return Cell(study=study.name, method=method, data=data or study.data[0], seed=seed, settings=settings)


def record(cell, *, status=DONE, machine="here", arrays=None, **metrics):
    return Record(
        cell=cell, status=status, seconds=1.0, machine=machine, code=CODE, metrics=metrics, arrays=arrays or {}
    )


def results_from_metrics(study, folder, metrics, *, quick=True):
    """Return the results of cells with these metrics: (data, method, seed, settings) -> name -> value."""
    measured = [
        (cell(study, method, data=data, seed=seed, quick=quick, **dict(at)), values, {})
        for (data, method, seed, at), values in metrics.items()
    ]
    return results_from_cells(study, folder, measured, quick=quick)


def results_from_cells(study, folder, measured, *, quick=True):
    """Return the results of cells with these metrics and arrays."""
    store = Store(folder)
    for one, metrics, arrays in measured:
        store.append(record(one, arrays=arrays, **metrics))
    return study.results(store, quick=quick)


def stub_study(methods=("NG-MVLVM", "MVAE"), data=("BRIDGES",), name="stub"):
    return Study(
        name=name, title="Stub", what="Nothing.", group="paper", cells=cells_of_grids(name, [Grid(data, methods)]),
        measure=lambda _: None, page=lambda _: [],
    )  # fmt: skip


def tables_of(parts):
    return [part for part in parts if isinstance(part, ResultTable)]


def figures_of(parts):
    """Return the functions that draw the figures of a page, by name."""
    return {part.name: part.draw for part in parts if isinstance(part, PageFigure)}


def text_of(parts):
    """Return the text of a page without line breaks."""
    return " ".join(" ".join(part.split()) for part in parts if isinstance(part, str))


def verdicts(study, results):
    """Return what was measured and whether it holds, for every claim of a study; None without the required cells."""
    found = [claim.judge(results) for claim in study.claims]
    return [None if verdict is None else (verdict.measured, verdict.holds) for verdict in found]


def tiny_images(views=("image",), n=24, pixels=12, seed=0):
    """Return images on a two-dimensional nonlinear manifold with two classes, in the format of `load_paper_data`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    arrays = {
        view: 255 / (1 + np.exp(-3 * np.sin(X @ rng.normal(size=(2, pixels)) + rng.normal(size=pixels))))
        for view in views
    }  # fmt: skip
    return Dataset(arrays, labels=(X[:, 0] > 0).astype(np.int64), label_names=("left", "right"))
