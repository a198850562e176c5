"""Real data that come with scikit-learn, so that nothing needs to be downloaded."""

import numpy as np
from sklearn.datasets import load_digits

from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.digits import DIGITS
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore

_HALF = (8, 4)


def digits_halves(store: FileStore, seed: int) -> Dataset:
    """Cut scikit-learn's digits of 8 x 8 pixels into a left and a right half.

    Args:
        store: not used; the data come with scikit-learn.
        seed: not used; nothing is drawn.
    """
    pixels, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    images = pixels.reshape(-1, 8, 8)
    halves = {"left": images[:, :, :4], "right": images[:, :, 4:]}
    return Dataset(
        {name: half.reshape(len(half), -1) for name, half in halves.items()},
        labels.astype(np.int64),
        DIGITS,
        image_shapes=dict.fromkeys(halves, _HALF),
    )


ENTRIES = {
    "digits-halves": Entry(
        recipe=digits_halves,
        views=("left", "right"),
        description="1,797 handwritten digits of 8 x 8 pixels from 0 to 16, cut into a left and a right half.",
        origin=(
            "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (UCI), as it comes with scikit-learn."
        ),
        licence="CC BY 4.0.",
    ),
}
