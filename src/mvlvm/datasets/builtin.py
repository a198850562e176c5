"""Real data distributed with scikit-learn, which require no download."""

import numpy as np
from sklearn.datasets import load_digits

from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import Dataset, DatasetEntry
from mvlvm.datasets.digits import DIGITS

_HALF = (8, 4)


def digits_halves(cache: FileCache, seed: int) -> Dataset:
    """Load scikit-learn's digits, 8 x 8 pixels, split into a left and a right half.

    Args:
        cache: unused; the data are distributed with scikit-learn.
        seed: unused; nothing is random.
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
    "digits-halves": DatasetEntry(
        loader=digits_halves,
        views=("left", "right"),
        description="1,797 handwritten digits of 8 x 8 pixels from 0 to 16, split into a left and a right half.",
        origin=(
            "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (UCI), as distributed with scikit-learn."
        ),
        licence="CC BY 4.0.",
    ),
}
