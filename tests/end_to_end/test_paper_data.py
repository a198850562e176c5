"""The paper's data sets, where they are at hand: single view, two dimensions, the estimator's defaults."""

import os
from pathlib import Path

import numpy as np
import pytest

from mvlvm import NGMVLVM
from mvlvm.evaluation import nearest_neighbour_accuracy

FOLDER = Path(os.environ.get("MVLVM_DATA") or "no data")
FILES = ("mnist.npz", "cifar10_gray20.npz", "bridges.npz")
# The defaults were chosen while looking at these seeds; docs/results/foundation.md has three that were not looked at.
SEEDS = range(3)

pytestmark = [
    pytest.mark.skipif(
        not all((FOLDER / name).exists() for name in FILES),
        reason=f"MVLVM_DATA does not name a folder with {', '.join(FILES)}",
    ),
    # the defaults are run as they are: digits have empty corners, and a fit may end while it still gains a little
    pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning"),
    pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning"),
]


def r_mnist(rng):
    data = np.load(FOLDER / "mnist.npz")
    rows = rng.choice(len(data["y"]), 1000, replace=False)
    return data["X"][rows].reshape(1000, -1), data["y"][rows]


def r_cifar(rng):
    data = np.load(FOLDER / "cifar10_gray20.npz")
    rows = np.concatenate([rng.choice(np.flatnonzero(data["y"] == k), 400, replace=False) for k in range(5)])
    return data["X"][rows].reshape(len(rows), -1), data["y"][rows]


def bridges(rng):
    data = np.load(FOLDER / "bridges.npz")
    return data["Y"], data["y"]


@pytest.mark.parametrize(("load", "least"), [(r_mnist, 78), (r_cifar, 31), (bridges, 83)])
def test_one_nearest_neighbour_accuracy_in_percent(load, least):
    accuracies = []
    for seed in SEEDS:
        Y, labels = load(np.random.default_rng(seed))
        embedding = NGMVLVM(random_state=seed).fit_transform(Y)
        # averaged over five ways to fold, because one way alone is uncertain by more than a percent
        folds = [nearest_neighbour_accuracy(embedding, labels, random_state=way) for way in range(5)]
        accuracies.append(100 * np.mean(folds))
    assert np.mean(accuracies) >= least, accuracies
