"""Random feature latent variable models fitted by Gibbs sampling: RFLVM and its multi-view variant MV-RFLVM."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import minimize

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, PredictMixin, ReconstructMixin, State, TransformMixin
from mvlvm.baselines.baseline_input import Matrices, concatenate_views, split_views
from mvlvm.baselines.rflvm.gibbs_sampler import features, gibbs_sweep, initial_sample, view_prior, weight_posterior
from mvlvm.checks import check_integer
from mvlvm.init.pca import pca_init
from mvlvm.randomness import RandomStateLike
from mvlvm.row_blocks import row_blocks
from mvlvm.training.progress import row_bar

# L-BFGS usually converges in a few dozen iterations; flat directions do not justify more.
_TRANSFORM_STEPS = 200


class ChainOptions(NamedTuple):
    """Sampling options: latent dimensions, spectral points per view, sweeps, sweeps to average, and verbosity."""

    n_components: int
    n_points: int
    max_iter: int
    n_samples: int
    verbose: int


class RandomFeatureView(NamedTuple):
    """The fitted model of a view.

    Attributes:
        points: spectral points of the last sample.
        weights: posterior means of the weights given these points and the averaged latents.
        noise_variance: average over the samples.
    """

    points: Float[np.ndarray, "P D"]
    weights: Float[np.ndarray, "F M"]
    noise_variance: Float[np.ndarray, ""]


def run_chain(
    Ys: Sequence[Float[np.ndarray, "N _"]], chain: ChainOptions, seed: int
) -> tuple[Float[np.ndarray, "N D"], list[RandomFeatureView]]:
    """Run the Gibbs sampler, initialised with the principal components.

    Args:
        Ys: centred and scaled views.
        chain: sampling options.
        seed: random seed.

    Returns:
        The averaged (N, D) latents, and the fitted model of every view.

    Raises:
        ValueError: a parameter is invalid.
        ViewError: the rank of the views is less than D.
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
    """Return the (N, D) mean of samples, each rotated to the last one, because the posterior is rotation invariant."""
    return np.mean([X @ orthogonal_procrustes(X, draws[-1])[0] for X in draws], axis=0)


def predict_view(X: Float[np.ndarray, "K D"], view: RandomFeatureView) -> Float[np.ndarray, "K M"]:
    """Return the (K, M) predictive mean of a view at latents."""
    return features(X, view.points) @ view.weights


def find_latents(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[RandomFeatureView], training: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "K D"]:
    """Return the (K, D) posterior modes of the latents of new rows; the fitted model does not change.

    L-BFGS is initialised at the most probable training latent.

    Args:
        Ys: new rows of any subset of the views.
        views: fitted models of these views.
        training: latents of the training rows.
    """
    objective = latent_objective(Ys, views)
    initial = training[_best_training_rows(Ys, views, training)]
    result = minimize(
        lambda flat: objective(flat.reshape(initial.shape)), initial.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": _TRANSFORM_STEPS},
    )  # fmt: skip
    return result.x.reshape(initial.shape)


def latent_objective(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[RandomFeatureView]
) -> Callable[[Float[np.ndarray, "K D"]], tuple[float, Float[np.ndarray, " K*D"]]]:
    """Return a function of X that computes -log p(X | Y, model), up to a constant, and its gradient, flattened."""

    def objective(X: Float[np.ndarray, "K D"]) -> tuple[float, Float[np.ndarray, " K*D"]]:
        value, gradient = (X**2).sum() / 2, X.copy()
        for Y, view in zip(Ys, views, strict=True):
            Phi = features(X, view.points)
            residual = Phi @ view.weights - Y
            value += (residual**2).sum() / (2 * view.noise_variance)
            d_cosines, d_sines = np.hsplit(residual @ view.weights.T / view.noise_variance, 2)
            cosines, sines = np.hsplit(Phi, 2)
            gradient += (d_sines * cosines - d_cosines * sines) @ view.points
        return float(value), gradient.ravel()

    return objective


def pack_views(views: Sequence[RandomFeatureView]) -> dict[str, np.ndarray]:
    """Return the fitted views as named arrays."""
    return {f"{part}.{i}": array for i, view in enumerate(views) for part, array in view._asdict().items()}


def unpack_views(arrays: dict[str, np.ndarray]) -> list[RandomFeatureView]:
    """Invert `pack_views`."""
    n_views = len(arrays) // len(RandomFeatureView._fields)
    return [RandomFeatureView(*(arrays[f"{part}.{i}"] for part in RandomFeatureView._fields)) for i in range(n_views)]


def _best_training_rows(
    Ys: Sequence[Float[np.ndarray, "K _"]], views: Sequence[RandomFeatureView], training: Float[np.ndarray, "N D"]
) -> np.ndarray:
    best = np.empty(len(Ys[0]), dtype=int)
    fits = [predict_view(training, view) for view in views]
    for rows in row_blocks(len(best), len(training)):
        log_density = -(training**2).sum(axis=1) / 2
        for Y, fit, view in zip(Ys, fits, views, strict=True):
            log_density = log_density + (Y[rows] @ fit.T - (fit**2).sum(axis=1) / 2) / view.noise_variance
        best[rows] = log_density.argmax(axis=1)
    return best


