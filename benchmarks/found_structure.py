"""Recovery of private dimensions and of the number of dimensions on data with known structure."""

from functools import partial
from itertools import permutations

import numpy as np
from jaxtyping import Float

from experiment import Effort, Experiment, Numbers
from mvlvm import NGMVLVM
from mvlvm.datasets import load

Column = Float[np.ndarray, " N"]
VIEWS = ("a", "b")


def correlation(one: Column, other: Column) -> float:
    """Return the absolute correlation; the sign of a latent is arbitrary."""
    return float(abs(np.corrcoef(one, other)[0, 1]))


def off_pattern(relevance: Float[np.ndarray, "2 3"], order: tuple[int, ...]) -> float:
    """Return the larger relevance of a view in the private dimension of the other, relative to the largest of its row.

    Args:
        relevance: views a and b by three dimensions.
        order: index of the shared dimension, of the private one of a and of the private one of b.
    """
    _, own_a, own_b = order
    rows = relevance / relevance.max(axis=1, keepdims=True)
    return float(max(rows[0, own_b], rows[1, own_a]))


def on_pattern(relevance: Float[np.ndarray, "2 3"], order: tuple[int, ...]) -> float:
    """Return the smallest relative relevance of a view in the shared dimension or in its private one."""
    shared, own_a, own_b = order
    rows = relevance / relevance.max(axis=1, keepdims=True)
    return float(min(rows[0, shared], rows[0, own_a], rows[1, shared], rows[1, own_b]))


def _described(relevance: np.ndarray, latents: np.ndarray, order: tuple[int, ...], truth: list[Column]) -> Numbers:
    names = ("shared", "own of a", "own of b")
    found = {name: correlation(latents[:, k], factor) for name, k, factor in zip(names, order, truth, strict=True)}
    return {"off pattern": off_pattern(relevance, order), "on pattern": on_pattern(relevance, order), **found}


def private(asked: bool, seed: int, effort: Effort) -> Numbers:
    """Fit one shared and two private dimensions, specified as such or as three dimensions of both views."""
    data = load("shared-private", random_state=seed)
    truth = [data.truth["shared"][:, 0], *(data.truth["private"][view][:, 0] for view in VIEWS)]
    if asked:
        est = effort.fit(data.views, n_components=1, n_private=dict.fromkeys(VIEWS, 1), max_iter=1000, seed=seed)
        latents = np.hstack([est.embedding_, *(est.private_embedding_[view] for view in VIEWS)])
        return _described(est.relevance_, latents, (0, 1, 2), truth)
    est = effort.fit(data.views, n_components=3, max_iter=1000, seed=seed)
    order = min(permutations(range(3)), key=lambda order: off_pattern(est.relevance_, order))
    return _described(est.relevance_, est.embedding_, order, truth)


def _kept(est: NGMVLVM) -> int:
    return est.n_components_


def known_number(n_factors: int, seed: int, effort: Effort) -> Numbers:
    """Infer the number of factors of synthetic views."""
    data = load("factors", n_factors=n_factors, random_state=seed)
    found = _kept(effort.fit(data.views, n_components="auto", max_iter=1000, seed=seed))
    return {"found": found, "made of": n_factors, "off by": abs(found - n_factors)}


def digit_number(seed: int, effort: Effort) -> Numbers:
    """Infer the number of dimensions of six real views."""
    return {"found": _kept(effort.fit(dict(load("mfeat")), n_components="auto", max_iter=1000, seed=seed))}


EXPERIMENTS = (
    Experiment("private", {
        "1 shared, 1 private each": partial(private, True),
        "3 dimensions of both": partial(private, False),
    }),
    Experiment("components", {
        **{f"{k} factors": partial(known_number, k) for k in (3, 5, 8)},
        "mfeat": digit_number,
    }),
)  # fmt: skip
