"""Bayesian GPLVMs of GPy: BGPLVM of the concatenated views, and manifold relevance determination (MRD)."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, ReconstructMixin, State, temporary_numpy_seed, warn_not_converged
from mvlvm.baselines.baseline_input import (
    Matrices,
    check_n_components,
    concatenate_views,
    max_rank,
    split_views,
    view_widths,
)
from mvlvm.checks import check_integer, require
from mvlvm.randomness import RandomStateLike

# GPy's examples use 10 to 40.
_N_INDUCING = 25
# Status that GPy reports for a converged optimiser.
_CONVERGED = "Converged"
# Status of `_interruptible_optimizer`.
_INTERRUPTED = "Interrupted"

# The negative ELBO and its gradient at a vector of parameters.
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class SparseGPMean(NamedTuple):
    """The posterior mean of a sparse Gaussian process: a weighted sum of kernels centred at inducing points.

    The field names are keys of saved files.

    Attributes:
        places: inducing points.
        lengthscales: lengthscales of the squared exponential kernel, one per dimension.
        variance: kernel variance.
        weights: weights of the inducing points for every column.
    """

    places: Float[np.ndarray, "I D"]
    lengthscales: Float[np.ndarray, " D"]
    variance: Float[np.ndarray, ""]
    weights: Float[np.ndarray, "I M"]

    def evaluate(self, X: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K M"]:
        """Return the (K, M) posterior mean at latents."""
        squares = cdist(X / self.lengthscales, self.places / self.lengthscales, "sqeuclidean")
        return self.variance * np.exp(-squares / 2) @ self.weights


class AbstractGPyModel(ReconstructMixin, AbstractBaseline):
    """Base class: fits a GPy model, and stores the latents and the posterior mean of every view."""

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
        """Return the untrained model."""

    @abstractmethod
    def _posterior_means(self, model: Any, views: Matrices) -> dict[str, SparseGPMean]:
        """Return the posterior mean function of every view of the fitted model."""

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        n_inducing = check_integer(self.n_inducing, "n_inducing", at_least=1)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        GPy = require("GPy", type(self).__name__, "baselines")
        n_rows = len(next(iter(views.values())))
        # GPy initialises the latents with principal components
        check_n_components(type(self).__name__, self.n_components, max_rank(np.hstack(list(views.values()))))
        with temporary_numpy_seed(seed):
            model = self._make(GPy, views, min(n_inducing, n_rows))
            optimizer = _interruptible_optimizer(max_iter)
            model.optimize(optimizer, messages=bool(self.verbose), max_iters=max_iter)
        self._warn_of(optimizer)
        self._means = self._posterior_means(model, views)
        return np.array(model.X.mean)

    def _warn_of(self, optimizer: Any) -> None:
        """Warn if the optimiser did not converge."""
        if optimizer.status == _INTERRUPTED:
            reason = f"was interrupted after {optimizer.funct_eval} of {self.max_iter} evaluations of the ELBO"
            warn_not_converged(type(self).__name__, reason, "Call fit again to train to the end.")
        elif optimizer.status != _CONVERGED:
            reason = f"did not converge within max_iter={self.max_iter}: {optimizer.status.lower()}"
            warn_not_converged(type(self).__name__, reason)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: mean.evaluate(latents) for name, mean in self._means.items()}

    def _get_state(self) -> State:
        return {
            f"{i}.{part}": values
            for i, mean in enumerate(self._means.values())
            for part, values in mean._asdict().items()
        }

    def _set_state(self, state: State) -> None:
        names = enumerate(self.view_names_)
        self._means = {
            name: SparseGPMean(*(state[f"{i}.{part}"] for part in SparseGPMean._fields)) for i, name in names
        }


class BGPLVM(AbstractGPyModel):
    """Bayesian Gaussian process latent variable model of the concatenated views, scaled to equal total variance.

    Every column is a Gaussian process of the latents with a common squared exponential kernel. The latents are
    integrated out variationally, with inducing points. Views are reconstructed at the posterior means of the latents.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points; at most the number of rows is used.
        max_iter: maximum number of ELBO evaluations by L-BFGS; a `ConvergenceWarning` is issued if they are too few.
        random_state: seed of the initialisation.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) posterior means of the latents.

    References:
        Titsias, Lawrence. Bayesian Gaussian process latent variable model. AISTATS 2010.
    """

    def _make(self, GPy: Any, views: Matrices, n_inducing: int) -> Any:
        return GPy.models.BayesianGPLVM(concatenate_views(views), self.n_components, num_inducing=n_inducing)

    def _posterior_means(self, model: Any, views: Matrices) -> dict[str, SparseGPMean]:
        joined = _posterior_mean(model)
        parts = split_views(joined.weights, view_widths(views))
        return {name: joined._replace(weights=weights) for name, weights in parts.items()}


class MRD(AbstractGPyModel):
    """Manifold relevance determination: one latent for all views, with view-specific relevance of its dimensions.

    Every column is a Gaussian process of the latents with a squared exponential kernel per view, whose lengthscales
    determine the relevance of the dimensions. The latents are integrated out variationally, with inducing points. Views
    are reconstructed at the posterior means of the latents.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points; at most the number of rows is used.
        max_iter: maximum number of ELBO evaluations by L-BFGS; a `ConvergenceWarning` is issued if they are too few.
        random_state: seed of the initialisation.
        verbose: 1 prints progress.

    Attributes:
        embedding_: (N, D) posterior means of the latents.

    References:
        Damianou, Ek, Titsias, Lawrence. Manifold relevance determination. ICML 2012.
    """

    def _make(self, GPy: Any, views: Matrices, n_inducing: int) -> Any:
        return GPy.models.MRD(list(views.values()), self.n_components, num_inducing=n_inducing)

    def _posterior_means(self, model: Any, views: Matrices) -> dict[str, SparseGPMean]:
        return {name: _posterior_mean(part) for name, part in zip(views, model.bgplvms, strict=True)}


def _posterior_mean(model: Any) -> SparseGPMean:
    kernel = model.kern
    inducing_points, lengthscales, variance = (
        np.array(values) for values in (model.Z, kernel.lengthscale, kernel.variance)
    )
    return SparseGPMean(inducing_points, lengthscales, variance.reshape(()), np.array(model.posterior.woodbury_vector))


def _interruptible_optimizer(max_iter: int) -> Any:
    """Return GPy's L-BFGS optimiser, which on KeyboardInterrupt ends with the best parameters so far.

    An interrupt may leave a GPy model partly updated. `Model.optimize` sets the parameters that its optimiser returns,
    which makes the model consistent again.
    """
    optimization = require("paramz.optimization.optimization", "GPy's optimiser", "baselines")

    class InterruptibleLBFGS(optimization.opt_lbfgsb):
        def opt(self, x_init: np.ndarray, f_fp: Objective, f: Any = None, fp: Any = None) -> None:
            self.x_opt, self.f_opt, self.funct_eval = np.array(x_init), np.inf, 0

            def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
                value, gradient = f_fp(x)
                self.funct_eval += 1
                if value < self.f_opt:
                    self.x_opt, self.f_opt = np.array(x), value
                return value, gradient

            try:
                super().opt(x_init, f_fp=evaluate, f=f, fp=fp)
            except KeyboardInterrupt:
                self.status = _INTERRUPTED

    return InterruptibleLBFGS(max_iters=max_iter)
