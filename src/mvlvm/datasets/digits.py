"""Handwritten digits and house numbers: MNIST in several forms, and its pairs with SVHN."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from mvlvm.checks import check_choice
from mvlvm.datasets.choosing import (
    SPLITS,
    as_list,
    check_count,
    class_numbers,
    draw_rows,
    drawn_names,
    rows_of_split,
)
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore

DIGITS = tuple("0123456789")
_MNIST_SHAPE = (28, 28)
_SVHN_SHAPE = (32, 32, 3)
_RIGHT_ANGLE = 90

_MNIST_ORIGIN = "Y. LeCun, C. Cortes, C. Burges: The MNIST database of handwritten digits."
_MNIST_LICENCE = "Usually quoted as CC BY-SA 3.0 (copyright Y. LeCun and C. Cortes)."


def mnist(store: FileStore, seed: int, *, split: str = "all", n_samples: int | None = None) -> Dataset:
    """Give images of 28 x 28 pixels from 0 to 255, the 60,000 of the training set before the 10,000 of the test set.

    Args:
        store: where files come from.
        seed: of the rows drawn.
        split: "all", "train" or "test".
        n_samples: draw so many; None keeps all.
    """
    check_choice(split, "split", SPLITS)
    check_count(n_samples, "n_samples")
    images, labels, start = _mnist(store, split)
    rows = draw_rows(len(images), n_samples, np.random.default_rng(seed))
    names = drawn_names("mnist", rows, start)
    return _of_digits({"image": _flat(images[rows])}, labels[rows], {"image": _MNIST_SHAPE}, names)


def r_mnist(store: FileStore, seed: int, *, n_samples: int = 1000) -> Dataset:
    """Give random images of MNIST, as in the paper's single-view table.

    Args:
        store: where files come from.
        seed: of the rows drawn.
        n_samples: how many.
    """
    return mnist(store, seed, n_samples=n_samples)


def mv_mnist(
    store: FileStore, seed: int, *, angles: Sequence[int | float] = (0, 90, 180, 270), n_samples: int | None = 1000
) -> Dataset:
    """Give the same images turned by several angles, one view each.

    Args:
        store: where files come from.
        seed: of the rows drawn.
        angles: in degrees, counter-clockwise.
        n_samples: draw so many; None keeps all 70,000.
    """
    turns = _named_angles(angles)
    check_count(n_samples, "n_samples")
    images, labels, _ = _mnist(store)
    rows = draw_rows(len(images), n_samples, np.random.default_rng(seed))
    views = {name: _flat(_turned(images[rows], angle)) for name, angle in turns.items()}
    return _of_digits(views, labels[rows], dict.fromkeys(views, _MNIST_SHAPE), drawn_names("mnist", rows))


def mnist_svhn(store: FileStore, seed: int, *, n_samples: int | None = None) -> Dataset:
    """Give house numbers, each beside a handwritten image of the same digit; none is used twice.

    Args:
        store: where files come from.
        seed: of the pairs and the rows drawn.
        n_samples: draw so many pairs; None keeps one for each of the 16,000 house numbers.
    """
    check_count(n_samples, "n_samples")
    rng = np.random.default_rng(seed)
    photographs, numbers = store.arrays("svhn_train16k.npz", "X", "y")
    handwritten, digits, _ = _mnist(store)
    drawn = draw_rows(len(numbers), n_samples, rng)
    rows, labels = np.arange(len(numbers))[drawn], class_numbers(numbers)[drawn]
    partners = _partners(labels, digits, rng)
    views = {"mnist": _flat(handwritten[partners]), "svhn": _flat(photographs[rows])}
    names = tuple(f"svhn {row}, mnist {partner}" for row, partner in zip(rows, partners, strict=True))
    return _of_digits(views, labels, {"mnist": _MNIST_SHAPE, "svhn": _SVHN_SHAPE}, names)


def _mnist(store: FileStore, split: str = "all") -> tuple[UInt8[np.ndarray, "N H W"], Int[np.ndarray, " N"], int]:
    """Read images, their digits, and the number of the first one."""
    images, labels, n_train = store.arrays("mnist.npz", "X", "y", "n_train")
    rows = rows_of_split(split, n_train, len(images))
    return images[rows], class_numbers(labels)[rows], rows.start


def _named_angles(angles: Any) -> dict[str, int | float]:
    """Give the angles by the names of their views."""
    listed = as_list(angles, "angles")
    for angle in listed:
        if isinstance(angle, bool) or not isinstance(angle, Real) or not math.isfinite(angle):
            raise ValueError(f"angles must be a list of numbers, in degrees. Got {angle!r}.")
    named = {f"{angle:g} degrees": angle for angle in listed}
    if not named or len(named) < len(listed):
        raise ValueError(f"angles must name at least one angle, and none twice. Got {listed}.")
    return named


def _of_digits(
    views: dict[str, np.ndarray], labels: Int[np.ndarray, " N"], shapes: dict[str, tuple[int, ...]],
    rows: tuple[str, ...] | None,
) -> Dataset:  # fmt: skip
    return Dataset(views, labels, DIGITS, rows=rows, image_shapes=shapes)


def _flat(images: UInt8[np.ndarray, "N H W *C"]) -> UInt8[np.ndarray, "N M"]:
    return images.reshape(len(images), -1)


def _turned(images: UInt8[np.ndarray, "N H W"], angle: int | float) -> UInt8[np.ndarray, "N H W"]:
    """Turn images; right angles move pixels without changing them."""
    if angle % _RIGHT_ANGLE == 0:
        return np.rot90(images, int(angle // _RIGHT_ANGLE), axes=(1, 2))
    from scipy.ndimage import rotate

    return rotate(images, angle, axes=(2, 1), reshape=False, order=1)


def _partners(
    labels: Int[np.ndarray, " N"], digits: Int[np.ndarray, " K"], rng: np.random.Generator
) -> Int[np.ndarray, " N"]:
    """Draw for every label another row of `digits` that has it."""
    partners = np.empty(len(labels), dtype=np.int64)
    for digit in np.unique(labels):
        wanted, available = np.flatnonzero(labels == digit), np.flatnonzero(digits == digit)
        partners[wanted] = rng.choice(available, len(wanted), replace=False)
    return partners


ENTRIES = {
    "mnist": Entry(
        recipe=mnist,
        views=("image",),
        files=("mnist.npz",),
        description=(
            "70,000 handwritten digits, 28 x 28 grey levels from 0 to 255; the first 60,000 are the training set."
        ),
        origin=_MNIST_ORIGIN,
        licence=_MNIST_LICENCE,
    ),
    "r-mnist": Entry(
        recipe=r_mnist,
        views=("image",),
        files=("mnist.npz",),
        description="1,000 random digits of MNIST, the paper's R-MNIST; another random_state draws other rows.",
        origin=_MNIST_ORIGIN,
        licence=_MNIST_LICENCE,
    ),
    "mv-mnist": Entry(
        recipe=mv_mnist,
        views=("0 degrees", "90 degrees", "180 degrees", "270 degrees"),
        files=("mnist.npz",),
        description=(
            "Digits of MNIST turned by 0, 90, 180 and 270 degrees, one view each. The paper names four views made by "
            "rotation but neither its angles nor its number of rows; right angles and 1,000 rows are chosen here."
        ),
        origin=_MNIST_ORIGIN,
        licence=_MNIST_LICENCE,
    ),
    "mnist-svhn": Entry(
        recipe=mnist_svhn,
        views=("mnist", "svhn"),
        files=("svhn_train16k.npz", "mnist.npz"),
        description=(
            "16,000 photographed house numbers (32 x 32 colour) beside handwritten images of the same digit (28 x "
            "28). The pairs are drawn by random_state. The house numbers are the first 16,000 of the training set; "
            "where they were cut again from the original photographs their pixels differ slightly from the official "
            "file's."
        ),
        origin=(
            f"{_MNIST_ORIGIN} Y. Netzer, T. Wang, A. Coates, A. Bissacco, B. Wu, A. Ng: Reading Digits in Natural "
            "Images with Unsupervised Feature Learning, 2011 (SVHN)."
        ),
        licence=f"MNIST: {_MNIST_LICENCE} SVHN: non-commercial use only.",
    ),
}
