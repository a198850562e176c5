"""Converters of image data reproduce the cached files from raw files created from them."""

import gzip

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from mvlvm.datasets.convert import content_digest, image_files
from mvlvm.datasets.sources import SOURCES
from tests.datasets.raw_files import assert_same_arrays, cifar_members, idx_gz, shared_arrays, tar_gz


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def matlab_rows(X):
    """Return images as rows in column-major order."""
    return X.transpose(0, 2, 1).reshape(len(X), -1).astype(np.float64)


def write_mnist(folder, X, y, n_train):
    raw = {}
    for part, rows in (("train", slice(None, n_train)), ("t10k", slice(n_train, None))):
        for name, array in ((f"{part}-images-idx3-ubyte.gz", X), (f"{part}-labels-idx1-ubyte.gz", y)):
            raw[name] = folder / name
            raw[name].write_bytes(idx_gz(array[rows]))
    return raw


def test_mnist_keeps_the_official_order(rng, tmp_path):
    X, y = rng.integers(0, 256, (7, 28, 28), dtype=np.uint8), np.arange(7, dtype=np.uint8)
    image_files.mnist(write_mnist(tmp_path, X, y, 5), tmp_path / "out")
    assert_same_arrays(tmp_path / "out", {"X": X, "y": y, "n_train": np.array(5)})


def test_mnist_reproduces_the_cached_file(tmp_path):
    arrays = shared_arrays("mnist.npz")
    image_files.mnist(write_mnist(tmp_path, arrays["X"], arrays["y"], 60_000), tmp_path / "out")
    assert content_digest(tmp_path / "out") == SOURCES["mnist.npz"].digest


def test_invalid_idx_file_is_rejected(tmp_path):
    raw = write_mnist(tmp_path, np.zeros((2, 28, 28), dtype=np.uint8), np.zeros(2, dtype=np.uint8), 1)
    name = "train-images-idx3-ubyte.gz"
    raw[name].write_bytes(idx_gz(np.zeros((1, 28, 28), dtype=np.uint8))[:-30])
    with pytest.raises(EOFError):
        image_files.mnist(raw, tmp_path / "out")
    raw[name].write_bytes(gzip.compress(b"<html>not found</html>"))
    with pytest.raises(ValueError, match="not an idx file"):
        image_files.mnist(raw, tmp_path / "out")


