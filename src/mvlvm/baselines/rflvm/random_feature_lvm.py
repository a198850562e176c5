"""From draws of a chain to one set of latents, and from there to views and to new rows.

Latent variable models with random Fourier features, sampled: of one view, and of several.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import minimize

from mvlvm import defaults
from mvlvm.baselines.base import State
from mvlvm.baselines.mixins import PredictMixin, ReconstructMixin, TransformMixin
from mvlvm.baselines.rflvm.gibbs_sampler import features, gibbs_sweep, initial_sample, view_prior, weight_posterior
from mvlvm.baselines.validation import Matrices, concatenate_views, split_views
from mvlvm.checks import check_integer
from mvlvm.init.pca import pca_init
from mvlvm.randomness import RandomStateLike
from mvlvm.row_blocks import row_blocks
from mvlvm.training.progress import row_bar

# Placing a row is a matter of a few dozen steps; flat valleys are not worth more.
_TRANSFORM_STEPS = 200


class ChainOptions(NamedTuple):
    """Sampling options: latent dimensions, spectral points per view, sweeps, sweeps to average, and verbosity."""

    n_components: int
    n_points: int
    max_iter: int
    n_samples: int
    verbose: int


class RandomFeatureView(NamedTuple):
    """A view at the end of the chain.

    Attributes:
        points: the spectral points of the last draw.
        weights: their posterior means given those points and the averaged latents.
        noise_variance: its average over the draws.
    """

    points: Float[np.ndarray, "P D"]
    weights: Float[np.ndarray, "F M"]
    noise_variance: Float[np.ndarray, ""]


def run_chain(
    Ys: Sequence[Float[np.ndarray, "N _"]], chain: ChainOptions, seed: int
) -> tuple[Float[np.ndarray, "N D"], list[RandomFeatureView]]:
    """Run the chain from the principal components; give averaged latents, and the views at them.

    Args:
        Ys: centred and scaled views.
        chain: how to run_chain.
        seed: of all draws.

    Raises:
        ValueError: a parameter has a wrong value.
        ViewError: the views have fewer than D directions.
    """
    _check_options(chain)
    rng = np.random.default_rng(seed)
    X = pca_init([torch.from_numpy(Y) for Y in Ys], chain.n_components).numpy()
    prior = view_prior(chain.n_components)
    draws = [
        initial_sample(chain.n_points, chain.n_components, Y.shape[1], defaults.INITIAL_NOISE_VARIANCE, rng) for Y in Ys
    ]
    kept, noises = [], []
    with row_bar(chain.max_iter, "Sampling") if chain.verbose else nullcontext(_no_progress) as advance:
        for i in range(chain.max_iter):
            X, draws = gibbs_sweep(Ys, X, draws, prior, rng)
            if i >= chain.max_iter - chain.n_samples:
                kept.append(X)
                noises.append([draw.noise_variance for draw in draws])
            advance(1)
    X = aligned_mean(kept)
    fitted = []
    for Y, draw, noise_variance in zip(Ys, draws, np.mean(noises, axis=0), strict=True):
        weights, _ = weight_posterior(Y, features(X, draw.points), float(noise_variance))
        fitted.append(RandomFeatureView(draw.points, weights, np.array(noise_variance)))
    return X, fitted


def aligned_mean(draws: Sequence[Float[np.ndarray, "N D"]]) -> Float[np.ndarray, "N D"]:
    """Give the mean of draws, each turned to the last of them: the posterior is the same however it is turned."""
    return np.mean([X @ orthogonal_procrustes(X, draws[-1])[0] for X in draws], axis=0)


def predict_view(X: Float[np.ndarray, "K D"], view: RandomFeatureView) -> Float[np.ndarray, "K M"]:
    """Give a view at some latents."""
    return features(X, view.points) @ view.weights


def find_latents(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[RandomFeatureView], known: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "K D"]:
    """Give the most probable latents of new rows, with everything else as it is.

    The search starts at the most probable of the known latents and follows the gradient.

    Args:
        Ys: new rows of some views.
        views: those views.
        known: latents of the training rows.
    """
    objective = latent_objective(Ys, views)
    start = known[_best_training_rows(Ys, views, known)]
    found = minimize(
        lambda flat: objective(flat.reshape(start.shape)), start.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": _TRANSFORM_STEPS},
    )  # fmt: skip
    return found.x.reshape(start.shape)


def latent_objective(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[RandomFeatureView]
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


def pack_views(views: Sequence[RandomFeatureView]) -> dict[str, np.ndarray]:
    """Give fitted views as named arrays."""
    return {f"{part}.{i}": array for i, view in enumerate(views) for part, array in view._asdict().items()}


def unpack_views(arrays: dict[str, np.ndarray]) -> list[RandomFeatureView]:
    """Undo `pack_views`."""
    n_views = len(arrays) // len(RandomFeatureView._fields)
    return [RandomFeatureView(*(arrays[f"{part}.{i}"] for part in RandomFeatureView._fields)) for i in range(n_views)]


def _best_training_rows(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[RandomFeatureView], known: Float[np.ndarray, "N D"]
) -> np.ndarray:
    best = np.empty(len(Ys[0]), dtype=int)
    rebuilt = [predict_view(known, view) for view in views]
    for rows in row_blocks(len(best), len(known)):
        log_density = -(known**2).sum(axis=1) / 2
        for Y, fit, view in zip(Ys, rebuilt, views, strict=True):
            log_density = log_density + (Y[rows] @ fit.T - (fit**2).sum(axis=1) / 2) / view.noise_variance
        best[rows] = log_density.argmax(axis=1)
    return best


def _check_options(chain: ChainOptions) -> None:
    check_integer(chain.n_points, "n_points", at_least=1)
    check_integer(chain.max_iter, "max_iter", at_least=1)
    check_integer(chain.n_samples, "n_samples", at_least=1)
    if chain.n_samples > chain.max_iter:
        raise ValueError(
            f"n_samples, the sweeps that are averaged, must not exceed max_iter, all sweeps. Got {chain.n_samples} and "
            f"{chain.max_iter}. Give fewer samples or more sweeps."
        )


def _no_progress(n_done: int) -> None:
    """Show nothing."""


# Measured on R-MNIST: docs/baselines.md.
_N_POINTS = 50
_MAX_ITER = 300
_N_SAMPLES = 100


class AbstractRandomFeatureLVM(ReconstructMixin):
    """A model that is drawn by Gibbs sampling; a subclass documents the parameters."""

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        n_points: int = _N_POINTS,
        max_iter: int = _MAX_ITER,
        n_samples: int = _N_SAMPLES,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.n_points = n_points
        self.max_iter = max_iter
        self.n_samples = n_samples
        self.verbose = verbose
        self.random_state = random_state

    def _sampled(
        self, Ys: Sequence[Float[np.ndarray, "N _"]], seed: int
    ) -> tuple[Float[np.ndarray, "N D"], list[RandomFeatureView]]:
        """Give the latents, and what was learned of every matrix."""
        chain = ChainOptions(self.n_components, self.n_points, self.max_iter, self.n_samples, self.verbose)
        return run_chain(Ys, chain, seed)


class RFLVM(TransformMixin, AbstractRandomFeatureLVM):
    r"""Random feature latent variable model with Gaussian noise, of all views side by side.

    $$ x_n \sim N(0, I), \quad y_n \sim N(\beta^\top \phi(x_n), \sigma^2 I), \quad
       \phi(x) = P^{-1/2} [\cos W x, \sin W x], \quad \beta \sim N(0, I), $$

    where the rows of W come from a Dirichlet process mixture of Gaussians, so that the kernel is learned. All of it is
    drawn by Gibbs sampling, which starts from principal components. The labels of the mixture are drawn with its
    components integrated out, and W with the weights integrated out. Latents are drawn by elliptical slice sampling,
    where the authors follow their gradient.

    Args:
        n_components: latent dimensions, D.
        n_points: spectral points, P, rows of W.
        max_iter: sweeps of the sampler.
        n_samples: how many of the last sweeps are averaged.
        verbose: 1 shows progress.
        random_state: of all draws.

    Attributes:
        embedding_: (N, D) the mean of the latents over those sweeps, each turned to the last.

    References:
        Gundersen, Zhang, Engelhardt. Latent variable modeling with random features. AISTATS 2021.
        Zhang, Gundersen, Engelhardt. Bayesian non-linear latent variable modeling via random Fourier features. 2023.
    """

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        embedding, (self._joined,) = self._sampled([concatenate_views(views)], seed)
        return embedding

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return find_latents([concatenate_views(views)], [self._joined], self.embedding_)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return split_views(predict_view(latents, self._joined), self._widths)

    def _state(self) -> State:
        return pack_views([self._joined])

    def _restore(self, state: State) -> None:
        (self._joined,) = unpack_views(state)


class MVRFLVM(PredictMixin, AbstractRandomFeatureLVM):
    r"""Random feature latent variable model of several views, which share the latents and nothing else.

    Every view v has spectral points, weights and a noise variance of its own:

    $$ x_n \sim N(0, I), \quad y^v_n \sim N(\beta_v^\top \phi_v(x_n), \sigma_v^2 I). $$

    All else is as in `RFLVM`, which it is for one view.

    Args:
        n_components: latent dimensions, D.
        n_points: spectral points of every view, P.
        max_iter: sweeps of the sampler.
        n_samples: how many of the last sweeps are averaged.
        verbose: 1 shows progress.
        random_state: of all draws.

    Attributes:
        embedding_: (N, D) the mean of the latents over those sweeps, each turned to the last.

    References:
        Gundersen, Zhang, Engelhardt. Latent variable modeling with random features. AISTATS 2021.
        Yang, Li, Lin, Zhang, Olmos. Multi-View Oriented GPLVM: Expressiveness and Efficiency. NeurIPS 2025: MV-RFLVM.
    """

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        embedding, fitted = self._sampled(list(views.values()), seed)
        self._views = dict(zip(views, fitted, strict=True))
        return embedding

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return find_latents(list(views.values()), [self._views[name] for name in views], self.embedding_)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: predict_view(latents, view) for name, view in self._views.items()}

    def _state(self) -> State:
        return pack_views(list(self._views.values()))

    def _restore(self, state: State) -> None:
        self._views = dict(zip(self.view_names_, unpack_views(state), strict=True))
