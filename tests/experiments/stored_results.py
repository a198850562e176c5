"""Tiny data sets, and stored results of experiments that were not run."""

import numpy as np

from mvlvm.datasets import Dataset
from mvlvm.experiments.cells import DONE, CellRecord, CellStore, Effort
from mvlvm.experiments.cells import versions as current_versions
from tests.experiments.stub_experiment import experiment


def record(cell, *, seconds=1.0, status=DONE, version=None, **numbers):
    versions = {**current_versions(), **({} if version is None else {"mvlvm": version})}
    return CellRecord(cell=cell, status=status, seconds=seconds, machine="here", versions=versions, numbers=numbers)


def cell(experiment, method, *, data=None, seed=0, effort=Effort.QUICK, **at):
    return experiment.cell(data or experiment.data[0], method, seed, effort, at)


def results_from_numbers(experiment, store, numbers, *, effort=Effort.QUICK):
    """Return the results of cells with these numbers: (data, method, seed, point) -> name -> value."""
    for (data, method, seed, at), values in numbers.items():
        store.append(record(experiment.cell(data, method, seed, effort, dict(at)), **values))
    return experiment.results(effort, store)


def tiny_images(views=("image",), n=24, pixels=12, seed=0):
    """Return images on a two-dimensional nonlinear manifold with two classes, in the format of `load_paper_data`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    arrays = {
        view: 255 / (1 + np.exp(-3 * np.sin(X @ rng.normal(size=(2, pixels)) + rng.normal(size=pixels))))
        for view in views
    }  # fmt: skip
    return Dataset(arrays, labels=(X[:, 0] > 0).astype(np.int64), label_names=("left", "right"))


def grid_cell(experiment, data, method, *, seed=0, effort=Effort.QUICK, **at):
    return experiment.cell(data, method, seed, effort, at)


def results_from_cells(experiment, folder, measured):
    """Return the results of cells with these numbers and arrays."""
    store = CellStore(folder)
    for cell, numbers, arrays in measured:
        store.save_arrays(cell, arrays)
        store.append(
            CellRecord(
                cell=cell, status=DONE, seconds=1.0, machine="none", versions=current_versions(), numbers=numbers
            )
        )
    return experiment.results(Effort.QUICK, store)


def two_seeds(folder):
    """Return full-effort results of the stub experiment with two seeds; a quick cell must not influence them."""
    store, stub = CellStore(folder), experiment()
    for cell in stub.cells(Effort.FULL, [0, 1]):
        value = {"NG-MVLVM": 0.9, "MVAE": 0.7}[cell.method] + cell.seed / 50
        store.append(record(cell, KNN=value))
    store.append(record(stub.cells(Effort.QUICK, [0])[0], KNN=0.1))
    return stub.results(Effort.FULL, store)
