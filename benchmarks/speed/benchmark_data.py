"""Data of the speed studies: real data sets, MNIST with labels at any number of rows, and views of low rank."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from mvlvm.datasets import load

MNIST, LOW_RANK = "MNIST with labels", "low rank"
R_MNIST, DIGITS, BRIDGES = "R-MNIST", "digits-halves", "BRIDGES"
N_MNIST = 70_000

_LOADED = {R_MNIST: "r-mnist", DIGITS: "digits-halves", BRIDGES: "bridges"}
_N_CLASSES = 10
# Relative to grey levels up to 255: makes repeated rows distinct without changing their appearance.
_NOISE_OF_COPIES = 0.5
# The spectrum of images: a few strong components and a long tail of weak ones.
_RANK, _DECAY, _NOISE = 40, 1.0, 0.1
_LARGE = 100_000


@dataclass(frozen=True)
class BenchmarkData:
    """Views as numeric arrays, and class labels if there are any."""

    views: dict[str, Float[np.ndarray, "N _"]]
    labels: Int[np.ndarray, " N"] | None


def load_benchmark_data(
    name: str, n_rows: int | None = None, *, n_columns: int = 100, n_views: int = 2, seed: int = 0
) -> BenchmarkData:
    """Load or generate data.

    Args:
        name: name of the data.
        n_rows: number of rows; None for the complete data set.
        n_columns: number of columns of every view of `LOW_RANK`.
        n_views: number of views of `LOW_RANK`.
        seed: seed of the choice of rows or of the generated data.

    Returns:
        Views in float64, or in float32 if they have more than 100,000 rows, and class labels.
    """
    if name == LOW_RANK:
        return low_rank(n_rows or 1000, n_columns, n_views, seed)
    if name == MNIST:
        return mnist_with_labels(n_rows or N_MNIST, seed)
    data = load(_LOADED.get(name, name), random_state=seed)
    rows = slice(None)
    if n_rows is not None and data.labels is not None:
        rows = np.random.default_rng(seed).permutation(len(data.labels))[:n_rows]
    views = {view: np.asarray(Y, dtype=np.float64)[rows] for view, Y in data.views.items()}
    return BenchmarkData(views, None if data.labels is None else data.labels[rows])


def mnist_with_labels(n_rows: int, seed: int) -> BenchmarkData:
    """Return MNIST images with their one-hot labels as a second view.

    Rows beyond the 70,000 of the data set are repetitions with a little noise.
    """
    mnist = load("mnist", random_state=seed, n_samples=None if n_rows >= N_MNIST else n_rows)
    images, labels = mnist.views["image"], mnist.labels
    assert labels is not None
    rng, dtype = np.random.default_rng(seed), np.float64 if n_rows <= _LARGE else np.float32
    if n_rows > len(images):
        rows = np.concatenate([np.arange(len(images)), rng.integers(len(images), size=n_rows - len(images))])
        pixels = images[rows].astype(dtype)
        # in chunks, because the noise takes as much memory as the images
        for start in range(len(images), n_rows, _LARGE):
            part = pixels[start : start + _LARGE]
            part += _NOISE_OF_COPIES * rng.standard_normal(part.shape, dtype=np.float32)
        labels = labels[rows]
    else:
        pixels = images.astype(dtype)
    return BenchmarkData({"image": pixels, "label": np.eye(_N_CLASSES, dtype=dtype)[labels]}, labels)


def low_rank(n_rows: int, n_columns: int, n_views: int, seed: int) -> BenchmarkData:
    """Generate views from common factors whose variance decays like that of the principal components of images."""
    rng = np.random.default_rng(seed)
    rank = min(_RANK, n_columns)
    factors = rng.standard_normal((n_rows, rank)) / np.arange(1, rank + 1) ** _DECAY
    views = {
        f"view{v}": factors @ rng.standard_normal((rank, n_columns)) + _NOISE * rng.standard_normal((n_rows, n_columns))
        for v in range(n_views)
    }
    return BenchmarkData(views, None)
