"""Simulated data with a known answer: entries drawn from a likelihood, private factors, and numbers of factors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from benchmarks.cells import Cell
from benchmarks.quality.prediction_scores import (
    Metrics,
    class_probabilities,
    fit_model,
    mean_log_interval,
    mean_log_normal,
    mean_log_probability,
    reduced,
)
from mvlvm.datasets import load

Matrix = Float[np.ndarray, "N M"]

N_FITTED, N_NEW_ENTRIES, N_NEW_LABELS = 300, 100, 300
_COLUMNS, _TABLE_COLUMNS, _FACTORS, _CLASSES = 20, 10, 2, 5
_STEPS = 1000
_WAVES = 200
_FREQUENCY = 0.7  # frequency of the waves: smooth, but nonlinear
_NOISE, _DEGREES, _DISPERSION, _TABLE_NOISE = 0.3, 3.0, 2.0, 0.3

GAUSSIAN, GAUSSIAN_LOGS, TRUTH = "gaussian", "gaussian on log(1 + y)", "true functions"
SPECIFIED, UNSPECIFIED = "1 shared, 1 private each", "3 dimensions of both"
VIEWS = ("a", "b")
FACTOR_NAMES = ("shared", "private to a", "private to b")
FACTOR_NUMBERS = (3, 5, 8)


@dataclass(frozen=True)
class EntryDistribution:
    """A distribution of entries given f.

    Attributes:
        draw: returns entries.
        log_density: log density of entries given the true f.
        level: mean of f.
        size: standard deviation of f.
        highest: largest value of integer entries.
        integers: whether entries are integers.
    """

    draw: Callable[[Matrix, np.random.Generator], Matrix]
    log_density: Callable[[Matrix, Matrix], Matrix]
    level: float = 0.0
    size: float = 1.0
    highest: float = np.inf
    integers: bool = True


def _draw_bits(f: Matrix, rng: np.random.Generator) -> Matrix:
    return (rng.random(f.shape) < 1 / (1 + np.exp(-f))).astype(float)


def _log_bit(Y: Matrix, f: Matrix) -> Matrix:
    return -np.logaddexp(0, np.where(Y == 1, -f, f))


DISTRIBUTIONS: Mapping[str, EntryDistribution] = {
    "student-t": EntryDistribution(
        lambda f, rng: f + _NOISE * rng.standard_t(_DEGREES, f.shape),
        lambda Y, f: stats.t.logpdf(Y, _DEGREES, f, _NOISE),
        integers=False,
    ),
    "bernoulli": EntryDistribution(_draw_bits, _log_bit, size=2.0, highest=1.0),
    "poisson": EntryDistribution(
        lambda f, rng: rng.poisson(np.exp(f)).astype(float), lambda Y, f: stats.poisson.logpmf(Y, np.exp(f)), level=0.5
    ),
    "negative-binomial": EntryDistribution(
        lambda f, rng: rng.negative_binomial(_DISPERSION, _DISPERSION / (_DISPERSION + np.exp(f))).astype(float),
        lambda Y, f: stats.nbinom.logpmf(Y, _DISPERSION, _DISPERSION / (_DISPERSION + np.exp(f))),
        level=1.5,
    ),
}


def smooth_functions(
    X: Float[np.ndarray, "N D"], n_functions: int, rng: np.random.Generator
) -> Float[np.ndarray, "N {n_functions}"]:
    """Draw smooth functions of latents with variance about one: sums of waves in random directions."""
    directions, phases = rng.normal(size=(X.shape[1], _WAVES)), rng.uniform(0, 2 * np.pi, _WAVES)
    waves = np.sqrt(2 / _WAVES) * np.cos(_FREQUENCY * X @ directions + phases)
    return waves @ rng.normal(size=(_WAVES, n_functions))


@dataclass(frozen=True)
class SyntheticViews:
    """Two views of training rows and of new rows; the second view of new rows is predicted from the first."""

    views: Mapping[str, Float[np.ndarray, "N _"]]
    new: Mapping[str, Float[np.ndarray, "K _"]]
    new_f: Float[np.ndarray, "K B"]

    @classmethod
    def of(cls, name: str, seed: int) -> "SyntheticViews":
        """Draw both views from the same distribution; columns that are constant in the training rows are excluded."""
        distribution, rng = DISTRIBUTIONS[name], np.random.default_rng(seed)
        X = rng.normal(size=(N_FITTED + N_NEW_ENTRIES, _FACTORS))
        f = distribution.level + distribution.size * smooth_functions(X, 2 * _COLUMNS, rng)
        Y = distribution.draw(f, rng)
        parts = {"a": slice(_COLUMNS), "b": slice(_COLUMNS, None)}
        kept = {view: np.flatnonzero(np.ptp(Y[:N_FITTED, part], axis=0)) for view, part in parts.items()}
        views = {view: Y[:, part][:, kept[view]] for view, part in parts.items()}
        return cls(
            {view: Y[:N_FITTED] for view, Y in views.items()}, {view: Y[N_FITTED:] for view, Y in views.items()},
            f[N_FITTED:, parts["b"]][:, kept["b"]],
        )  # fmt: skip


def true_likelihood(name: str, cell: Cell) -> Metrics:
    """Fit the model that generated the data."""
    drawn = SyntheticViews.of(name, cell.seed)
    est = fit_model(cell, drawn.views, n_components=_FACTORS, max_iter=_STEPS, likelihood=name)
    return {"log density": est.score(drawn.new, target="b")}


def gaussian_views(name: str, logs: bool, cell: Cell) -> Metrics:
    """Fit Gaussian views to the same data, or to their logarithms."""
    drawn, distribution = SyntheticViews.of(name, cell.seed), DISTRIBUTIONS[name]
    link = np.log1p if logs else np.asarray
    views = {view: link(Y) for view, Y in drawn.views.items()}
    est = fit_model(cell, views, n_components=_FACTORS, max_iter=_STEPS)
    mean, std = est.predict({"a": link(drawn.new["a"])}, target="b", return_std=True)
    truth = drawn.new["b"]
    log_jacobian = float(np.log1p(truth).mean()) if logs else 0.0  # mean of -log d/dy log(1 + y)
    plain = mean_log_normal(link(truth), mean, std) - log_jacobian
    if not distribution.integers:
        return {"log density": plain}
    as_integers = mean_log_interval(truth, mean, std, highest=distribution.highest, logs=logs)
    return {"log density": as_integers, "plain density": plain}


def true_functions(name: str, cell: Cell) -> Metrics:
    """Score the true functions: on average no method can be better."""
    drawn = SyntheticViews.of(name, cell.seed)
    return {"log density": float(DISTRIBUTIONS[name].log_density(drawn.new["b"], drawn.new_f).mean())}


@dataclass(frozen=True)
class LabelledTable:
    """A table and a class for every row; the class of new rows is predicted from the table."""

    table: Float[np.ndarray, "N M"]
    codes: Int[np.ndarray, " N"]
    f: Float[np.ndarray, "N C"]

    @classmethod
    def of(cls, seed: int) -> "LabelledTable":
        """Draw a Gaussian table of ten columns, and classes with softmax probabilities."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N_FITTED + N_NEW_LABELS, _FACTORS))
        table = smooth_functions(X, _TABLE_COLUMNS, rng)
        table += _TABLE_NOISE * rng.normal(size=table.shape)
        f = 2 * smooth_functions(X, _CLASSES, rng)
        return cls(table, np.argmax(f + rng.gumbel(size=f.shape), axis=1), f)

    @property
    def probabilities(self) -> Float[np.ndarray, "N C"]:
        """True class probabilities."""
        return np.exp(self.f) / np.exp(self.f).sum(axis=1, keepdims=True)


