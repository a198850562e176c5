"""Proteins of new cells from their RNA, with count likelihoods and with Gaussian views of logarithms."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom

from discrete import mean_log_interval, mean_log_normal
from experiment import Effort, Experiment, Numbers
from mvlvm.datasets import load

Matrix = Float[np.ndarray, "N M"]

_NEW_CELLS, _GENES, _COMPONENTS = 100, 500, 10


@dataclass(frozen=True)
class CellCounts:
    """RNA and protein counts of cells: training cells and new cells."""

    views: Mapping[str, Matrix]
    new: Mapping[str, Matrix]

    @classmethod
    def of(cls, seed: int) -> "CellCounts":
        """Hold out cells; columns that are constant in the training cells are excluded."""
        data = load("citeseq-pbmc", views=["rna", "protein"], n_genes=_GENES)
        order = np.random.default_rng(seed).permutation(len(data["protein"]))
        new, fitted = order[:_NEW_CELLS], order[_NEW_CELLS:]
        counts = {name: np.asarray(Y, dtype=float) for name, Y in data.items()}
        varied = {name: Y[:, np.ptp(Y[fitted], axis=0) > 0] for name, Y in counts.items()}
        return cls({name: Y[fitted] for name, Y in varied.items()}, {name: Y[new] for name, Y in varied.items()})


def count_model(likelihood: str, seed: int, effort: Effort) -> Numbers:
    """Fit the raw counts."""
    cells = CellCounts.of(seed)
    est = effort.fit(cells.views, n_components=_COMPONENTS, max_iter=1000, likelihood=likelihood, seed=seed)
    value = est.score(cells.new, target="protein")
    return {"log density": value, "as integers": value}


def logarithms(views: Mapping[str, Matrix], typical_total: float | None) -> dict[str, Matrix]:
    """Return log(1 + y) of both views, of RNA after scaling every cell to a typical total if one is given."""
    rna = views["rna"]
    if typical_total is not None:
        rna = rna * (typical_total / np.maximum(rna.sum(axis=1, keepdims=True), 1))
    return {"rna": np.log1p(rna), "protein": np.log1p(views["protein"])}


def log_model(equal_totals: bool, seed: int, effort: Effort) -> Numbers:
    """Fit Gaussian views to logarithms; densities are those of the counts."""
    cells = CellCounts.of(seed)
    typical = float(np.median(cells.views["rna"].sum(axis=1))) if equal_totals else None
    fitted, new = logarithms(cells.views, typical), logarithms(cells.new, typical)
    est = effort.fit(fitted, n_components=_COMPONENTS, max_iter=1000, seed=seed)
    mean, std = est.predict({"rna": new["rna"]}, target="protein", return_std=True)
    # dz = dy / (1 + y), so p(y) = p(z) / (1 + y) and log p(y) = log p(z) - log(1 + y) = log p(z) - z
    density = mean_log_normal(new["protein"], mean, std) - float(new["protein"].mean())
    return {
        "log density": density, "as integers": mean_log_interval(cells.new["protein"], mean, std, logs=True)
    }  # fmt: skip


def fit_negative_binomial(y: Float[np.ndarray, " N"]) -> tuple[float, float]:
    """Return mean and dispersion r of the maximum-likelihood negative binomial; its mean is the sample mean."""
    mean = max(float(y.mean()), 0.5 / len(y))

    def loss(log_r: float) -> float:
        r = np.exp(log_r)
        return -nbinom.logpmf(y, r, r / (r + mean)).sum()

    return mean, float(np.exp(minimize_scalar(loss, bounds=(-7, 10), method="bounded").x))


def without_latents(seed: int, effort: Effort) -> Numbers:
    """Fit a distribution to every protein, the same for all cells."""
    cells, columns = CellCounts.of(seed), []
    for seen, hidden in zip(cells.views["protein"].T, cells.new["protein"].T, strict=True):
        mean, r = fit_negative_binomial(seen)
        columns.append(nbinom.logpmf(hidden, r, r / (r + mean)))
    value = float(np.mean(columns))
    return {"log density": value, "as integers": value}


EXPERIMENTS = (
    Experiment("citeseq-pbmc", {
        "negative-binomial": partial(count_model, "negative-binomial"),
        "poisson": partial(count_model, "poisson"),
        "gaussian on log(1 + y)": partial(log_model, False),
        "gaussian, RNA of equal totals": partial(log_model, True),
        "negative binomial without latents": without_latents,
    }),
)  # fmt: skip
