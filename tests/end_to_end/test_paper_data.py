"""The data sets of the paper, if their files are found: a single view, two dimensions, default parameters."""

import numpy as np
import pytest

from mvlvm import NGMVLVM
from mvlvm.datasets import load
from mvlvm.evaluation import nearest_neighbour_accuracy
from tests.datasets.real_data import need

# The defaults were tuned on these seeds; docs/results/paper/single-view.md reports five.
SEEDS = range(3)
pytestmark = [
    need("mnist.npz", "cifar10_gray20.npz", "bridges.npz"),
    # with default parameters, the empty corners of digits are constant columns, and a fit may end before convergence
    pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning"),
    pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning"),
]


@pytest.mark.parametrize(
    ("name", "minimum"), [("r-mnist", 78), pytest.param("r-cifar", 31, marks=pytest.mark.slow), ("bridges", 83)]
)
def test_one_nearest_neighbour_accuracy_reaches_the_minimum_in_percent(name, minimum):
    accuracies = []
    for seed in SEEDS:
        data = load(name, random_state=seed)
        embedding = NGMVLVM(random_state=seed).fit_transform(data)
        # averaged over five splits into folds: the accuracy of a single split varies by more than a percent
        folds = [nearest_neighbour_accuracy(embedding, data.labels, random_state=fold_seed) for fold_seed in range(5)]
        accuracies.append(100 * np.mean(folds))
    assert np.mean(accuracies) >= minimum, accuracies
