import json

import numpy as np
import pytest

from mvlvm.benchmarks.plan import CPU, CUDA, EXPERIMENTS, TRIAL, tasks_of
from mvlvm.benchmarks.tasks import (
    DataSpec,
    Outcome,
    load_data,
    mnist_with_labels,
)
from mvlvm.errors import ViewError
from tests.benchmarks.outcomes import outcome
from tests.datasets.real_data import need


def test_low_rank_views_have_the_requested_sizes_and_a_decaying_spectrum():
    data = load_data(DataSpec(name="low-rank", n_samples=300, n_columns=60, n_views=3))
    assert [Y.shape for Y in data.views.values()] == [(300, 60)] * 3
    strength = np.linalg.svd(data.views["view0"], compute_uv=False)
    assert strength[9] < strength[0] / 3
    assert strength[50] < strength[30]


def test_subsampled_rows_keep_their_labels():
    whole, part = (load_data(DataSpec(name="digits-halves", n_samples=n)) for n in (None, 50))
    for row, label in zip(part.views["left"], part.labels, strict=True):
        same = (whole.views["left"] == row).all(axis=1)
        assert label in whole.labels[same]


@need("mnist.npz")
def test_mnist_has_one_hot_labels_as_a_second_view():
    data = mnist_with_labels(40, 0)
    assert data.views["image"].shape == (40, 784)
    np.testing.assert_array_equal(data.views["label"].argmax(axis=1), data.labels)
    assert (data.views["label"].sum(axis=1) == 1).all()


def test_the_error_for_an_unknown_data_set_contains_its_name():
    with pytest.raises((ValueError, ViewError), match="no-such-set"):
        load_data(DataSpec(name="no-such-set"))


@pytest.mark.parametrize("plan", [CPU, CUDA, TRIAL], ids=["cpu", "cuda", "trial"])
def test_tasks_and_outcomes_survive_a_json_round_trip(plan):
    for experiment in EXPERIMENTS:
        tasks = tasks_of(plan, experiment)
        assert len({(task.method, task.case) for task in tasks}) == len(tasks), "two tasks of one name"
        for task in tasks:
            found = outcome(task, seconds=1.5)
            assert Outcome.from_json(json.loads(json.dumps(found.as_json()))) == found
            assert task.device == plan.device
