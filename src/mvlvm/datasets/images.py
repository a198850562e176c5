"""Photographs: CIFAR-10, faces, and objects on a turntable."""

import numpy as np

from mvlvm.checks import check_choice, check_flag, check_integer
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.convert import image_files
from mvlvm.datasets.dataset import (
    SPLITS,
    Dataset,
    DatasetEntry,
    check_available,
    check_count,
    class_numbers,
    draw_rows,
    drawn_names,
    rows_of_split,
)

_ORIGINAL_SIZE = 32
_SMALL_GREY = 20  # size used in the paper, stored in a separate file
_CIFAR_ORIGIN = "A. Krizhevsky: Learning Multiple Layers of Features from Tiny Images, University of Toronto, 2009."
_CIFAR_LICENCE = "No formal licence; free for research with citation."


def cifar(
    cache: FileCache, seed: int, *, split: str = "all", size: int = _SMALL_GREY, grey: bool = True,
    n_samples: int | None = None,
) -> Dataset:  # fmt: skip
    """Load CIFAR-10, the 50,000 training images followed by the 10,000 test images.

    Args:
        cache: source of the data files.
        seed: seed for subsampling.
        split: "all", "train" or "test".
        size: side length in pixels; at most 32, the original size.
        grey: convert to grey levels; False keeps the three colour channels.
        n_samples: size of a random subsample; None keeps all rows.
    """
    check_choice(split, "split", SPLITS)
    check_count(n_samples, "n_samples")
    images, labels, n_train, names = _cifar(cache, size, grey)
    part = rows_of_split(split, n_train, len(images))
    images, labels = images[part], labels[part]
    rows = draw_rows(len(images), n_samples, np.random.default_rng(seed))
    return image_dataset(images[rows], labels[rows], names, drawn_names("cifar", rows, part.start))


def r_cifar(
    cache: FileCache, seed: int, *, n_classes: int = 5, n_per_class: int = 400, size: int = _SMALL_GREY,
    grey: bool = True,
) -> Dataset:  # fmt: skip
    """Load random images of the first classes of CIFAR-10, as in the paper's single-view table.

    Args:
        cache: source of the data files.
        seed: seed for subsampling.
        n_classes: number of classes, in the original order, starting with airplane.
        n_per_class: number of images per class.
        size: side length in pixels; at most 32, the original size.
        grey: convert to grey levels; False keeps the three colour channels.
    """
    check_integer(n_classes, "n_classes", at_least=1)
    check_integer(n_per_class, "n_per_class", at_least=1)
    images, labels, _, names = _cifar(cache, size, grey)
    check_available(n_classes, "n_classes", len(names))
    rng = np.random.default_rng(seed)
    of_classes = (np.flatnonzero(labels == k) for k in range(n_classes))
    rows = np.concatenate([found[draw_rows(len(found), n_per_class, rng, "n_per_class")] for found in of_classes])
    return image_dataset(images[rows], labels[rows], names[:n_classes], drawn_names("cifar", rows))


def yale(cache: FileCache, seed: int, *, size: int = 32) -> Dataset:
    """Load the Yale faces: 11 aligned and cropped images of each of 15 subjects.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        size: side length in pixels, 32 or 64.
    """
    if check_integer(size, "size", at_least=1) not in (32, 64):
        raise ValueError(f"size must be 32 or 64, the available sizes of 'yale'. Got {size}.")
    images, labels = cache.arrays("yale.npz", f"X{size}", "y")
    return image_dataset(images, labels, tuple(f"subject {k}" for k in range(1, 16)))


def brendan(cache: FileCache, seed: int) -> Dataset:
    """Load the Frey faces: consecutive video frames of one face, 28 x 20 pixels between 0 and 255.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
    """
    (images,) = cache.arrays("frey_faces.npz", "X")
    return Dataset({"image": images.reshape(len(images), -1)}, image_shapes={"image": images.shape[1:]})


