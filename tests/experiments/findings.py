"""Experiments on tiny data, and results as a run would leave them."""

import numpy as np

from mvlvm.datasets import Dataset
from mvlvm.experiments.spec import Effort
from tests.experiments.test_running import record


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
