"""CIFAR-10: subsets, sizes and colours."""

import numpy as np
import pytest

from mvlvm.datasets import load
from tests.datasets.real_data import need


@need("cifar10_gray20.npz")
def test_r_cifar_has_the_first_classes_and_depends_on_the_seed():
    first, again, other = (load("r-cifar", random_state=seed)["image"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    few = load("r-cifar", n_classes=2, n_per_class=3, random_state=0)
    assert few.label_names == ("airplane", "automobile")
    assert few.labels.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="n_classes must be at most 10"):
        load("r-cifar", n_classes=11)


def test_other_sizes_and_colours_are_computed_from_the_original_images(tmp_path):
    from PIL import Image

    images = np.random.default_rng(0).integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    names = np.array([f"class {k}" for k in range(10)])
    np.savez(tmp_path / "cifar10.npz", X=images, y=np.arange(30, dtype=np.uint8) % 10, n_train=20, class_names=names)
    colour = load("cifar", size=32, grey=False, data_home=tmp_path)
    np.testing.assert_array_equal(colour["image"], images.reshape(30, -1))
    assert colour.image_shapes["image"] == (32, 32, 3)
    small = load("r-cifar", size=10, grey=False, n_per_class=3, data_home=tmp_path, random_state=0)
    for name, found in zip(small.rows, small["image"], strict=True):
        image = Image.fromarray(images[int(name.removeprefix("cifar "))])
        expected = np.asarray(image.resize((10, 10), Image.Resampling.BILINEAR))
        np.testing.assert_array_equal(found.reshape(10, 10, 3), expected)
    drawn = load("cifar", size=32, grey=False, split="test", n_samples=4, data_home=tmp_path, random_state=0)
    for name, found in zip(drawn.rows, drawn["image"], strict=True):
        np.testing.assert_array_equal(found, images[int(name.removeprefix("cifar "))].ravel())
    with pytest.raises(ValueError, match="n_per_class must be at most 3, the number available. Got 4."):
        load("r-cifar", size=32, n_per_class=4, data_home=tmp_path)
    grey = load("cifar", size=32, split="test", data_home=tmp_path)
    expected = [np.asarray(Image.fromarray(image).convert("L")) for image in images[20:]]
    np.testing.assert_array_equal(grey["image"], np.reshape(expected, (10, -1)))
    with pytest.raises(ValueError, match="size must be at most 32"):
        load("cifar", size=64, data_home=tmp_path)