def coil20(cache: FileCache, seed: int) -> Dataset:
    """Load COIL-20: 20 objects, each from 72 viewing angles, 32 x 32 pixels between 0 and 1.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
    """
    images, labels = cache.arrays("coil20_32.npz", "X", "y")
    return image_dataset(images, labels, tuple(f"object {k}" for k in range(1, 21)))


def image_dataset(
    images: np.ndarray, labels: np.ndarray, names: tuple[str, ...], rows: tuple[str, ...] | None = None
) -> Dataset:
    """Return labelled images as a data set with one view of shape (N, pixels)."""
    return Dataset({"image": images.reshape(len(images), -1)}, class_numbers(labels), names, rows=rows,
                   image_shapes={"image": images.shape[1:]})  # fmt: skip


def _cifar(cache: FileCache, size: int, grey: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    check_flag(grey, "grey")
    check_integer(size, "size", at_least=1)
    if size > _ORIGINAL_SIZE:
        raise ValueError(f"size must be at most {_ORIGINAL_SIZE}, the size of the original images. Got {size}.")
    as_in_paper = grey and size == _SMALL_GREY
    file = "cifar10_gray20.npz" if as_in_paper else "cifar10.npz"
    images, labels, n_train, names = cache.arrays(file, "X", "y", "n_train", "class_names")
    if not as_in_paper:
        images = image_files.grey(images) if grey else images
        images = images if size == _ORIGINAL_SIZE else image_files.resize(images, size)
    return images, labels, n_train, tuple(map(str, names))


ENTRIES = {
    "cifar": DatasetEntry(
        loader=cifar,
        views=("image",),
        files=("cifar10_gray20.npz",),
        description=(
            "60,000 photographs in 10 classes, as 20 x 20 grey levels from 0 to 255; the first 50,000 are the training "
            "set. Grey is ITU-R 601 luma; images are downsampled from 32 x 32 with an antialiased bilinear filter; the "
            "paper does not name its filter. Other sizes and colour require the original images."
        ),
        origin=_CIFAR_ORIGIN,
        licence=_CIFAR_LICENCE,
    ),
    "r-cifar": DatasetEntry(
        loader=r_cifar,
        views=("image",),
        files=("cifar10_gray20.npz",),
        description=(
            "400 random photographs of each of the first five classes of CIFAR-10 (airplane to deer), 20 x 20 grey "
            "levels: the paper's R-CIFAR; the rows drawn depend on random_state."
        ),
        origin=_CIFAR_ORIGIN,
        licence=_CIFAR_LICENCE,
    ),
    "yale": DatasetEntry(
        loader=yale,
        views=("image",),
        files=("yale.npz",),
        description=(
            "165 images of 15 faces with varying illumination and expression, 32 x 32 or 64 x 64 grey levels. The "
            "paper's faces have 1,850 pixels, from another crop, so its results are not comparable."
        ),
        origin=(
            "Yale Face Database (P. Belhumeur, J. Hespanha, D. Kriegman, 1997), Yale Center for Computational Vision "
            "and Control; crops by Deng Cai."
        ),
        licence="Non-commercial research use.",
    ),
    "brendan": DatasetEntry(
        loader=brendan,
        views=("image",),
        files=("frey_faces.npz",),
        labelled=False,
        description="1,965 frames of a video of Brendan Frey's face, 28 x 20 grey levels, in time order; no labels.",
        origin="B. Frey and S. Roweis.",
        licence="None stated; used freely in research.",
    ),
    "coil20": DatasetEntry(
        loader=coil20,
        views=("image",),
        files=("coil20_32.npz",),
        description="20 objects, each photographed from 72 angles five degrees apart, 32 x 32 grey levels from 0 to 1.",
        origin="S. Nene, S. Nayar, H. Murase, Columbia University, 1996 (COIL-20); 32 x 32 version by Deng Cai.",
        licence="Research use.",
    ),
}
