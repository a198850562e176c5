"""Data drawn from the model of each likelihood: predictive density of that model and of a Gaussian view on new rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy import stats

from discrete import class_shares, mean_log_interval, mean_log_normal, mean_log_share
from experiment import Effort, Experiment, Numbers

Matrix = Float[np.ndarray, "N M"]

FITTED, COLUMNS, FACTORS, CLASSES = 300, 20, 2, 5
NEW_ROWS = {"entries": 100, "labels": 300}
_WAVES = 200
_FREQUENCY = 0.7  # frequency of the waves: smooth, but nonlinear
_NOISE, _DEGREES, _DISPERSION, _TABLE_NOISE = 0.3, 3.0, 2.0, 0.3


def _draw_bits(f: Matrix, rng: np.random.Generator) -> Matrix:
    return (rng.random(f.shape) < 1 / (1 + np.exp(-f))).astype(float)


def _log_bit(Y: Matrix, f: Matrix) -> Matrix:
    return -np.logaddexp(0, np.where(Y == 1, -f, f))


@dataclass(frozen=True)
class Source:
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


SOURCES: Mapping[str, Source] = {
    "student-t": Source(
        lambda f, rng: f + _NOISE * rng.standard_t(_DEGREES, f.shape),
        lambda Y, f: stats.t.logpdf(Y, _DEGREES, f, _NOISE),
        integers=False,
    ),
    "bernoulli": Source(_draw_bits, _log_bit, size=2.0, highest=1),
    "poisson": Source(
        lambda f, rng: rng.poisson(np.exp(f)).astype(float), lambda Y, f: stats.poisson.logpmf(Y, np.exp(f)), level=0.5
    ),
    "negative-binomial": Source(
        lambda f, rng: rng.negative_binomial(_DISPERSION, _DISPERSION / (_DISPERSION + np.exp(f))).astype(float),
        lambda Y, f: stats.nbinom.logpmf(Y, _DISPERSION, _DISPERSION / (_DISPERSION + np.exp(f))),
        level=1.5,
    ),
}


def smooth_functions(X: Matrix, n_functions: int, rng: np.random.Generator) -> Matrix:
    """Draw smooth functions of latents with variance about one: sums of waves in random directions."""
    directions, phases = rng.normal(size=(X.shape[1], _WAVES)), rng.uniform(0, 2 * np.pi, _WAVES)
    waves = np.sqrt(2 / _WAVES) * np.cos(_FREQUENCY * X @ directions + phases)
    return waves @ rng.normal(size=(_WAVES, n_functions))


@dataclass(frozen=True)
class Drawn:
    """Two views of training rows and of new rows; the second view of new rows is predicted from the first."""

    views: Mapping[str, Matrix]
    new: Mapping[str, Matrix]
    new_f: Matrix

    @classmethod
    def of(cls, kind: str, seed: int) -> "Drawn":
        """Draw both views from the same distribution; columns that are constant in the training rows are excluded."""
        source, rng = SOURCES[kind], np.random.default_rng(seed)
        X = rng.normal(size=(FITTED + NEW_ROWS["entries"], FACTORS))
        f = source.level + source.size * smooth_functions(X, 2 * COLUMNS, rng)
        Y = source.draw(f, rng)
        parts = {"a": slice(COLUMNS), "b": slice(COLUMNS, None)}
        kept = {name: np.flatnonzero(np.ptp(Y[:FITTED, part], axis=0)) for name, part in parts.items()}
        views = {name: Y[:, part][:, kept[name]] for name, part in parts.items()}
        return cls(
            {name: Y[:FITTED] for name, Y in views.items()}, {name: Y[FITTED:] for name, Y in views.items()},
            f[FITTED:, parts["b"]][:, kept["b"]],
        )  # fmt: skip


def right(kind: str, seed: int, effort: Effort) -> Numbers:
    """Fit the model that generated the data."""
    drawn = Drawn.of(kind, seed)
    est = effort.fit(drawn.views, n_components=FACTORS, max_iter=1000, likelihood=kind, seed=seed)
    return {"log density": est.score(drawn.new, target="b")}


def normal(kind: str, logs: bool, seed: int, effort: Effort) -> Numbers:
    """Fit Gaussian views to the same data, or to their logarithms."""
    drawn, source = Drawn.of(kind, seed), SOURCES[kind]
    link = np.log1p if logs else np.asarray
    est = effort.fit({name: link(Y) for name, Y in drawn.views.items()}, n_components=FACTORS, max_iter=1000, seed=seed)
    mean, std = est.predict({"a": link(drawn.new["a"])}, target="b", return_std=True)
    truth = drawn.new["b"]
    log_jacobian = float(np.log1p(truth).mean()) if logs else 0.0  # mean of -log d/dy log(1 + y)
    plain = mean_log_normal(link(truth), mean, std) - log_jacobian
    if not source.integers:
        return {"log density": plain}
    as_integers = mean_log_interval(truth, mean, std, highest=source.highest, logs=logs)
    return {"log density": as_integers, "plain density": plain}


def known_function(kind: str, seed: int, effort: Effort) -> Numbers:
    """Score the true functions: on average no method can be better."""
    drawn = Drawn.of(kind, seed)
    return {"log density": float(SOURCES[kind].log_density(drawn.new["b"], drawn.new_f).mean())}


# --- a label and a table ---


@dataclass(frozen=True)
class Labelled:
    """A table and a class for every row; the class of new rows is predicted from the table."""

    table: Matrix
    codes: np.ndarray
    f: Matrix

    @classmethod
    def of(cls, seed: int) -> "Labelled":
        """Draw a Gaussian table of ten columns, and classes with softmax probabilities."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(FITTED + NEW_ROWS["labels"], FACTORS))
        table = smooth_functions(X, 10, rng)
        table += _TABLE_NOISE * rng.normal(size=table.shape)
        f = 2 * smooth_functions(X, CLASSES, rng)
        codes = np.argmax(f + rng.gumbel(size=f.shape), axis=1)
        return cls(table, codes, f)


