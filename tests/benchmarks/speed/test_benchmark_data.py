import numpy as np
import pytest

from benchmarks.speed.benchmark_data import DIGITS, LOW_RANK, MNIST, load_benchmark_data, mnist_with_labels
from mvlvm.errors import ViewError
from tests.datasets.real_data import need


def test_low_rank_views_have_the_requested_sizes_and_a_decaying_spectrum():
    data = load_benchmark_data(LOW_RANK, 300, n_columns=60, n_views=3)
    assert [Y.shape for Y in data.views.values()] == [(300, 60)] * 3
    strength = np.linalg.svd(data.views["view0"], compute_uv=False)
    assert strength[9] < strength[0] / 3
    assert strength[50] < strength[30]


def test_subsampled_rows_keep_their_labels():
    whole, part = (load_benchmark_data(DIGITS, n) for n in (None, 50))
    assert len(part.labels) == 50
    for row, label in zip(part.views["left"], part.labels, strict=True):
        same = (whole.views["left"] == row).all(axis=1)
        assert label in whole.labels[same]


@need("mnist.npz")
def test_mnist_has_one_hot_labels_as_a_second_view():
    data = load_benchmark_data(MNIST, 40)
    assert data.views["image"].shape == (40, 784)
    np.testing.assert_array_equal(data.views["label"].argmax(axis=1), data.labels)
    assert (data.views["label"].sum(axis=1) == 1).all()


@pytest.mark.slow
@need("mnist.npz")
def test_rows_beyond_those_of_mnist_are_noisy_repetitions():
    data = mnist_with_labels(70_010, 0)
    images, labels = data.views["image"], data.labels
    for row in range(70_000, 70_010):
        distances = np.abs(images[:70_000] - images[row]).mean(axis=1)
        assert 0 < distances.min() < 1
        assert labels[distances.argmin()] == labels[row]


def test_the_error_for_an_unknown_data_set_contains_its_name():
    with pytest.raises((ValueError, ViewError), match="no-such-set"):
        load_benchmark_data("no-such-set")
