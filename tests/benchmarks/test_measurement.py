"""Slopes, times of steps, memory, machines, data."""

import numpy as np
import pytest
import torch

from mvlvm import records
from mvlvm.benchmarks.measurement import peak_memory
from mvlvm.benchmarks.step_profile import log_log_slope, seconds_per_step
from mvlvm.benchmarks.tasks import DataSpec, load_data, mnist_with_labels
from mvlvm.errors import ViewError
from tests.datasets.real_data import need


def test_the_slope_is_the_power():
    sizes = np.array([10, 30, 100, 1000])
    assert log_log_slope(sizes.tolist(), (3e-4 * sizes**1.5).tolist()) == pytest.approx(1.5)
    assert log_log_slope(sizes.tolist(), [2.0] * 4) == pytest.approx(0.0)


def test_a_slope_needs_two_sizes():
    with pytest.raises(ValueError, match="two sizes"):
        log_log_slope([5, 5], [1.0, 2.0])


def test_the_time_of_a_step_knows_neither_warm_up_nor_hiccups():
    steps = np.full(40, 0.25)
    steps[:10] = 9.0
    steps[20] = 50.0
    assert seconds_per_step(np.cumsum(steps).tolist(), warm_up=10) == pytest.approx(0.25)


def test_the_time_of_a_step_is_right_where_times_are_recorded_late():
    late = np.repeat(np.arange(1, 11) * 1.0, 10)  # ten steps at a time, recorded together
    assert seconds_per_step(late.tolist(), warm_up=20) == pytest.approx(0.1, rel=0.2)


def test_without_warm_up_the_first_step_counts_from_the_start():
    assert seconds_per_step([2.0, 4.0], warm_up=0) == 2.0
    with pytest.raises(ValueError, match="there must be more"):
        seconds_per_step([1.0], warm_up=1)


def test_the_peak_is_that_of_the_block_and_not_of_what_was_before():
    before = np.ones(40_000_000)  # 320 MB, gone before the block begins
    del before
    kept = np.ones(5_000_000)
    with peak_memory("cpu") as peak:
        passing = np.ones(20_000_000)  # 160 MB
        del passing
    assert 150e6 < peak.n_bytes < 260e6
    assert kept[0] == 1


def test_machines_say_what_others_can_understand():
    said = records.describe_machine("cpu")
    assert torch.__version__.split("+")[0] in said
    assert "core" in said


def test_a_device_that_is_not_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert records.choose_device("auto") == "cpu"
    with pytest.raises(ValueError, match="needs a GPU"):
        records.choose_device("cuda")
    with pytest.raises(ValueError, match="'auto', 'cpu' or 'cuda'"):
        records.choose_device("tpu")


def test_made_views_have_the_sizes_asked_for_and_a_falling_spectrum():
    data = load_data(DataSpec(name="low-rank", n_samples=300, n_columns=60, n_views=3))
    assert [Y.shape for Y in data.views.values()] == [(300, 60)] * 3
    strength = np.linalg.svd(data.views["view0"], compute_uv=False)
    assert strength[9] < strength[0] / 3
    assert strength[50] < strength[30]


def test_fewer_rows_of_a_set_keep_their_classes():
    whole, part = (load_data(DataSpec(name="digits-halves", n_samples=n)) for n in (None, 50))
    for row, label in zip(part.views["left"], part.labels, strict=True):
        same = (whole.views["left"] == row).all(axis=1)
        assert label in whole.labels[same]


@need("mnist.npz")
def test_mnist_has_its_label_as_a_second_view():
    data = mnist_with_labels(40, 0)
    assert data.views["image"].shape == (40, 784)
    np.testing.assert_array_equal(data.views["label"].argmax(axis=1), data.labels)
    assert (data.views["label"].sum(axis=1) == 1).all()


def test_a_set_that_nobody_knows_is_named():
    with pytest.raises((ValueError, ViewError), match="no-such-set"):
        load_data(DataSpec(name="no-such-set"))
