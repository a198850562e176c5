"""Bayesian Gaussian process latent variable models by GPy: of one matrix, and of several views."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from mvlvm import defaults
from mvlvm.baselines.base import State, temporary_numpy_seed, warn_not_converged
from mvlvm.baselines.mixins import ReconstructMixin
from mvlvm.baselines.validation import (
    Matrices,
    check_n_components,
    concatenate_views,
    max_rank,
    split_views,
    view_widths,
)
from mvlvm.checks import check_integer
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike

# GPy's examples take 10 to 40.
_N_INDUCING = 25
# What it says of its optimiser in the end.
_CONVERGED = "Converged"


class SparseGPMean(NamedTuple):
    """The mean of a sparse Gaussian process: a weighted sum of kernels about inducing places.

    Attributes:
        places: the inducing places.
        lengthscales: of the squared-exponential kernel, one per dimension.
        variance: of the kernel.
        weights: of the kernels about the places, for every column.
    """

    places: Float[np.ndarray, "I D"]
    lengthscales: Float[np.ndarray, " D"]
    variance: Float[np.ndarray, ""]
    weights: Float[np.ndarray, "I M"]

    def at(self, X: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K M"]:
        """Give the view at some latents."""
        squares = cdist(X / self.lengthscales, self.places / self.lengthscales, "sqeuclidean")
        return self.variance * np.exp(-squares / 2) @ self.weights


class AbstractGPyModel(ReconstructMixin):
    """A model by GPy, of which the latents and a surface per view are kept."""

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        n_inducing: int = _N_INDUCING,
        max_iter: int = 1000,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _make(self, GPy: Any, views: Matrices, n_inducing: int) -> Any:
        """Give the model before it is fitted."""

    @abstractmethod
    def _surfaces_of(self, model: Any, views: Matrices) -> dict[str, SparseGPMean]:
        """Give the surface of every view once it is."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        n_inducing = check_integer(self.n_inducing, "n_inducing", at_least=1)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        GPy = require("GPy", type(self).__name__, "baselines")
        n_rows = len(next(iter(views.values())))
        # it starts from principal components
        check_n_components(type(self).__name__, self.n_components, max_rank(np.hstack(list(views.values()))))
        with temporary_numpy_seed(seed):
            model = self._make(GPy, views, min(n_inducing, n_rows))
            model.optimize(messages=bool(self.verbose), max_iters=max_iter)
        run = model.optimization_runs[-1]
        if run.status != _CONVERGED:
            warn_not_converged(
                type(self).__name__, f"ended at max_iter={max_iter} or before, not converged: {run.status.lower()}"
            )
        self._surfaces = self._surfaces_of(model, views)
        return np.array(model.X.mean)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: surface.at(latents) for name, surface in self._surfaces.items()}

    def _state(self) -> State:
        return {
            f"{i}.{part}": values
            for i, surface in enumerate(self._surfaces.values())
            for part, values in surface._asdict().items()
        }

    def _restore(self, state: State) -> None:
        names = enumerate(self.view_names_)
        self._surfaces = {
            name: SparseGPMean(*(state[f"{i}.{part}"] for part in SparseGPMean._fields)) for i, name in names
        }


class BGPLVM(AbstractGPyModel):
    """Bayesian Gaussian process latent variable model of all views side by side, each of the same total variance.

    Every column is a Gaussian process of the latents, with one squared-exponential kernel for all; the latents are
    integrated out variationally, with inducing places. Views are rebuilt at the posterior means of the latents.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing places; no more than rows are used.
        max_iter: evaluations of the bound by L-BFGS at most; a `ConvergenceWarning` says if they were too few.
        random_state: of the start.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) posterior means of the latents.

    References:
        Titsias, Lawrence. Bayesian Gaussian process latent variable model. AISTATS 2010.
    """

    def _make(self, GPy: Any, views: Matrices, n_inducing: int) -> Any:
        return GPy.models.BayesianGPLVM(concatenate_views(views), self.n_components, num_inducing=n_inducing)

    def _surfaces_of(self, model: Any, views: Matrices) -> dict[str, SparseGPMean]:
        joined = _posterior_mean(model)
        parts = split_views(joined.weights, view_widths(views))
        return {name: joined._replace(weights=weights) for name, weights in parts.items()}


class MRD(AbstractGPyModel):
    """Manifold relevance determination: one latent for all views, of which every view uses the dimensions it needs.

    Every column is a Gaussian process of the latents, with a squared-exponential kernel per view, whose lengthscales
    say which dimensions matter to it; the latents are integrated out variationally, with inducing places. Views are
    rebuilt at the posterior means of the latents.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing places; no more than rows are used.
        max_iter: evaluations of the bound by L-BFGS at most; a `ConvergenceWarning` says if they were too few.
        random_state: of the start.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) posterior means of the latents.

    References:
        Damianou, Ek, Titsias, Lawrence. Manifold relevance determination. ICML 2012.
    """

    def _make(self, GPy: Any, views: Matrices, n_inducing: int) -> Any:
        return GPy.models.MRD(list(views.values()), self.n_components, num_inducing=n_inducing)

    def _surfaces_of(self, model: Any, views: Matrices) -> dict[str, SparseGPMean]:
        return {name: _posterior_mean(part) for name, part in zip(views, model.bgplvms, strict=True)}


def _posterior_mean(model: Any) -> SparseGPMean:
    kernel = model.kern
    places, lengthscales, variance = (np.array(values) for values in (model.Z, kernel.lengthscale, kernel.variance))
    return SparseGPMean(places, lengthscales, variance.reshape(()), np.array(model.posterior.woodbury_vector))
