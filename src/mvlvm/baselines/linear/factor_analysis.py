"""Factor analysis of several views: every view is a linear function of shared factors plus noise (MOFA, GFA)."""

import contextlib
import io
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning

from mvlvm import defaults
from mvlvm.baselines.base import (
    AbstractBaseline,
    PredictMixin,
    ReconstructMixin,
    State,
    as_uint32_seed,
    temporary_numpy_seed,
    warn_not_converged,
)
from mvlvm.baselines.baseline_input import Matrices, check_n_components, max_rank
from mvlvm.checks import check_integer, check_number, require
from mvlvm.errors import NumericalError
from mvlvm.randomness import RandomStateLike

# Posterior samples over which cca-zoo's noise variance is averaged; the posterior is narrow for data of usual size.
_N_DRAWS = 100


class Loadings(NamedTuple):
    """The linear model of a view, y = W x + noise.

    Attributes:
        weights: posterior means of the weights, W.
        variances: posterior variances of the weights; zeros for point estimates.
        precision: noise precision of every column.
    """

    weights: Float[np.ndarray, "M D"]
    variances: Float[np.ndarray, "M D"]
    precision: Float[np.ndarray, " M"]


class AbstractFactorModel(PredictMixin, ReconstructMixin, AbstractBaseline):
    """Base class of factor models; a subclass calls a library to fit the loadings."""

    @abstractmethod
    def _fit_loadings(self, views: Matrices, seed: int) -> tuple[Float[np.ndarray, "N D"] | None, dict[str, Loadings]]:
        """Return factors and loadings; factors of None are replaced by their posterior means given the loadings."""

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        factors, self._loadings = self._fit_loadings(views, seed)
        return self._transform_partial(views) if factors is None else factors

    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return expected_factors(views, self._loadings)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: latents @ loadings.weights.T for name, loadings in self._loadings.items()}

    def _get_state(self) -> State:
        return {
            f"{i}.{part}": values
            for i, loadings in enumerate(self._loadings.values())
            for part, values in loadings._asdict().items()
        }

    def _set_state(self, state: State) -> None:
        self._loadings = {
            name: Loadings(*(state[f"{i}.{part}"] for part in Loadings._fields))
            for i, name in enumerate(self.view_names_)
        }


def expected_factors(views: Matrices, loadings: Mapping[str, Loadings]) -> Float[np.ndarray, "K D"]:
    r"""Return the (K, D) posterior means of the factors given the observed entries, with prior x ~ N(0, I).

    $$ \Big(I + \sum_m \tau_m \mathrm{E}[w_m w_m^\top]\Big)^{-1} \sum_m \tau_m \, \mathrm{E}[w_m] \, y_{nm} $$

    The sums run over the observed columns m of row n in all views. A row without observed entries has mean 0.

    Args:
        views: any subset of the views; NaN marks missing entries.
        loadings: view name -> loadings.
    """
    K, D = len(next(iter(views.values()))), next(iter(loadings.values())).weights.shape[1]
    precision, information = np.tile(np.eye(D), (K, 1, 1)), np.zeros((K, D))
    for name, Y in views.items():
        W, variances, tau = loadings[name]
        # E[w w'] = E[w] E[w]' + diag(variances)
        second_moments = W[:, :, None] * W[:, None, :] + variances[:, :, None] * np.eye(D)
        precision += np.tensordot(np.where(np.isnan(Y), 0.0, tau), second_moments, axes=1)
        information += (np.nan_to_num(Y) * tau) @ W
    return np.linalg.solve(precision, information[:, :, None])[:, :, 0]


