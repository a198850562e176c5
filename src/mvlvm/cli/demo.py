"""The demo: fits, a table and figures for two data sets that need no download."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from mvlvm.datasets import Dataset, load
from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.estimators import NGMVLVM
from mvlvm.evaluation import affine_r2, best_affine_map, nearest_neighbour_accuracy

# A fixed number of steps, so that run time and results are reproducible.
_STEPS = {"S-curve": 1000, "digits": 700}


@dataclass(frozen=True)
class DemoRow:
    """One row of the table of the demo.

    Attributes:
        data: data set.
        measure: name of the quality measure.
        ours: its value for the latents.
        pca: its value for two principal components.
        noise: view -> noise standard deviation.
        bound: evidence lower bound in nats.
        seconds: training time.
    """

    data: str
    measure: str
    ours: float
    pca: float
    noise: Mapping[str, float]
    bound: float
    seconds: float


@dataclass(frozen=True)
class DemoResult:
    """Table of the demo and the paths of its figures."""

    rows: list[DemoRow]
    figures: list[Path]


def run_demo(folder: Path, *, random_state: int = 0, steps: Mapping[str, int] = _STEPS, verbose: int = 1) -> DemoResult:
    """Fit both data sets and plot the results.

    Args:
        folder: folder for the figures.
        random_state: seed of data and fits.
        steps: data set -> number of training steps.
        verbose: 1 shows progress bars.

    Returns:
        The rows of the table and the paths of the figures.
    """
    kernels = {"view 1 (RBF)": "rbf", "view 2 (Gibbs)": "gibbs"}
    curve = load("s-curve", kernels=kernels, random_state=random_state)
    digits = load("digits-halves")
    on_curve, on_digits = (
        _fit(views, NGMVLVM(max_iter=steps[name], tol=0.0, random_state=random_state, verbose=verbose))
        for name, views in {"S-curve": curve.views, "digits": digits.views}.items()
    )
    rows = [
        _row(
            "S-curve", "latent R^2", on_curve,
            ours=affine_r2(curve.truth["latents"], on_curve.embedding_),
            pca=affine_r2(curve.truth["latents"], _principal_components(curve.views)),
        ),
        _row(
            "digits", "1-NN accuracy", on_digits,
            ours=_accuracy(digits, on_digits.embedding_),
            pca=_accuracy(digits, _principal_components(digits.views)),
        ),
    ]  # fmt: skip
    return DemoResult(rows, _draw(folder, curve, on_curve, digits, on_digits))


def _fit(views: Mapping[str, Float[np.ndarray, "N _"]], estimator: NGMVLVM) -> NGMVLVM:
    """Fit the estimator, and raise KeyboardInterrupt if the user interrupts it: the demo needs both fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViewWarning)  # constant pixels in the corners of the digits
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(views)
    if estimator.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    return estimator


def _row(data: str, measure: str, fitted: NGMVLVM, *, ours: float, pca: float) -> DemoRow:
    noise = {name: float(np.sqrt(variance)) for name, variance in fitted.noise_variance_.items()}
    return DemoRow(data, measure, ours, pca, noise, fitted.elbo_, seconds=float(fitted.history_["seconds"][-1]))


def _accuracy(data: Dataset, X: Float[np.ndarray, "N 2"]) -> float:
    assert data.labels is not None
    return nearest_neighbour_accuracy(X, data.labels)


def _draw(folder: Path, curve: Dataset, on_curve: NGMVLVM, digits: Dataset, on_digits: NGMVLVM) -> list[Path]:
    from mvlvm import plots

    assert digits.labels is not None
    truth = curve.truth
    learned_kernels = {name: on_curve.kernel_matrix(name) for name in curve.views}
    latents = {
        "true latents": truth["latents"],
        "PCA": best_affine_map(truth["latents"], _principal_components(curve.views)),
        "learned latents": best_affine_map(truth["latents"], on_curve.embedding_),
    }
    figures = {
        "s_curve_latents.png": plots.plot_latents_along_curve(latents, truth["angle"], "angle along the curve (rad)"),
        "s_curve_kernels.png": plots.plot_kernels(truth["kernels"], learned_kernels),
        "bounds.png": plots.plot_bounds({"S-curve": on_curve.history_, "digits": on_digits.history_}),
        "digits_latents.png": plots.plot_labelled_latents(
            on_digits.embedding_, on_digits.embedding_std_, digits.labels,
            title="Digits from their left and right halves (shade: one posterior standard deviation)",
        ),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    return [plots.write(figure, folder / name) for name, figure in figures.items()]


def _principal_components(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N 2"]:
    """Return two principal components of the concatenated views, each view scaled to unit norm (N x 2)."""
    centred = [StandardScaler(with_std=False).fit_transform(Y) for Y in views.values()]
    return PCA(2, random_state=0).fit_transform(np.hstack([Y / np.linalg.norm(Y) for Y in centred]))
