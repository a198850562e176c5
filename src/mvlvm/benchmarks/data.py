"""The data that costs are measured on: sets by name, MNIST of any length, matrices of any size."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from mvlvm.datasets import load

MNIST_WITH_LABELS = "mnist+label"
LOW_RANK = "low-rank"
_N_MNIST = 70_000
_N_CLASSES = 10
# Beside grey levels up to 255: rows that were drawn twice are not the same, and look as they did.
_NOISE_OF_COPIES = 0.5
# Images have a few strong directions and a long tail of weak ones.
_RANK, _DECAY, _NOISE = 40, 1.0, 0.1
_LARGE = 100_000


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """Which data.

    Attributes:
        name: of a data set, or `MNIST_WITH_LABELS` or `LOW_RANK`.
        n_samples: how many rows; None for all there are.
        n_columns: of every view of `LOW_RANK`.
        n_views: of `LOW_RANK`.
    """

    name: str
    n_samples: int | None = None
    n_columns: int = 100
    n_views: int = 2


@dataclass(frozen=True)
class Data:
    """Views as numbers, and classes where there are some."""

    views: dict[str, Float[np.ndarray, "N _"]]
    labels: Int[np.ndarray, " N"] | None


def load_data(spec: DataSpec, seed: int = 0) -> Data:
    """Load or make the data.

    Views are float64, float32 where they have more than 100,000 rows.
    """
    if spec.name == LOW_RANK:
        return low_rank(spec.n_samples or 1000, spec.n_columns, spec.n_views, seed)
    if spec.name == MNIST_WITH_LABELS:
        return mnist_with_labels(spec.n_samples or _N_MNIST, seed)
    data = load(spec.name, random_state=seed)
    rows = slice(None)
    if spec.n_samples is not None and data.labels is not None:
        rows = np.random.default_rng(seed).permutation(len(data.labels))[: spec.n_samples]
    views = {name: np.asarray(Y, dtype=np.float64)[rows] for name, Y in data.views.items()}
    return Data(views, None if data.labels is None else data.labels[rows])


def mnist_with_labels(n_samples: int, seed: int) -> Data:
    """Give images of MNIST and their digits, one-hot, as a second view.

    Beyond the 70,000 that there are, rows are drawn again with a little noise.
    """
    mnist = load("mnist", random_state=seed, n_samples=None if n_samples >= _N_MNIST else n_samples)
    images, labels = mnist.views["image"], mnist.labels
    assert labels is not None
    rng, dtype = np.random.default_rng(seed), np.float64 if n_samples <= _LARGE else np.float32
    if n_samples > len(images):
        rows = np.concatenate([np.arange(len(images)), rng.integers(len(images), size=n_samples - len(images))])
        pixels = images[rows].astype(dtype)
        for start in range(len(images), n_samples, _LARGE):  # in portions: the noise is as large as the images
            part = pixels[start : start + _LARGE]
            part += _NOISE_OF_COPIES * rng.standard_normal(part.shape, dtype=np.float32)
        labels = labels[rows]
    else:
        pixels = images.astype(dtype)
    return Data({"image": pixels, "label": np.eye(_N_CLASSES, dtype=dtype)[labels]}, labels)


def low_rank(n_samples: int, n_columns: int, n_views: int, seed: int) -> Data:
    """Make views of one set of factors whose strength falls as that of the components of images does."""
    rng = np.random.default_rng(seed)
    rank = min(_RANK, n_columns)
    factors = rng.standard_normal((n_samples, rank)) / np.arange(1, rank + 1) ** _DECAY
    views = {
        f"view{v}": factors @ rng.standard_normal((rank, n_columns))
        + _NOISE * rng.standard_normal((n_samples, n_columns))
        for v in range(n_views)
    }
    return Data(views, None)
