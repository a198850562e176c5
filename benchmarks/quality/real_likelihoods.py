"""Likelihoods on real data: binary digits, labels that are missing during fitting, and counts of single cells."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Real
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.prediction_scores import (
    Metrics,
    clipped,
    fit_model,
    log_loss,
    mean_log_interval,
    mean_log_normal,
    reduced,
)
from benchmarks.quality.synthetic_likelihoods import GAUSSIAN_LOGS, STRUCTURE_TASKS, SYNTHETIC_TASKS
from mvlvm.datasets import load

# A view; views have the same rows and different columns.
ViewMatrix = Float[np.ndarray, "N _"]
NewViewMatrix = Float[np.ndarray, "K _"]
Codes = Int[np.ndarray, " N"]

_SIDE, _STEPS, _COMPONENTS = 28, 1000, 10
_GENES = 500
_ROUNDING = 1e-7  # precision of the predicted probabilities
# Smallest probability of a class, against logarithms of zero.
_LEAST_PROBABILITY = 1e-12
EQUAL_TOTALS, WITHOUT_LATENTS = "gaussian, RNA of equal totals", "negative binomial without latents"
# Data set -> latent dimensions in addition to the paper's two, and number of steps.
LABEL_SETTINGS = {"bridges": (5, 1000), "r-mnist": (10, 1000), "mfeat": (10, 500)}


# --- binary digits ---


@dataclass(frozen=True)
class BinaryHalves:
    """Left and right halves of binary digits: training rows and new rows."""

    views: Mapping[str, ViewMatrix]
    new: Mapping[str, NewViewMatrix]

    @classmethod
    def of(cls, cell: Cell) -> "BinaryHalves":
        """Draw digits, set pixels above half of the maximum to 1, and hold out a fifth of the rows."""
        images = reduced(cell, load("r-mnist", random_state=cell.seed))["image"].reshape(-1, _SIDE, _SIDE)
        bits = (images > images.max() / 2).astype(float)
        halves = (bits[:, :, : _SIDE // 2], bits[:, :, _SIDE // 2 :])
        columns = [half.reshape(len(bits), -1) for half in halves]
        parts = train_test_split(*columns, test_size=0.2, random_state=cell.seed)
        left, new_left, right, new_right = map(np.asarray, parts)
        return cls({"left": left, "right": right}, {"left": new_left, "right": new_right})

    def score(self, reconstructed: ViewMatrix, predicted: NewViewMatrix) -> Metrics:
        """Score probabilities of the training rows, and of the right half of new rows."""
        observed = np.hstack(list(self.views.values()))
        return {
            "reconstructed": log_loss(observed, reconstructed),
            "predicted": log_loss(self.new["right"], predicted),
        }


def binary_model(likelihood: str, cell: Cell) -> Metrics:
    """Fit both halves; reconstruct the training rows, and predict the right half of new rows."""
    halves = BinaryHalves.of(cell)
    est = fit_model(cell, halves.views, n_components=_COMPONENTS, max_iter=_STEPS, likelihood=likelihood)
    fitted, new = est.reconstruct(), est.predict({"left": halves.new["left"]}, target="right")
    # means of Gaussian views are not probabilities; those of Bernoulli views are, and only protected from rounding
    probabilities = clipped if likelihood == "gaussian" else partial(clipped, least=_ROUNDING)
    return halves.score(probabilities(np.hstack([fitted[name] for name in halves.views])), probabilities(new))


def pixel_means(cell: Cell) -> Metrics:
    """Predict the smoothed share of ones of every pixel (one pseudo-count of each value)."""
    halves = BinaryHalves.of(cell)
    shares = {name: (Y.sum(axis=0) + 1) / (len(Y) + 2) for name, Y in halves.views.items()}
    reconstructed = np.hstack([np.broadcast_to(shares[name], Y.shape) for name, Y in halves.views.items()])
    return halves.score(reconstructed, np.broadcast_to(shares["right"], halves.new["right"].shape))


# --- labels that are missing during fitting ---


def labelled_views(name: str, cell: Cell) -> tuple[dict[str, ViewMatrix], Codes]:
    """Return views and labels; the seed draws the rows of r-mnist."""
    data = reduced(cell, load(name, random_state=cell.seed) if name == "r-mnist" else load(name))
    assert data.labels is not None
    return {view: np.asarray(Y, dtype=float) for view, Y in data.items()}, data.labels


def split_labels(codes: Codes, seed: int) -> tuple[Int[np.ndarray, " R"], Int[np.ndarray, " K"]]:
    """Return the rows with known labels, and the fifth of the rows whose labels are removed for this seed."""
    return next(StratifiedKFold(5, shuffle=True, random_state=seed).split(codes[:, None], codes))


def label_scores(
    views: dict[str, ViewMatrix], codes: Codes, test: Int[np.ndarray, " K"], fit: Callable[[dict[str, Any]], Any]
) -> Metrics:
    """Fit all rows with the labels of the test rows missing, and return the accuracy on these labels.

    Args:
        views: views without the label.
        codes: class of every row.
        test: rows whose labels are missing.
        fit: returns the estimator fitted to views, one of which is "label".
    """
    label = codes.astype(float)
    label[test] = np.nan
    est = fit({**views, "label": label})
    train, classes = np.setdiff1d(np.arange(len(codes)), test), np.asarray(est.classes_["label"])
    reconstructed = np.asarray(est.reconstruct()["label"])[test]
    predicted = np.asarray(est.predict({name: Y[test] for name, Y in views.items()}, target="label"))
    neighbour = KNeighborsClassifier(1).fit(est.embedding_[train], codes[train]).predict(est.embedding_[test])
    probability = predicted[np.arange(len(test)), codes[test]]
    return {
        "predict": _accuracy(codes[test], classes[predicted.argmax(axis=1)]),
        "reconstruct": _accuracy(codes[test], classes[reconstructed.argmax(axis=1)]),
        "1-NN": _accuracy(codes[test], neighbour),
        "log density": float(np.log(np.maximum(probability, _LEAST_PROBABILITY)).mean()),
    }


def _accuracy(codes: Codes, predicted: Real[np.ndarray, " N"]) -> float:
    return float((codes == predicted).mean())


def label_model(name: str, n_components: int, cell: Cell) -> Metrics:
    """Remove the labels of a fifth of the rows, and fit NG-MVLVM."""
    views, codes = labelled_views(name, cell)
    kinds = {**dict.fromkeys(views, "gaussian"), "label": "categorical"}
    _, max_iter = LABEL_SETTINGS[name]
    fit = partial(fit_model, cell, n_components=n_components, max_iter=max_iter, likelihood=kinds)
    _, test = split_labels(codes, cell.seed)
    return label_scores(views, codes, test, fit)


def label_classifier(make: Callable[[int], Any], name: str, cell: Cell) -> Metrics:
    """Classify from the standardised columns of all views."""
    views, codes = labelled_views(name, cell)
    table, (train, test) = np.hstack(list(views.values())), split_labels(codes, cell.seed)
    classifier = make_pipeline(StandardScaler(), make(cell.seed)).fit(table[train], codes[train])
    return {"predict": _accuracy(codes[test], classifier.predict(table[test]))}


CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "logistic regression, raw": lambda seed: LogisticRegression(max_iter=1000),
    "1-NN, raw": lambda seed: KNeighborsClassifier(1),
    "random forest, raw": lambda seed: RandomForestClassifier(500, random_state=seed),
}


# --- proteins of single cells from their RNA ---


@dataclass(frozen=True)
class SingleCellCounts:
    """RNA and protein counts: training cells and new cells."""

    views: Mapping[str, ViewMatrix]
    new: Mapping[str, NewViewMatrix]

    @classmethod
    def of(cls, cell: Cell) -> "SingleCellCounts":
        """Hold out a fifth of the cells; columns that are constant in the training cells are excluded."""
        data = reduced(cell, load("citeseq-pbmc", views=["rna", "protein"], n_genes=_GENES))
        order = np.random.default_rng(cell.seed).permutation(len(data["protein"]))
        new, fitted = np.split(order, [len(order) // 5])
        counts = {name: np.asarray(Y, dtype=float) for name, Y in data.items()}
        varied = {name: Y[:, np.ptp(Y[fitted], axis=0) > 0] for name, Y in counts.items()}
        return cls({name: Y[fitted] for name, Y in varied.items()}, {name: Y[new] for name, Y in varied.items()})


def count_model(likelihood: str, cell: Cell) -> Metrics:
    """Fit the raw counts."""
    counts = SingleCellCounts.of(cell)
    est = fit_model(cell, counts.views, n_components=_COMPONENTS, max_iter=_STEPS, likelihood=likelihood)
    value = est.score(counts.new, target="protein")
    return {"log density": value, "as integers": value}


def logarithms(views: Mapping[str, ViewMatrix], typical_total: float | None) -> dict[str, ViewMatrix]:
    """Return log(1 + y) of both views, of RNA after scaling every cell to a typical total if one is given."""
    rna = views["rna"]
    if typical_total is not None:
        rna = rna * (typical_total / np.maximum(rna.sum(axis=1, keepdims=True), 1))
    return {"rna": np.log1p(rna), "protein": np.log1p(views["protein"])}


def log_model(equal_totals: bool, cell: Cell) -> Metrics:
    """Fit Gaussian views to logarithms; densities are those of the counts."""
    counts = SingleCellCounts.of(cell)
    typical = float(np.median(counts.views["rna"].sum(axis=1))) if equal_totals else None
    fitted, new = logarithms(counts.views, typical), logarithms(counts.new, typical)
    est = fit_model(cell, fitted, n_components=_COMPONENTS, max_iter=_STEPS)
    mean, std = est.predict({"rna": new["rna"]}, target="protein", return_std=True)
    # dz = dy / (1 + y), so p(y) = p(z) / (1 + y) and log p(y) = log p(z) - log(1 + y) = log p(z) - z
    density = mean_log_normal(new["protein"], mean, std) - float(new["protein"].mean())
    return {
        "log density": density, "as integers": mean_log_interval(counts.new["protein"], mean, std, logs=True)
    }  # fmt: skip


def fit_negative_binomial(y: Real[np.ndarray, " N"]) -> tuple[float, float]:
    """Return mean and dispersion r of the maximum-likelihood negative binomial; its mean is the sample mean."""
    mean = max(float(y.mean()), 0.5 / len(y))

    def loss(log_r: float) -> float:
        r = np.exp(log_r)
        return -nbinom.logpmf(y, r, r / (r + mean)).sum()

    found = minimize_scalar(loss, bounds=(-7, 10), method="bounded")
    return mean, float(np.exp(found.x))  # pyright: ignore[reportAttributeAccessIssue]


def without_latents(cell: Cell) -> Metrics:
    """Fit a distribution to every protein, the same for all cells."""
    counts, columns = SingleCellCounts.of(cell), []
    for train, test in zip(counts.views["protein"].T, counts.new["protein"].T, strict=True):
        mean, r = fit_negative_binomial(train)
        columns.append(nbinom.logpmf(test, r, r / (r + mean)))
    value = float(np.mean(columns))
    return {"log density": value, "as integers": value}


def _label_methods(name: str, more: int) -> dict[str, Callable[[Cell], Metrics]]:
    return {
        **{f"NG-MVLVM, {n} dimensions": partial(label_model, name, n) for n in (2, more)},
        **{classifier: partial(label_classifier, make, name) for classifier, make in CLASSIFIERS.items()},
    }


# Data set -> method -> function of a cell.
LIKELIHOOD_TASKS: Mapping[str, Mapping[str, Callable[[Cell], Metrics]]] = {
    **SYNTHETIC_TASKS,
    "binary-mnist": {
        "bernoulli": partial(binary_model, "bernoulli"),
        "gaussian": partial(binary_model, "gaussian"),
        "pixel means": pixel_means,
    },
    **{f"labels-{name}": _label_methods(name, more) for name, (more, _) in LABEL_SETTINGS.items()},
    **STRUCTURE_TASKS,
    "citeseq-pbmc": {
        "negative-binomial": partial(count_model, "negative-binomial"),
        "poisson": partial(count_model, "poisson"),
        GAUSSIAN_LOGS: partial(log_model, False),
        EQUAL_TOTALS: partial(log_model, True),
        WITHOUT_LATENTS: without_latents,
    },
}


def measure_likelihood(cell: Cell) -> Measurement:
    """Measure a cell of the study."""
    return Measurement(LIKELIHOOD_TASKS[cell.data][cell.method](cell))
