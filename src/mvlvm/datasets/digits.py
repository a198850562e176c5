"""Handwritten digits and house numbers: MNIST in several forms, and MNIST paired with SVHN."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from mvlvm.checks import check_choice
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import (
    SPLITS,
    Dataset,
    DatasetEntry,
    as_list,
    check_count,
    class_numbers,
    draw_rows,
    drawn_names,
    rows_of_split,
)

DIGITS = tuple("0123456789")
_MNIST_SHAPE = (28, 28)
_SVHN_SHAPE = (32, 32, 3)
_RIGHT_ANGLE = 90

_MNIST_ORIGIN = "Y. LeCun, C. Cortes, C. Burges: The MNIST database of handwritten digits."
_MNIST_LICENCE = "Usually quoted as CC BY-SA 3.0 (copyright Y. LeCun and C. Cortes)."


def mnist(cache: FileCache, seed: int, *, split: str = "all", n_samples: int | None = None) -> Dataset:
    """Load MNIST: 28 x 28 pixels between 0 and 255, the 60,000 training images followed by the 10,000 test images.

    Args:
        cache: source of the data files.
        seed: seed for subsampling.
        split: "all", "train" or "test".
        n_samples: size of a random subsample; None keeps all rows.
    """
    check_choice(split, "split", SPLITS)
    check_count(n_samples, "n_samples")
    images, labels, start = _mnist(cache, split)
    rows = draw_rows(len(images), n_samples, np.random.default_rng(seed))
    names = drawn_names("mnist", rows, start)
    return _digit_dataset({"image": _flat(images[rows])}, labels[rows], {"image": _MNIST_SHAPE}, names)


def r_mnist(cache: FileCache, seed: int, *, n_samples: int = 1000) -> Dataset:
    """Load a random subset of MNIST, as in the paper's single-view table.

    Args:
        cache: source of the data files.
        seed: seed for subsampling.
        n_samples: number of images.
    """
    return mnist(cache, seed, n_samples=n_samples)


def mv_mnist(
    cache: FileCache, seed: int, *, angles: Sequence[int | float] = (0, 90, 180, 270), n_samples: int | None = 1000
) -> Dataset:
    """Load MNIST images rotated by several angles, one view per angle.

    Args:
        cache: source of the data files.
        seed: seed for subsampling.
        angles: rotation angles in degrees, counter-clockwise.
        n_samples: size of a random subsample; None keeps all 70,000 images.
    """
    rotations = _named_angles(angles)
    check_count(n_samples, "n_samples")
    images, labels, _ = _mnist(cache)
    rows = draw_rows(len(images), n_samples, np.random.default_rng(seed))
    views = {name: _flat(_rotated(images[rows], angle)) for name, angle in rotations.items()}
    return _digit_dataset(views, labels[rows], dict.fromkeys(views, _MNIST_SHAPE), drawn_names("mnist", rows))


def mnist_svhn(cache: FileCache, seed: int, *, n_samples: int | None = None) -> Dataset:
    """Load SVHN house numbers, each paired with a distinct MNIST image of the same digit.

    Args:
        cache: source of the data files.
        seed: seed for pairing and subsampling.
        n_samples: size of a random subsample of pairs; None keeps one pair for each of the 16,000 house numbers.
    """
    check_count(n_samples, "n_samples")
    rng = np.random.default_rng(seed)
    photographs, numbers = cache.arrays("svhn_train16k.npz", "X", "y")
    handwritten, digits, _ = _mnist(cache)
    drawn = draw_rows(len(numbers), n_samples, rng)
    rows, labels = np.arange(len(numbers))[drawn], class_numbers(numbers)[drawn]
    partners = _partners(labels, digits, rng)
    views = {"mnist": _flat(handwritten[partners]), "svhn": _flat(photographs[rows])}
    names = tuple(f"svhn {row}, mnist {partner}" for row, partner in zip(rows, partners, strict=True))
    return _digit_dataset(views, labels, {"mnist": _MNIST_SHAPE, "svhn": _SVHN_SHAPE}, names)


def _mnist(cache: FileCache, split: str = "all") -> tuple[UInt8[np.ndarray, "N H W"], Int[np.ndarray, " N"], int]:
    """Return the images and labels of a split, and the index of its first row in the file."""
    images, labels, n_train = cache.arrays("mnist.npz", "X", "y", "n_train")
    rows = rows_of_split(split, n_train, len(images))
    return images[rows], class_numbers(labels)[rows], rows.start


def _named_angles(angles: Any) -> dict[str, int | float]:
    """Return a dict from view name to angle."""
    listed = as_list(angles, "angles")
    for angle in listed:
        if isinstance(angle, bool) or not isinstance(angle, Real) or not math.isfinite(angle):
            raise ValueError(f"angles must be a list of finite numbers, in degrees. Got {angle!r}.")
    named = {f"{angle:g} degrees": angle for angle in listed}
    if not named or len(named) < len(listed):
        raise ValueError(f"angles must contain at least one angle and no duplicates. Got {listed}.")
    return named


def _digit_dataset(
    views: dict[str, np.ndarray], labels: Int[np.ndarray, " N"], shapes: dict[str, tuple[int, ...]],
    rows: tuple[str, ...] | None,
) -> Dataset:  # fmt: skip
    return Dataset(views, labels, DIGITS, rows=rows, image_shapes=shapes)


def _flat(images: UInt8[np.ndarray, "N H W *C"]) -> UInt8[np.ndarray, "N M"]:
    return images.reshape(len(images), -1)


def _rotated(images: UInt8[np.ndarray, "N H W"], angle: int | float) -> UInt8[np.ndarray, "N H W"]:
    """Rotate images; multiples of 90 degrees permute the pixels without interpolation."""
    if angle % _RIGHT_ANGLE == 0:
        return np.rot90(images, int(angle // _RIGHT_ANGLE), axes=(1, 2))
    from scipy.ndimage import rotate

    return rotate(images, angle, axes=(2, 1), reshape=False, order=1)


def _partners(
    labels: Int[np.ndarray, " N"], digits: Int[np.ndarray, " K"], rng: np.random.Generator
) -> Int[np.ndarray, " N"]:
    """Draw, for every label, a distinct row of `digits` with the same label."""
    partners = np.empty(len(labels), dtype=np.int64)
    for digit in np.unique(labels):
        wanted, available = np.flatnonzero(labels == digit), np.flatnonzero(digits == digit)
        partners[wanted] = rng.choice(available, len(wanted), replace=False)
    return partners


ENTRIES = {
    "mnist": DatasetEntry(
        loader=mnist,
        views=("image",),
        files=("mnist.npz",),
        description=(
            "70,000 handwritten digits, 28 x 28 grey levels from 0 to 255; the first 60,000 are the training set."
        ),
        origin=_MNIST_ORIGIN,
        licence=_MNIST_LICENCE,
    ),
    "r-mnist": DatasetEntry(
        loader=r_mnist,
        views=("image",),
        files=("mnist.npz",),
        description="1,000 random digits of MNIST, the paper's R-MNIST; the rows drawn depend on random_state.",
        origin=_MNIST_ORIGIN,
        licence=_MNIST_LICENCE,
    ),
    "mv-mnist": DatasetEntry(
        loader=mv_mnist,
        views=("0 degrees", "90 degrees", "180 degrees", "270 degrees"),
        files=("mnist.npz",),
        description=(
            "Digits of MNIST rotated by 0, 90, 180 and 270 degrees, one view per angle. The paper uses four rotated "
            "views but states neither the angles nor the number of rows; right angles and 1,000 rows are our choice."
        ),
        origin=_MNIST_ORIGIN,
        licence=_MNIST_LICENCE,
    ),
    "mnist-svhn": DatasetEntry(
        loader=mnist_svhn,
        views=("mnist", "svhn"),
        files=("svhn_train16k.npz", "mnist.npz"),
        description=(
            "16,000 photographed house numbers (32 x 32 colour) paired with handwritten images of the same digit (28 x "
            "28). The pairing depends on random_state. The house numbers are the first 16,000 of the training set; "
            "copies cropped again from the original photographs differ slightly from the official pixels."
        ),
        origin=(
            f"{_MNIST_ORIGIN} Y. Netzer, T. Wang, A. Coates, A. Bissacco, B. Wu, A. Ng: Reading Digits in Natural "
            "Images with Unsupervised Feature Learning, 2011 (SVHN)."
        ),
        licence=f"MNIST: {_MNIST_LICENCE} SVHN: non-commercial use only.",
    ),
}