def categorical_labels(cell: Cell) -> Metrics:
    """Fit the label with a categorical likelihood."""
    data = LabelledTable.of(cell.seed)
    views = {"table": data.table, "label": data.codes}
    est = fit_model(
        cell, {name: Y[:N_FITTED] for name, Y in views.items()}, n_components=_FACTORS, max_iter=_STEPS,
        likelihood={"table": "gaussian", "label": "categorical"},
    )  # fmt: skip
    return {"log density": est.score({name: Y[N_FITTED:] for name, Y in views.items()}, target="label")}


def gaussian_labels(cell: Cell) -> Metrics:
    """Fit the label as one-hot Gaussian columns, and convert the predicted means to probabilities."""
    data = LabelledTable.of(cell.seed)
    one_hot = np.eye(_CLASSES)[data.codes]
    views = {"table": data.table[:N_FITTED], "label": one_hot[:N_FITTED]}
    est = fit_model(cell, views, n_components=_FACTORS, max_iter=_STEPS)
    mean, std = est.predict({"table": data.table[N_FITTED:]}, target="label", return_std=True)
    plain = mean_log_normal(one_hot[N_FITTED:], mean, std)
    log_probability = mean_log_probability(data.codes[N_FITTED:], class_probabilities(mean))
    return {"log density": log_probability, "plain density": plain}


