"""The paper's data sets, where they are at hand: single view, two dimensions, the estimator's defaults."""

import numpy as np
import pytest

from mvlvm import NGMVLVM
from mvlvm.datasets import load
from mvlvm.evaluation import nearest_neighbour_accuracy
from tests.datasets.real_data import need

# The defaults were chosen while looking at these seeds; docs/results/foundation.md has three that were not looked at.
SEEDS = range(3)

pytestmark = [
    need("mnist.npz", "cifar10_gray20.npz", "bridges.npz"),
    # the defaults are run as they are: digits have empty corners, and a fit may end while it still gains a little
    pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning"),
    pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning"),
]


@pytest.mark.parametrize(
    ("name", "least"), [("r-mnist", 78), pytest.param("r-cifar", 31, marks=pytest.mark.slow), ("bridges", 83)]
)
def test_one_nearest_neighbour_accuracy_in_percent(name, least):
    accuracies = []
    for seed in SEEDS:
        data = load(name, random_state=seed)
        embedding = NGMVLVM(random_state=seed).fit_transform(data)
        # averaged over five ways to fold, because one way alone is uncertain by more than a percent
        folds = [nearest_neighbour_accuracy(embedding, data.labels, random_state=way) for way in range(5)]
        accuracies.append(100 * np.mean(folds))
    assert np.mean(accuracies) >= least, accuracies
