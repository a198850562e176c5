"""Data sets on which learning-rate schedules and initialisations are compared, reduced to fits of a minute."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvlvm import datasets
from mvlvm.evaluation import affine_r2, nearest_neighbour_accuracy


@dataclass(frozen=True)
class Task:
    """Views and the quality of their latents.

    Attributes:
        views: view name -> matrix.
        quality: returns a number between 0 and 1 for an embedding.
        n_components: latent dimensions.
        likelihood: likelihood of all views.
    """

    views: Mapping[str, Any]
    quality: Callable[[np.ndarray], float]
    n_components: int = 2
    likelihood: str = "gaussian"


def _labelled(name: str, *, seed: int | None = None, most_rows: int = 1000, n_components: int = 2,
              likelihood: str = "gaussian") -> Task:  # fmt: skip
    """Return a data set with labels; the seed draws its rows if there are more than `most_rows`."""
    data = datasets.load(name) if seed is None else datasets.load(name, random_state=seed)
    assert data.labels is not None
    labels = data.labels
    rows = np.flatnonzero(labels >= 0)
    if len(rows) > most_rows:
        rows = np.sort(np.random.default_rng(seed or 0).permutation(rows)[:most_rows])
    views = {view: np.asarray(Y)[rows] for view, Y in data.views.items()}
    return Task(views, lambda found: nearest_neighbour_accuracy(found, labels[rows]), n_components, likelihood)


def _curve(kernels: list[str], seed: int) -> Task:
    data = datasets.load("s-curve", kernels=kernels, random_state=seed)
    return Task(data.views, lambda found: affine_r2(data.truth["latents"], found))


TASKS: dict[str, Callable[[int], Task]] = {
    "bridges": lambda seed: _labelled("bridges"),
    "s-curve-rbf": lambda seed: _curve(["rbf", "rbf"], seed),
    "s-curve-gibbs": lambda seed: _curve(["rbf", "gibbs"], seed),
    "yale": lambda seed: _labelled("yale"),
    "breast-tcga": lambda seed: _labelled("breast-tcga"),
    "digits-halves": lambda seed: _labelled("digits-halves"),
    "digits-counts": lambda seed: _labelled("digits-halves", most_rows=300, likelihood="poisson"),
    "r-mnist": lambda seed: _labelled("r-mnist", seed=seed),
    "r-cifar": lambda seed: _labelled("r-cifar", seed=seed),
    "mfeat-10": lambda seed: _labelled("mfeat", most_rows=500, n_components=10),
    "cll-10": lambda seed: _labelled("cll", n_components=10),
}