def true_classes(cell: Cell) -> Metrics:
    """Score the true class probabilities."""
    data = LabelledTable.of(cell.seed)
    return {"log density": mean_log_probability(data.codes[N_FITTED:], data.probabilities[N_FITTED:])}


# --- private dimensions and number of dimensions ---


def off_pattern(relevance: Float[np.ndarray, "2 3"], order: tuple[int, ...]) -> float:
    """Return the larger relevance of a view in the private dimension of the other, relative to the largest of its row.

    Args:
        relevance: views a and b by three dimensions.
        order: index of the shared dimension, of the private one of a and of the private one of b.
    """
    _, private_a, private_b = order
    rows = relevance / relevance.max(axis=1, keepdims=True)
    return float(max(rows[0, private_b], rows[1, private_a]))


def on_pattern(relevance: Float[np.ndarray, "2 3"], order: tuple[int, ...]) -> float:
    """Return the smallest relative relevance of a view in the shared dimension or in its private one."""
    shared, private_a, private_b = order
    rows = relevance / relevance.max(axis=1, keepdims=True)
    return float(min(rows[0, shared], rows[0, private_a], rows[1, shared], rows[1, private_b]))


def private_dimensions(specified: bool, cell: Cell) -> Metrics:
    """Fit one shared and two private dimensions, specified as such or as three dimensions of both views."""
    data = load("shared-private", random_state=cell.seed)
    truth = [data.truth["shared"][:, 0], *(data.truth["private"][view][:, 0] for view in VIEWS)]
    if specified:
        est = fit_model(cell, data.views, n_components=1, n_private=dict.fromkeys(VIEWS, 1), max_iter=_STEPS)
        latents, order = np.hstack([est.embedding_, *(est.private_embedding_[view] for view in VIEWS)]), (0, 1, 2)
    else:
        est = fit_model(cell, data.views, n_components=3, max_iter=_STEPS)
        latents, relevance = est.embedding_, est.relevance_
        order = min(permutations(range(3)), key=lambda order: off_pattern(relevance, order))
    correlations = {
        name: float(abs(np.corrcoef(latents[:, k], factor)[0, 1]))  # the sign of a latent is arbitrary
        for name, k, factor in zip(FACTOR_NAMES, order, truth, strict=True)
    }
    pattern = {"off pattern": off_pattern(est.relevance_, order), "on pattern": on_pattern(est.relevance_, order)}
    return {**pattern, **correlations}


def factor_number(n_factors: int, cell: Cell) -> Metrics:
    """Infer the number of factors of synthetic views."""
    data = load("factors", n_factors=n_factors, random_state=cell.seed)
    inferred = fit_model(cell, data.views, n_components="auto", max_iter=_STEPS).n_components_
    return {"inferred": inferred, "true": n_factors, "absolute error": abs(inferred - n_factors)}


def mfeat_dimensions(cell: Cell) -> Metrics:
    """Infer the number of dimensions of six real views."""
    views = dict(reduced(cell, load("mfeat")))
    return {"inferred": fit_model(cell, views, n_components="auto", max_iter=_STEPS).n_components_}


def _synthetic(name: str) -> dict[str, Callable[[Cell], Metrics]]:
    counts = name in ("poisson", "negative-binomial")
    return {
        name: partial(true_likelihood, name),
        GAUSSIAN: partial(gaussian_views, name, False),
        **({GAUSSIAN_LOGS: partial(gaussian_views, name, True)} if counts else {}),
        TRUTH: partial(true_functions, name),
    }


SYNTHETIC_TASKS: Mapping[str, Mapping[str, Callable[[Cell], Metrics]]] = {
    **{f"synthetic-{name}": _synthetic(name) for name in DISTRIBUTIONS},
    "synthetic-categorical": {"categorical": categorical_labels, GAUSSIAN: gaussian_labels, TRUTH: true_classes},
}
STRUCTURE_TASKS: Mapping[str, Mapping[str, Callable[[Cell], Metrics]]] = {
    "shared-private": {
        SPECIFIED: partial(private_dimensions, True),
        UNSPECIFIED: partial(private_dimensions, False),
    },
    "components": {
        **{f"{n} factors": partial(factor_number, n) for n in FACTOR_NUMBERS},
        "mfeat": mfeat_dimensions,
    },
}
