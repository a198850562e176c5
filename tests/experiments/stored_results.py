"""Experiments on tiny data, and results as a run would leave them.

Results of experiments that were never run.
"""

import numpy as np

from mvlvm.datasets import Dataset
from mvlvm.experiments.cells import DONE, CellRecord, CellStore, Effort
from mvlvm.experiments.cells import versions as current_versions


def record(cell, *, seconds=1.0, status=DONE, version=None, **numbers):
    versions = {**current_versions(), **({} if version is None else {"mvlvm": version})}
    return CellRecord(cell=cell, status=status, seconds=seconds, machine="here", versions=versions, numbers=numbers)


def cell(experiment, method, *, data=None, seed=0, effort=Effort.QUICK, **at):
    return experiment.cell(data or experiment.data[0], method, seed, effort, at)


def found_in(experiment, store, numbers, *, effort=Effort.QUICK):
    """Give what would be found if the cells had these numbers, (method, seed, point) -> name -> value."""
    for (data, method, seed, at), values in numbers.items():
        store.append(record(experiment.cell(data, method, seed, effort, dict(at)), **values))
    return experiment.found(effort, store)


def tiny_images(views=("image",), n=24, pixels=12, seed=0):
    """Give images on a curved sheet, and two classes, as load_paper_data would."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    arrays = {
        view: 255 / (1 + np.exp(-3 * np.sin(X @ rng.normal(size=(2, pixels)) + rng.normal(size=pixels))))
        for view in views
    }  # fmt: skip
    return Dataset(arrays, labels=(X[:, 0] > 0).astype(np.int64), label_names=("left", "right"))


def cell_of(experiment, data, method, *, seed=0, effort=Effort.QUICK, **at):
    return experiment.cell(data, method, seed, effort, at)


def found_of(experiment, folder, results):
    """What an experiment finds if its cells have these numbers and arrays."""
    store = CellStore(folder)
    for cell, numbers, arrays in results:
        store.keep_arrays(cell, arrays)
        store.append(
            CellRecord(
                cell=cell, status=DONE, seconds=1.0, machine="none", versions=current_versions(), numbers=numbers
            )
        )
    return experiment.found(Effort.QUICK, store)
