"""MNIST and SVHN: subsampling, splits, rotation and pairing."""

import subprocess
import sys

import numpy as np
import pytest

from mvlvm.datasets import load
from tests.datasets.raw_files import write_mnist
from tests.datasets.real_data import need


def test_subsample_depends_on_the_seed_and_has_no_duplicates(folders):
    images = write_mnist(folders["home"]).reshape(40, -1)
    first, again, other = (
        load("mnist", data_home=folders["home"], n_samples=30, random_state=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first["image"], again["image"])
    assert not np.array_equal(first["image"], other["image"])
    assert len(np.unique(first["image"], axis=0)) == 30
    indices = [int(np.flatnonzero((images == row).all(axis=1))[0]) for row in first["image"]]
    np.testing.assert_array_equal(first.labels, np.array(indices) % 10)
    assert first.rows == tuple(f"mnist {index}" for index in indices)


def test_drawn_rows_are_named_by_their_index_in_the_file(folders):
    images = write_mnist(folders["home"]).reshape(40, -1)
    drawn = load("mnist", data_home=folders["home"], split="test", n_samples=5, random_state=0)
    rotated = load("mv-mnist", data_home=folders["home"], angles=[0], n_samples=5, random_state=0)
    for data in (drawn, rotated):
        for name, row in zip(data.rows, next(iter(data.values())), strict=True):
            np.testing.assert_array_equal(row, images[int(name.removeprefix("mnist "))])
    assert load("mnist", data_home=folders["home"]).rows is None


@pytest.mark.parametrize(("split", "rows"), [("all", slice(None)), ("train", slice(30)), ("test", slice(30, None))])
def test_split_selects_training_or_test_rows(folders, split, rows):
    images = write_mnist(folders["home"])
    found = load("mnist", data_home=folders["home"], split=split)
    np.testing.assert_array_equal(found["image"], images[rows].reshape(-1, 784))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 41}, "n_samples must be at most 40"),
        ({"n_samples": 0}, "n_samples must be an integer of at least 1. Got 0"),
        ({"split": "valid"}, "split must be one of 'all', 'train', 'test'. Got 'valid'"),
    ],
)
def test_invalid_options_are_rejected(folders, options, message):
    write_mnist(folders["home"])
    with pytest.raises(ValueError, match=message):
        load("mnist", data_home=folders["home"], **options)


def test_rotations_of_the_same_digits(folders):
    images = write_mnist(folders["home"])
    data = load("mv-mnist", data_home=folders["home"], n_samples=None, angles=(0, 90, 180, 270, 45))
    np.testing.assert_array_equal(data["0 degrees"], images.reshape(40, -1))
    np.testing.assert_array_equal(data["90 degrees"].reshape(-1, 28, 28)[:, 0, 0], images[:, 0, -1])
    rotated = data["90 degrees"].reshape(-1, 28, 28)
    for name in ("180 degrees", "270 degrees"):
        rotated = np.rot90(rotated, axes=(1, 2))
        np.testing.assert_array_equal(data[name].reshape(-1, 28, 28), rotated)
    # after a rotation by 45 degrees the corners are empty and the centre is unchanged
    diagonal = data["45 degrees"].reshape(-1, 28, 28)
    assert diagonal[:, 0, 0].max() == 0
    centre = images[:, 13:15, 13:15].mean(axis=(1, 2))
    assert np.corrcoef(diagonal[:, 13:15, 13:15].mean(axis=(1, 2)), centre)[0, 1] > 0.9


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(("angles", "message"), [(90, "angles must be a list"), ([0, 0], "no duplicates")])
def test_invalid_angles_are_rejected(folders, angles, message):
    write_mnist(folders["home"])
    with pytest.raises(ValueError, match=message):
        load("mv-mnist", data_home=folders["home"], angles=angles)


def test_rotation_is_counter_clockwise_for_every_angle(folders):
    folders["home"].mkdir()
    bar = np.zeros((1, 28, 28), np.uint8)
    bar[0, :10, 13:15] = 200  # points up
    np.savez(folders["home"] / "mnist.npz", X=bar, y=np.zeros(1, np.uint8), n_train=1)
    data = load("mv-mnist", data_home=folders["home"], n_samples=None, angles=(90, 89))
    for view in data.values():
        image = view.reshape(28, 28).astype(float)
        assert image[13:15, :10].mean() > 150  # points left
    np.testing.assert_array_equal(data.labels, [0])


def test_pairs_share_the_digit_and_use_every_image_once(folders):
    write_mnist(folders["home"], n=400)
    rng = np.random.default_rng(0)
    photographs = rng.integers(0, 256, (60, 32, 32, 3), dtype=np.uint8)
    np.savez(folders["home"] / "svhn_train16k.npz", X=photographs, y=rng.integers(0, 10, 60).astype(np.uint8))
    data = load("mnist-svhn", data_home=folders["home"], random_state=0)
    single = load("mnist", data_home=folders["home"])
    indices = [int(np.flatnonzero((single["image"] == row).all(axis=1))[0]) for row in data["mnist"]]
    np.testing.assert_array_equal(single.labels[indices], data.labels)
    assert len(set(indices)) == 60
    assert data.rows == tuple(f"svhn {k}, mnist {index}" for k, index in enumerate(indices))
    few = load("mnist-svhn", data_home=folders["home"], n_samples=5, random_state=0)
    for name, digit, photograph in zip(few.rows, few["mnist"], few["svhn"], strict=True):
        row, index = (int(part.split()[1]) for part in name.split(", "))
        np.testing.assert_array_equal(photograph, photographs[row].ravel())
        np.testing.assert_array_equal(digit, single["image"][index])
    np.testing.assert_array_equal(data["svhn"], photographs.reshape(60, -1))


@need("mnist.npz")
def test_mnist_loads_within_two_seconds_and_half_a_gigabyte():
    code = (
        "import resource, time\n"
        "from mvlvm.datasets import load\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before, start = peak(), time.perf_counter()\n"
        "data = load('mnist')\n"
        "print(time.perf_counter() - start, peak() - before - data['image'].nbytes / 2**20)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, run.stdout.split())
    assert seconds < 2
    assert megabytes < 500
