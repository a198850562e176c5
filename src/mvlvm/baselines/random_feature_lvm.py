"""Latent variable models with random Fourier features, sampled: of one view, and of several."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.baselines.abilities import PlacesRows, PredictsViews, RebuildsViews
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.joining import apart, side_by_side
from mvlvm.baselines.random_feature_fit import Chain, FittedView, pack, place, rebuild, sample, unpack
from mvlvm.randomness import RandomStateLike

# Measured on R-MNIST: docs/baselines.md.
_N_POINTS = 50
_MAX_ITER = 300
_N_SAMPLES = 100


class AbstractSampledLVM(RebuildsViews):
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
    ) -> tuple[Float[np.ndarray, "N D"], list[FittedView]]:
        """Give the latents, and what was learned of every matrix."""
        chain = Chain(self.n_components, self.n_points, self.max_iter, self.n_samples, self.verbose)
        return sample(Ys, chain, seed)


class RFLVM(PlacesRows, AbstractSampledLVM):
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
        embedding, (self._joined,) = self._sampled([side_by_side(views)], seed)
        return embedding

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return place([side_by_side(views)], [self._joined], self.embedding_)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return apart(rebuild(latents, self._joined), self._widths)

    def _state(self) -> State:
        return pack([self._joined])

    def _restore(self, state: State) -> None:
        (self._joined,) = unpack(state)


class MVRFLVM(PredictsViews, AbstractSampledLVM):
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
        return place(list(views.values()), [self._views[name] for name in views], self.embedding_)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: rebuild(latents, view) for name, view in self._views.items()}

    def _state(self) -> State:
        return pack(list(self._views.values()))

    def _restore(self, state: State) -> None:
        self._views = dict(zip(self.view_names_, unpack(state), strict=True))
