"""Data sets of the paper by their names in the paper, at the sizes that a cell needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm.datasets import Dataset, load
from mvlvm.views.interop import is_sparse

_LARGEST_PIXEL = 255.0


@dataclass(frozen=True)
class PaperData:
    """A data set of the paper.

    Attributes:
        name: name for `mvlvm.datasets.load`.
        options: options for `load`.
        quick_rows: number of rows in quick cells; None for all.
        differences: known differences from the paper's data; empty if there are none.
        unspecified: properties that the paper does not specify.
        shuffled: whether rows are shuffled. Half of the rows of NEWSGROUPS are duplicates, sorted by class:
            nearest-neighbour searches, which break ties by row index, would reveal the classes of duplicates.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    quick_rows: int | None = None
    differences: str = ""
    unspecified: str = ""
    shuffled: bool = False


PAPER_DATA = {
    "BRIDGES": PaperData("bridges"),
    "CIFAR": PaperData("cifar", quick_rows=500),
    "MNIST": PaperData("mnist", quick_rows=500),
    "NEWSGROUPS": PaperData("newsgroups", {"vocabulary_split": "train"}, quick_rows=500, shuffled=True),
    "YALE": PaperData("yale", differences="different crop of the faces (1,024 pixels, not 1,850)"),
    "R-MNIST": PaperData("r-mnist", quick_rows=500),
    "R-CIFAR": PaperData("r-cifar", quick_rows=500),
    "MNIST-SVHN": PaperData("mnist-svhn", quick_rows=500, unspecified="the number of pairs in MNIST-SVHN"),
    "MOVIES": PaperData("movies", {"unit_rows": True}, quick_rows=300),
    "CORA": PaperData("cora", {"unit_rows": True, "dense": True}, quick_rows=400),
    "BRENDAN": PaperData("brendan", quick_rows=300, differences="1,965 frames, which the paper rounds to 2,000"),
    "MV-MNIST": PaperData("mv-mnist", quick_rows=150, unspecified="the angles and the number of rows of MV-MNIST"),
    "CHANNEL": PaperData(
        "channel", quick_rows=200,
        differences="a different draw from the same simulator (see docs/channel.md); 10,000 rows as in the paper's "
        "text, whereas its table of data sets states 1,000",
    ),
}  # fmt: skip


def load_paper_data(
    name: str, *, seed: int, quick: bool, max_rows: int | None = None, label_view: bool = False
) -> Dataset:
    """Load a data set of the paper.

    Args:
        name: name in the paper.
        seed: seed of the random subset of rows and of their order.
        quick: whether to load the smaller number of rows of quick cells.
        max_rows: largest number of rows that the method can handle; None for no limit.
        label_view: whether to add the one-hot class labels as a view.

    Returns:
        The data set, with a random subset of rows if it is larger than the limits.
    """
    known = PAPER_DATA[name]
    data = load(known.name, random_state=seed, with_labels_as_view=label_view, **known.options)
    limits = [rows for rows in (known.quick_rows if quick else None, max_rows) if rows is not None]
    n = next(iter(data.views.values())).shape[0]
    rows = sample_rows(n, min(limits, default=None), seed)
    if known.shuffled:
        rows = np.random.default_rng(seed).permutation(rows)
    return select_rows(data, rows) if known.shuffled or len(rows) < n else data


def unit_pixels(views: Mapping[str, Any]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Scale images (N x M) from [0, 255] to [0, 1]."""
    return {name: np.asarray(Y, dtype=np.float32) / _LARGEST_PIXEL for name, Y in views.items()}


def data_note(names: Sequence[str]) -> str:
    """Return sentences on known differences from the paper's data and on what the paper does not specify."""
    known = {name: PAPER_DATA[name] for name in names if name in PAPER_DATA}
    differences = "; ".join(f"{name}: {data.differences}" for name, data in known.items() if data.differences)
    unspecified = "; ".join(data.unspecified for data in known.values() if data.unspecified)
    sentences = [f"Data that differ from the paper: {differences}." if differences else ""]
    return " ".join(filter(None, [*sentences, f"Not specified in the paper: {unspecified}." if unspecified else ""]))


def sample_rows(n: int, n_wanted: int | None, seed: int) -> Int[np.ndarray, " K"]:
    """Return sorted indices of a random subset of rows; all rows if `n_wanted` is None or at least `n`.

    With the same seed, a smaller subset is contained in a larger one.
    """
    if n_wanted is None or n_wanted >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).permutation(n)[:n_wanted])


def select_rows(data: Dataset, rows: Int[np.ndarray, " K"]) -> Dataset:
    """Return the data set restricted to the given rows."""
    views = {name: Y[rows] if not is_sparse(Y) else Y.tocsr()[rows] for name, Y in data.views.items()}
    labels = None if data.labels is None else data.labels[rows]
    return replace(data, views=views, labels=labels, rows=None if data.rows is None else [data.rows[i] for i in rows])
