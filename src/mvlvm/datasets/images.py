"""Photographs: CIFAR-10, faces, and objects on a turntable."""

import numpy as np

from mvlvm.checks import check_choice, check_flag, check_integer
from mvlvm.datasets import pixels
from mvlvm.datasets.choosing import (
    SPLITS,
    check_available,
    check_count,
    class_numbers,
    draw_rows,
    drawn_names,
    rows_of_split,
)
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore

_ORIGINAL_SIZE = 32
_SMALL_GREY = 20  # the paper's size, kept as a file of its own
_CIFAR_ORIGIN = "A. Krizhevsky: Learning Multiple Layers of Features from Tiny Images, University of Toronto, 2009."
_CIFAR_LICENCE = "No formal licence; free for research with citation."


def cifar(
    store: FileStore, seed: int, *, split: str = "all", size: int = _SMALL_GREY, grey: bool = True,
    n_samples: int | None = None,
) -> Dataset:  # fmt: skip
    """Give CIFAR-10, the 50,000 images of the training set before the 10,000 of the test set.

    Args:
        store: where files come from.
        seed: of the rows drawn.
        split: "all", "train" or "test".
        size: pixels of a side; the originals have 32.
        grey: grey levels, or the three colours.
        n_samples: draw so many; None keeps all.
    """
    check_choice(split, "split", SPLITS)
    check_count(n_samples, "n_samples")
    images, labels, n_train, names = _cifar(store, size, grey)
    part = rows_of_split(split, n_train, len(images))
    images, labels = images[part], labels[part]
    rows = draw_rows(len(images), n_samples, np.random.default_rng(seed))
    return of_images(images[rows], labels[rows], names, drawn_names("cifar", rows, part.start))


def r_cifar(
    store: FileStore, seed: int, *, n_classes: int = 5, n_per_class: int = 400, size: int = _SMALL_GREY,
    grey: bool = True,
) -> Dataset:  # fmt: skip
    """Give random images of the first classes of CIFAR-10, as in the paper's single-view table.

    Args:
        store: where files come from.
        seed: of the rows drawn.
        n_classes: how many classes, from airplane on.
        n_per_class: images of each.
        size: pixels of a side; the originals have 32.
        grey: grey levels, or the three colours.
    """
    check_integer(n_classes, "n_classes", at_least=1)
    check_integer(n_per_class, "n_per_class", at_least=1)
    images, labels, _, names = _cifar(store, size, grey)
    check_available(n_classes, "n_classes", len(names))
    rng = np.random.default_rng(seed)
    of_classes = (np.flatnonzero(labels == k) for k in range(n_classes))
    rows = np.concatenate([found[draw_rows(len(found), n_per_class, rng, "n_per_class")] for found in of_classes])
    return of_images(images[rows], labels[rows], names[:n_classes], drawn_names("cifar", rows))


def yale(store: FileStore, seed: int, *, size: int = 32) -> Dataset:
    """Give 11 pictures of each of 15 faces, aligned and cropped.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        size: pixels of a side, 32 or 64.
    """
    if check_integer(size, "size", at_least=1) not in (32, 64):
        raise ValueError(f"size must be 32 or 64 for 'yale', the sizes its faces were cropped to. Got {size}.")
    images, labels = store.arrays("yale.npz", f"X{size}", "y")
    return of_images(images, labels, tuple(f"subject {k}" for k in range(1, 16)))


def brendan(store: FileStore, seed: int) -> Dataset:
    """Give the frames of a video of one face, in time order, 28 x 20 pixels from 0 to 255.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
    """
    (images,) = store.arrays("frey_faces.npz", "X")
    return Dataset({"image": images.reshape(len(images), -1)}, image_shapes={"image": images.shape[1:]})


def coil20(store: FileStore, seed: int) -> Dataset:
    """Give 20 objects, each from 72 sides, as 32 x 32 pixels from 0 to 1.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
    """
    images, labels = store.arrays("coil20_32.npz", "X", "y")
    return of_images(images, labels, tuple(f"object {k}" for k in range(1, 21)))


def of_images(
    images: np.ndarray, labels: np.ndarray, names: tuple[str, ...], rows: tuple[str, ...] | None = None
) -> Dataset:
    """Give labelled images as one view, a row each."""
    return Dataset({"image": images.reshape(len(images), -1)}, class_numbers(labels), names, rows=rows,
                   image_shapes={"image": images.shape[1:]})  # fmt: skip


def _cifar(store: FileStore, size: int, grey: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    check_flag(grey, "grey")
    check_integer(size, "size", at_least=1)
    if size > _ORIGINAL_SIZE:
        raise ValueError(f"size must be at most {_ORIGINAL_SIZE}, the size of the original images. Got {size}.")
    as_in_paper = grey and size == _SMALL_GREY
    file = "cifar10_gray20.npz" if as_in_paper else "cifar10.npz"
    images, labels, n_train, names = store.arrays(file, "X", "y", "n_train", "class_names")
    if not as_in_paper:
        images = pixels.grey(images) if grey else images
        images = images if size == _ORIGINAL_SIZE else pixels.resize(images, size)
    return images, labels, n_train, tuple(map(str, names))


ENTRIES = {
    "cifar": Entry(
        recipe=cifar,
        views=("image",),
        files=("cifar10_gray20.npz",),
        description=(
            "60,000 photographs of 10 kinds of things, as 20 x 20 grey levels from 0 to 255; the first 50,000 are "
            "the training set. Grey is ITU-R 601 luma, the size is reduced from 32 x 32 with an antialiased bilinear "
            "filter; the paper does not name its filter. Other sizes and colour need the original images."
        ),
        origin=_CIFAR_ORIGIN,
        licence=_CIFAR_LICENCE,
    ),
    "r-cifar": Entry(
        recipe=r_cifar,
        views=("image",),
        files=("cifar10_gray20.npz",),
        description=(
            "400 random photographs of each of the first five classes of CIFAR-10 (airplane to deer), 20 x 20 grey "
            "levels: the paper's R-CIFAR; another random_state draws other rows."
        ),
        origin=_CIFAR_ORIGIN,
        licence=_CIFAR_LICENCE,
    ),
    "yale": Entry(
        recipe=yale,
        views=("image",),
        files=("yale.npz",),
        description=(
            "165 pictures of 15 faces in changing light and expression, 32 x 32 or 64 x 64 grey levels. The paper's "
            "faces have 1,850 pixels, from another crop, so its numbers are not comparable."
        ),
        origin=(
            "Yale Face Database (P. Belhumeur, J. Hespanha, D. Kriegman, 1997), Yale Center for Computational Vision "
            "and Control; crops by Deng Cai."
        ),
        licence="Non-commercial research use.",
    ),
    "brendan": Entry(
        recipe=brendan,
        views=("image",),
        files=("frey_faces.npz",),
        labelled=False,
        description="1,965 frames of a video of Brendan Frey's face, 28 x 20 grey levels, in time order; no labels.",
        origin="B. Frey and S. Roweis.",
        licence="None stated; used freely in research.",
    ),
    "coil20": Entry(
        recipe=coil20,
        views=("image",),
        files=("coil20_32.npz",),
        description="20 objects, each photographed from 72 sides five degrees apart, 32 x 32 grey levels from 0 to 1.",
        origin="S. Nene, S. Nayar, H. Murase, Columbia University, 1996 (COIL-20); 32 x 32 version by Deng Cai.",
        licence="Research use.",
    ),
}
