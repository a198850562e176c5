"""The paper's data sets by the paper's names, at the sizes that a cell asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from mvlvm.datasets import Dataset, load
from mvlvm.experiments.cells import Effort
from mvlvm.views.sparse import is_sparse


@dataclass(frozen=True)
class PaperData:
    """A data set of the paper.

    Attributes:
        name: what `load` calls it.
        options: for `load`.
        quick_rows: how many rows a quick cell takes; None for all.
        differs: in what ours is known to differ from the paper's; empty if in nothing.
        unsaid: what the paper does not say of its own.
        shuffled: rows are put in random order. Half of NEWSGROUPS are copies of others, sorted by class: neighbour
            searches, which break ties by place, would tell the classes of copies.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    quick_rows: int | None = None
    differs: str = ""
    unsaid: str = ""
    shuffled: bool = False


PAPER_DATA = {
    "BRIDGES": PaperData("bridges"),
    "CIFAR": PaperData("cifar", quick_rows=500),
    "MNIST": PaperData("mnist", quick_rows=500),
    "NEWSGROUPS": PaperData("newsgroups", {"vocabulary_split": "train"}, quick_rows=500, shuffled=True),
    "YALE": PaperData("yale", differs="another crop of the faces: 1,024 pixels instead of 1,850"),
    "R-MNIST": PaperData("r-mnist", quick_rows=500),
    "R-CIFAR": PaperData("r-cifar", quick_rows=500),
    "MNIST-SVHN": PaperData("mnist-svhn", quick_rows=500, unsaid="how many pairs of MNIST-SVHN it took"),
    "MOVIES": PaperData("movies", {"unit_rows": True}, quick_rows=300),
    "CORA": PaperData("cora", {"unit_rows": True, "dense": True}, quick_rows=400),
    "BRENDAN": PaperData("brendan", quick_rows=300, differs="1,965 frames, which the paper rounds to 2,000"),
    "MV-MNIST": PaperData("mv-mnist", quick_rows=150, unsaid="the angles and the number of rows of MV-MNIST"),
    "CHANNEL": PaperData(
        "channel", quick_rows=200,
        differs="another draw of the same simulator (see docs/channel.md); 10,000 rows, as in the paper's text, where "
        "its table of data sets has 1,000",
    ),
}  # fmt: skip


def load_paper_data(
    name: str, *, seed: int, effort: Effort, most_rows: int | None = None, label_view: bool = False
) -> Dataset:
    """Load a data set.

    Args:
        name: the paper's.
        seed: of the rows that are drawn, and of their order.
        effort: quick cells take fewer rows.
        most_rows: that the method can take; None for any number.
        label_view: whether the classes are one more view, one-hot.
    """
    known = PAPER_DATA[name]
    data = load(known.name, random_state=seed, with_labels_as_view=label_view, **known.options)
    limits = [rows for rows in (known.quick_rows if effort is Effort.QUICK else None, most_rows) if rows is not None]
    n = next(iter(data.views.values())).shape[0]
    rows = draw_rows(n, min(limits, default=None), seed)
    if known.shuffled:
        rows = np.random.default_rng(seed).permutation(rows)
    return some_rows(data, rows) if known.shuffled or len(rows) < n else data


def note_on(names: list[str]) -> str:
    """Say in what our data differ from the paper's, and what it does not say of its own."""
    known = {name: PAPER_DATA[name] for name in names if name in PAPER_DATA}
    differs = "; ".join(f"{name}: {data.differs}" for name, data in known.items() if data.differs)
    unsaid = "; ".join(data.unsaid for data in known.values() if data.unsaid)
    said = [f"Data that differ from the paper's: {differs}." if differs else ""]
    return " ".join(filter(None, [*said, f"The paper does not say: {unsaid}." if unsaid else ""]))


def draw_rows(n: int, n_wanted: int | None, seed: int) -> Int[np.ndarray, " K"]:
    """Draw rows, in order; all where there are no more. A smaller draw of the same seed is part of a larger one."""
    if n_wanted is None or n_wanted >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).permutation(n)[:n_wanted])


def some_rows(data: Dataset, rows: Int[np.ndarray, " K"]) -> Dataset:
    """Give some of the rows of a data set."""
    views = {name: Y[rows] if not is_sparse(Y) else Y.tocsr()[rows] for name, Y in data.views.items()}
    labels = None if data.labels is None else data.labels[rows]
    return replace(data, views=views, labels=labels, rows=None if data.rows is None else [data.rows[i] for i in rows])