def _check_options(chain: ChainOptions) -> None:
    check_integer(chain.n_points, "n_points", at_least=1)
    check_integer(chain.max_iter, "max_iter", at_least=1)
    check_integer(chain.n_samples, "n_samples", at_least=1)
    if chain.n_samples > chain.max_iter:
        raise ValueError(
            f"n_samples, the number of averaged sweeps, must not exceed max_iter, the number of sweeps. "
            f"Got {chain.n_samples} and {chain.max_iter}. Lower n_samples or raise max_iter."
        )


def _no_progress(n_done: int) -> None:
    """Ignore the progress."""


# Measured on R-MNIST: docs/baselines.md.
_N_POINTS = 50
_MAX_ITER = 300
_N_SAMPLES = 100


class AbstractRandomFeatureLVM(ReconstructMixin, AbstractBaseline):
    """Base class of models fitted by Gibbs sampling; the subclasses document the parameters."""

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

    def _sample(
        self, Ys: Sequence[Float[np.ndarray, "N _"]], seed: int
    ) -> tuple[Float[np.ndarray, "N D"], list[RandomFeatureView]]:
        """Return the latents and the fitted model of every matrix."""
        chain = ChainOptions(self.n_components, self.n_points, self.max_iter, self.n_samples, self.verbose)
        return run_chain(Ys, chain, seed)


class RFLVM(TransformMixin, AbstractRandomFeatureLVM):
    r"""Random feature latent variable model with Gaussian noise, of the concatenated views.

    $$ x_n \sim N(0, I), \quad y_n \sim N(\beta^\top \phi(x_n), \sigma^2 I), \quad
       \phi(x) = P^{-1/2} [\cos W x, \sin W x], \quad \beta \sim N(0, I), $$

    where the rows of W are drawn from a Dirichlet process mixture of Gaussians, so that the kernel is learned. All
    variables are drawn by Gibbs sampling, initialised with the principal components: the labels of the mixture with its
    components integrated out, and W with the weights integrated out. Latents are drawn by elliptical slice sampling;
    the authors use gradient-based optimisation instead.

    Args:
        n_components: number of latent dimensions, D.
        n_points: number of spectral points P, the rows of W.
        max_iter: number of sweeps of the sampler.
        n_samples: number of final sweeps that are averaged.
        verbose: 1 shows a progress bar.
        random_state: random seed.

    Attributes:
        embedding_: (N, D) mean of the latents over these sweeps, each rotated to the last one.

    References:
        Gundersen, Zhang, Engelhardt. Latent variable modeling with random features. AISTATS 2021.
        Zhang, Gundersen, Engelhardt. Bayesian non-linear latent variable modeling via random Fourier features. 2023.
    """

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        embedding, (self._joined,) = self._sample([concatenate_views(views)], seed)
        return embedding

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return find_latents([concatenate_views(views)], [self._joined], self.embedding_)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return split_views(predict_view(latents, self._joined), self._widths)

    def _get_state(self) -> State:
        return pack_views([self._joined])

    def _set_state(self, state: State) -> None:
        (self._joined,) = unpack_views(state)


class MVRFLVM(PredictMixin, AbstractRandomFeatureLVM):
    r"""Random feature latent variable model of several views, which share only the latents.

    Every view v has separate spectral points, weights and noise variance:

    $$ x_n \sim N(0, I), \quad y^v_n \sim N(\beta_v^\top \phi_v(x_n), \sigma_v^2 I). $$

    Otherwise as `RFLVM`, to which it reduces for a single view.

    Args:
        n_components: number of latent dimensions, D.
        n_points: number of spectral points per view, P.
        max_iter: number of sweeps of the sampler.
        n_samples: number of final sweeps that are averaged.
        verbose: 1 shows a progress bar.
        random_state: random seed.

    Attributes:
        embedding_: (N, D) mean of the latents over these sweeps, each rotated to the last one.

    References:
        Gundersen, Zhang, Engelhardt. Latent variable modeling with random features. AISTATS 2021.
        Yang, Li, Lin, Zhang, Olmos. Multi-View Oriented GPLVM: Expressiveness and Efficiency. NeurIPS 2025: MV-RFLVM.
    """

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        embedding, fitted = self._sample(list(views.values()), seed)
        self._views = dict(zip(views, fitted, strict=True))
        return embedding

    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return find_latents(list(views.values()), [self._views[name] for name in views], self.embedding_)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: predict_view(latents, view) for name, view in self._views.items()}

    def _get_state(self) -> State:
        return pack_views(list(self._views.values()))

    def _set_state(self, state: State) -> None:
        self._views = dict(zip(self.view_names_, unpack_views(state), strict=True))