def right_labels(seed: int, effort: Effort) -> Numbers:
    """Fit the label with a categorical likelihood."""
    data = Labelled.of(seed)
    kinds, views = {"table": "gaussian", "label": "categorical"}, {"table": data.table, "label": data.codes}
    known = {name: Y[:FITTED] for name, Y in views.items()}
    est = effort.fit(known, n_components=FACTORS, max_iter=1000, likelihood=kinds, seed=seed)
    return {"log density": est.score({name: Y[FITTED:] for name, Y in views.items()}, target="label")}


def normal_labels(seed: int, effort: Effort) -> Numbers:
    """Fit the label as one-hot Gaussian columns, and convert the predicted means to probabilities."""
    data = Labelled.of(seed)
    one_hot = np.eye(CLASSES)[data.codes]
    est = effort.fit(
        {"table": data.table[:FITTED], "label": one_hot[:FITTED]}, n_components=FACTORS, max_iter=1000, seed=seed
    )
    mean, std = est.predict({"table": data.table[FITTED:]}, target="label", return_std=True)
    plain = mean_log_normal(one_hot[FITTED:], mean, std)
    return {"log density": mean_log_share(data.codes[FITTED:], class_shares(mean)), "plain density": plain}


def known_classes(seed: int, effort: Effort) -> Numbers:
    """Score the true class probabilities."""
    data = Labelled.of(seed)
    shares = np.exp(data.f) / np.exp(data.f).sum(axis=1, keepdims=True)
    return {"log density": mean_log_share(data.codes[FITTED:], shares[FITTED:])}


def _own(kind: str) -> Experiment:
    counts = kind in ("poisson", "negative-binomial")
    return Experiment(f"own-{kind}", {
        kind: partial(right, kind),
        "gaussian": partial(normal, kind, False),
        **({"gaussian on log(1 + y)": partial(normal, kind, True)} if counts else {}),
        "true functions": partial(known_function, kind),
    })  # fmt: skip


EXPERIMENTS = (
    *(_own(kind) for kind in SOURCES),
    Experiment(
        "own-categorical",
        {"categorical": right_labels, "gaussian": normal_labels, "true functions": known_classes},
    ),
)