@pytest.fixture
def cifar(rng, tmp_path):
    X, y = rng.integers(0, 256, (12, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, 12, dtype=np.uint8)
    path = tmp_path / "archive"
    path.write_bytes(tar_gz(cifar_members(X, y)))
    return {"cifar-10-binary.tar.gz": path}, X, y


def test_colour_cifar_keeps_the_order_of_the_batches(cifar, tmp_path):
    raw, X, y = cifar
    image_files.cifar10(raw, tmp_path / "out")
    expected = {"X": X, "y": y, "n_train": np.array(50_000), "class_names": np.array(image_files.CIFAR_CLASSES)}
    assert_same_arrays(tmp_path / "out", expected)


def test_small_grey_cifar_matches_pillow(cifar, tmp_path):
    raw, X, y = cifar
    image_files.cifar10_gray20(raw, tmp_path / "out")
    small = [Image.fromarray(image).convert("L").resize((20, 20), Image.Resampling.BILINEAR) for image in X]
    expected = {"X": np.stack([np.asarray(image) for image in small]), "y": y, "n_train": np.array(50_000)}
    assert_same_arrays(tmp_path / "out", expected | {"class_names": np.array(image_files.CIFAR_CLASSES)})


def test_cifar_classes_match_the_cached_file():
    np.testing.assert_array_equal(shared_arrays("cifar10_gray20.npz")["class_names"], image_files.CIFAR_CLASSES)


def test_archive_with_a_missing_batch_is_rejected(cifar, tmp_path):
    raw, X, y = cifar
    members = cifar_members(X, y)
    del members["cifar-10-batches-bin/data_batch_4.bin"]
    raw["cifar-10-binary.tar.gz"].write_bytes(tar_gz(members))
    with pytest.raises(ValueError, match=r"has no data_batch_4\.bin\."):
        image_files.cifar10(raw, tmp_path / "out")


def test_grey_is_the_rounded_itu_r_601_luma():
    levels = np.array([*range(0, 256, 15), 1, 2, 127, 128, 254], dtype=np.uint8)
    X = np.stack(np.meshgrid(levels, levels, levels), axis=-1)
    # ITU-R 601 in 16-bit fixed point
    expected = (X.astype(np.int64) @ [19595, 38470, 7471] + (1 << 15)) >> 16
    np.testing.assert_array_equal(image_files.grey(X), expected)
    np.testing.assert_array_equal(image_files.grey(X), [np.asarray(Image.fromarray(image).convert("L")) for image in X])


def triangle_filter(old, new):
    """Return the (new, old) weights of the antialiased bilinear filter in 22-bit fixed point."""
    step = old / new
    centres = (np.arange(new)[:, None] + 0.5) * step
    weights = np.clip(1 - np.abs(np.arange(old) + 0.5 - centres) / step, 0, None)
    return np.floor(weights / weights.sum(axis=1, keepdims=True) * 2.0**22 + 0.5)


def filter_rows(X, weights):
    return np.clip(np.floor(X.astype(np.float64) @ weights.T / 2.0**22 + 0.5), 0, 255)


@pytest.mark.parametrize(("old", "new"), [(32, 20), (32, 16), (28, 9), (32, 32)])
def test_resizing_matches_the_fixed_point_triangle_filter(rng, old, new):
    noise = rng.integers(0, 256, (300, old, old), dtype=np.uint8)
    extremes = 255 * rng.integers(0, 2, (300, old, old), dtype=np.uint8)
    X = np.concatenate([noise, extremes, np.full((1, old, old), 255, dtype=np.uint8)])
    weights = triangle_filter(old, new)
    expected = filter_rows(filter_rows(X, weights).swapaxes(1, 2), weights).swapaxes(1, 2)
    np.testing.assert_array_equal(image_files.resize(X, new), expected)
    coloured = np.stack([X, X[::-1], 255 - X], axis=-1)
    for channel, plane in enumerate((X, X[::-1], 255 - X)):
        resized = image_files.resize(coloured, new)[..., channel]
        np.testing.assert_array_equal(resized, image_files.resize(plane, new))


def test_svhn_maps_class_ten_to_zero_and_keeps_the_first_rows(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(image_files, "_SVHN_KEPT", 11)
    X, y = rng.integers(0, 256, (13, 32, 32, 3), dtype=np.uint8), np.arange(13) % 10
    savemat(tmp_path / "raw", {"X": X.transpose(1, 2, 3, 0), "y": np.where(y == 0, 10, y)[:, None]}, appendmat=False)
    image_files.svhn({"train_32x32.mat": tmp_path / "raw"}, tmp_path / "out")
    assert_same_arrays(tmp_path / "out", {"X": X[:11], "y": y[:11].astype(np.uint8)})


def test_frey_faces_reproduce_the_cached_file(tmp_path):
    X = shared_arrays("frey_faces.npz")["X"]
    savemat(tmp_path / "raw", {"ff": X.reshape(len(X), -1).T}, appendmat=False)
    image_files.frey_faces({"frey_rawface.mat": tmp_path / "raw"}, tmp_path / "out")
    assert content_digest(tmp_path / "out") == SOURCES["frey_faces.npz"].digest


@pytest.mark.parametrize(("rows", "classes"), [("fea", "gnd"), ("X", "Y")])
def test_yale_reproduces_the_cached_file(tmp_path, rows, classes):
    arrays = shared_arrays("yale.npz")
    raw = {}
    for side in (32, 64):
        raw[f"Yale_{side}x{side}.mat"] = path = tmp_path / f"raw-{side}"
        savemat(path, {rows: matlab_rows(arrays[f"X{side}"]), classes: arrays["y"][:, None] + 1}, appendmat=False)
    image_files.yale(raw, tmp_path / "out")
    assert content_digest(tmp_path / "out") == SOURCES["yale.npz"].digest


def test_coil_reproduces_the_cached_file(tmp_path):
    arrays = shared_arrays("coil20_32.npz")
    exact = np.round(matlab_rows(arrays["X"]) * 4080) / 4080  # means of 4 x 4 pixels over 255, in full precision
    savemat(tmp_path / "raw", {"X": exact, "Y": arrays["y"][:, None] + 1.0}, appendmat=False)
    image_files.coil20({"COIL20.mat": tmp_path / "raw"}, tmp_path / "out")
    assert content_digest(tmp_path / "out") == SOURCES["coil20_32.npz"].digest
