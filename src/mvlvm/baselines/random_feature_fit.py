"""From draws of a chain to one set of latents, and from there to views and to new rows."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import minimize

from mvlvm import defaults
from mvlvm.baselines.random_feature_gibbs import features, first_draw, sweep, view_prior, weight_posterior
from mvlvm.checks import check_integer
from mvlvm.init.pca import pca_init
from mvlvm.row_blocks import row_blocks
from mvlvm.training.progress import row_bar

# Placing a row is a matter of a few dozen steps; flat valleys are not worth more.
_PLACING_STEPS = 200


class Chain(NamedTuple):
    """How to sample: latent dimensions, spectral points of a view, sweeps, how many of the last to keep, and a bar."""

    n_components: int
    n_points: int
    max_iter: int
    n_samples: int
    verbose: int


class FittedView(NamedTuple):
    """A view at the end of the chain.

    Attributes:
        points: the spectral points of the last draw.
        weights: their posterior means given those points and the averaged latents.
        noise_variance: its average over the draws.
    """

    points: Float[np.ndarray, "P D"]
    weights: Float[np.ndarray, "F M"]
    noise_variance: Float[np.ndarray, ""]


def sample(
    Ys: Sequence[Float[np.ndarray, "N _"]], chain: Chain, seed: int
) -> tuple[Float[np.ndarray, "N D"], list[FittedView]]:
    """Run the chain from the principal components; give averaged latents, and the views at them.

    Args:
        Ys: centred and scaled views.
        chain: how to sample.
        seed: of all draws.

    Raises:
        ValueError: a parameter has a wrong value.
        ViewError: the views have fewer than D directions.
    """
    _check(chain)
    rng = np.random.default_rng(seed)
    X = pca_init([torch.from_numpy(Y) for Y in Ys], chain.n_components).numpy()
    prior = view_prior(chain.n_components)
    draws = [
        first_draw(chain.n_points, chain.n_components, Y.shape[1], defaults.INITIAL_NOISE_VARIANCE, rng) for Y in Ys
    ]
    kept, noises = [], []
    with row_bar(chain.max_iter, "Sampling") if chain.verbose else nullcontext(_show_nothing) as advance:
        for i in range(chain.max_iter):
            X, draws = sweep(Ys, X, draws, prior, rng)
            if i >= chain.max_iter - chain.n_samples:
                kept.append(X)
                noises.append([draw.noise_variance for draw in draws])
            advance(1)
    X = aligned_mean(kept)
    fitted = []
    for Y, draw, noise_variance in zip(Ys, draws, np.mean(noises, axis=0), strict=True):
        weights, _ = weight_posterior(Y, features(X, draw.points), float(noise_variance))
        fitted.append(FittedView(draw.points, weights, np.array(noise_variance)))
    return X, fitted


def aligned_mean(draws: Sequence[Float[np.ndarray, "N D"]]) -> Float[np.ndarray, "N D"]:
    """Give the mean of draws, each turned to the last of them: the posterior is the same however it is turned."""
    return np.mean([X @ orthogonal_procrustes(X, draws[-1])[0] for X in draws], axis=0)


def rebuild(X: Float[np.ndarray, "K D"], view: FittedView) -> Float[np.ndarray, "K M"]:
    """Give a view at some latents."""
    return features(X, view.points) @ view.weights


def place(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[FittedView], known: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "K D"]:
    """Give the most probable latents of new rows, with everything else as it is.

    The search starts at the most probable of the known latents and follows the gradient.

    Args:
        Ys: new rows of some views.
        views: those views.
        known: latents of the training rows.
    """
    objective = row_objective(Ys, views)
    start = known[_best_known(Ys, views, known)]
    found = minimize(
        lambda flat: objective(flat.reshape(start.shape)), start.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": _PLACING_STEPS},
    )  # fmt: skip
    return found.x.reshape(start.shape)


def row_objective(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[FittedView]
) -> Callable[[Float[np.ndarray, "K D"]], tuple[float, Float[np.ndarray, " K*D"]]]:
    """Give what computes -log p(X | Y, all else), up to a constant, and its slopes, row after row."""

    def objective(X: Float[np.ndarray, "K D"]) -> tuple[float, Float[np.ndarray, " K*D"]]:
        value, slopes = (X**2).sum() / 2, X.copy()
        for Y, view in zip(Ys, views, strict=True):
            Phi = features(X, view.points)
            residual = Phi @ view.weights - Y
            value += (residual**2).sum() / (2 * view.noise_variance)
            of_cosines, of_sines = np.hsplit(residual @ view.weights.T / view.noise_variance, 2)
            cosines, sines = np.hsplit(Phi, 2)
            slopes += (of_sines * cosines - of_cosines * sines) @ view.points
        return float(value), slopes.ravel()

    return objective


def pack(views: Sequence[FittedView]) -> dict[str, np.ndarray]:
    """Give fitted views as named arrays."""
    return {f"{part}.{i}": array for i, view in enumerate(views) for part, array in view._asdict().items()}


def unpack(arrays: dict[str, np.ndarray]) -> list[FittedView]:
    """Undo `pack`."""
    n_views = len(arrays) // len(FittedView._fields)
    return [FittedView(*(arrays[f"{part}.{i}"] for part in FittedView._fields)) for i in range(n_views)]


def _best_known(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[FittedView], known: Float[np.ndarray, "N D"]
) -> np.ndarray:
    best = np.empty(len(Ys[0]), dtype=int)
    rebuilt = [rebuild(known, view) for view in views]
    for rows in row_blocks(len(best), len(known)):
        log_density = -(known**2).sum(axis=1) / 2
        for Y, fit, view in zip(Ys, rebuilt, views, strict=True):
            log_density = log_density + (Y[rows] @ fit.T - (fit**2).sum(axis=1) / 2) / view.noise_variance
        best[rows] = log_density.argmax(axis=1)
    return best


def _check(chain: Chain) -> None:
    check_integer(chain.n_points, "n_points", at_least=1)
    check_integer(chain.max_iter, "max_iter", at_least=1)
    check_integer(chain.n_samples, "n_samples", at_least=1)
    if chain.n_samples > chain.max_iter:
        raise ValueError(
            f"n_samples, the sweeps that are averaged, must not exceed max_iter, all sweeps. Got {chain.n_samples} and "
            f"{chain.max_iter}. Give fewer samples or more sweeps."
        )


def _show_nothing(n_done: int) -> None:
    """Show nothing."""