class MOFA(AbstractFactorModel):
    r"""Multi-omics factor analysis: Bayesian factor analysis of several views with sparse weights per view.

    $y_{nm} \sim N(w_m^\top x_n, 1/\tau_m)$ with $x_n \sim N(0, I)$. The weights have a spike-and-slab prior, and every
    factor has a separate precision in every view, so that it can be inactive in a view. Variational inference by
    mofapy2. Entries and whole views of rows may be missing. The latent of a new row is the posterior mean of its
    factors given the fitted weights and noise, which is available in closed form; predictions are W x.

    Args:
        n_components: number of factors, D.
        max_iter: maximum number of iterations of coordinate ascent; the fit ends when the ELBO has converged. A
            `ConvergenceWarning` is issued if it has not.
        random_state: seed of the initialisation.
        verbose: 1 prints the messages of mofapy2.

    Attributes:
        embedding_: (N, D) posterior means of the factors.

    References:
        Argelaguet et al. MOFA+: a statistical framework for comprehensive integration of multi-modal single-cell data.
        Genome Biology 2020.
    """

    takes_gaps = True

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        max_iter: int = 1000,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _fit_loadings(self, views: Matrices, seed: int) -> tuple[Float[np.ndarray, "N D"], dict[str, Loadings]]:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        # mofapy2 is initialised with principal components
        check_n_components("MOFA", self.n_components, max_rank(np.hstack(list(views.values()))))
        entry_point = require("mofapy2.run.entry_point", "MOFA", "baselines")
        # mofapy2 prints a banner,
        output = contextlib.nullcontext() if self.verbose else contextlib.redirect_stdout(io.StringIO())
        # and its ELBO takes logarithms of zero probabilities, whose terms it then drops
        with output, temporary_numpy_seed(seed), np.errstate(divide="ignore", invalid="ignore"):
            run = entry_point.entry_point()
            run.set_data_options(scale_views=False)
            run.set_data_matrix([[np.array(Y)] for Y in views.values()], views_names=list(views))
            run.set_model_options(factors=self.n_components)
            run.set_train_options(iter=max_iter, seed=as_uint32_seed(seed), quiet=not self.verbose)
            run.build()
            run.run()
        if len(run.model.getTrainingStats()["elbo"]) >= max_iter:  # shorter if the ELBO has converged
            warn_not_converged("MOFA", f"reached max_iter={max_iter} before its ELBO converged")
        nodes = run.model.nodes
        weights, precisions = nodes["W"].getExpectations(), nodes["Tau"].getExpectation()
        loadings = {
            # the precision of a column is repeated for every row
            name: Loadings(weight["E"], weight["E2"] - weight["E"] ** 2, precision[0])
            for name, weight, precision in zip(views, weights, precisions, strict=True)
        }
        return nodes["Z"].getExpectation(), loadings


class GFA(AbstractFactorModel):
    r"""Group factor analysis: Bayesian factor analysis of two or more views with view-specific relevance of factors.

    $y_n \sim N(W x_n, I/\tau)$ with $x_n \sim N(0, I)$ in every view. Every factor has a separate precision in every
    view, so that it can be inactive in a view. Variational inference by cca-zoo. The latents of training and new rows
    are the posterior means of the factors given the fitted weights and noise. Factors that are inactive in all views
    are kept and stay close to zero.

    Args:
        n_components: number of factors, D.
        max_iter: maximum number of iterations of coordinate ascent.
        tol: relative change of the factors below which they count as converged; it must hold for 1000 iterations. A
            `ConvergenceWarning` is issued if this does not happen within `max_iter`.
        random_state: seed of the initialisation.

    Attributes:
        embedding_: (N, D) posterior means of the factors.

    References:
        Klami, Virtanen, Leppäaho, Kaski. Group factor analysis. IEEE TNNLS 2015.
    """

    fewest_views = 2

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        max_iter: int = 10_000,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit_loadings(self, views: Matrices, seed: int) -> tuple[None, dict[str, Loadings]]:
        probabilistic = require("cca_zoo.probabilistic", "Group factor analysis", "baselines")
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        tol = check_number(self.tol, "tol", positive=True)
        model = probabilistic.GFA(
            self.n_components,
            max_iter=max_iter,
            tol=tol,
            drop_k=False,
            n_posterior_samples=_N_DRAWS,
            random_state=as_uint32_seed(seed),
        )
        _fit_gfa(model, views)
        if model.n_iter_ >= max_iter:
            warn_not_converged("GFA", f"reached max_iter={max_iter} before its factors converged to tol={tol:g}")
        loadings = {}
        for i, (name, W) in enumerate(zip(views, model.weights_, strict=True)):
            noise_variance = np.mean(model.posterior_samples_[f"noise_sd_{i}"] ** 2, axis=0)
            loadings[name] = Loadings(W, np.zeros_like(W), 1 / noise_variance)
        return None, loadings


def _fit_gfa(model: Any, views: Matrices) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # replaced by mvlvm's warning
        try:
            model.fit(list(views.values()))
        except np.linalg.LinAlgError as error:
            raise NumericalError(
                f"Group factor analysis failed numerically: {error}. A view that {model.n_components} factors explain "
                "without noise, such as a categorical view, can cause this. Lower n_components, leave the view out, "
                "or use MOFA or NGMVLVM."
            ) from error
