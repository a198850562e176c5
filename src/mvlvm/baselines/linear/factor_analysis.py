"""Linear factor models of several views: views are weighted sums of factors that all of them share, and noise.

MOFA, multi-omics factor analysis.

Group factor analysis.
"""

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
from mvlvm.baselines.base import State, as_uint32_seed, temporary_numpy_seed, warn_not_converged
from mvlvm.baselines.mixins import PredictMixin
from mvlvm.baselines.validation import Matrices, check_n_components, max_rank
from mvlvm.checks import check_integer, check_number
from mvlvm.errors import NumericalError
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike


class Loadings(NamedTuple):
    """How a view comes of the factors: y = W x + noise.

    Attributes:
        weights: expected weights, W.
        variances: of the weights; zeros where they are taken for known.
        precision: of the noise of every column.
    """

    weights: Float[np.ndarray, "M D"]
    variances: Float[np.ndarray, "M D"]
    precision: Float[np.ndarray, " M"]


class AbstractFactorModel(PredictMixin):
    """A factor model by any library; what is done with its weights is done here."""

    @abstractmethod
    def _factorise(self, views: Matrices, seed: int) -> tuple[Float[np.ndarray, "N D"] | None, dict[str, Loadings]]:
        """Give factors and loadings; None for the factors' posterior given the loadings."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        factors, self._loadings = self._factorise(views, seed)
        return self._place_some(views) if factors is None else factors

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return expected_factors(views, self._loadings)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: latents @ loadings.weights.T for name, loadings in self._loadings.items()}

    def _state(self) -> State:
        return {
            f"{i}.{part}": values
            for i, loadings in enumerate(self._loadings.values())
            for part, values in loadings._asdict().items()
        }

    def _restore(self, state: State) -> None:
        self._loadings = {
            name: Loadings(*(state[f"{i}.{part}"] for part in Loadings._fields))
            for i, name in enumerate(self.view_names_)
        }


def expected_factors(views: Matrices, loadings: Mapping[str, Loadings]) -> Float[np.ndarray, "K D"]:
    r"""Give the posterior means of factors given what was seen of their rows, with x ~ N(0, I).

    $$ \Big(I + \sum_m \tau_m \mathrm{E}[w_m w_m^\top]\Big)^{-1} \sum_m \tau_m \, \mathrm{E}[w_m] \, y_{nm} $$

    with sums over the columns m of all views that were seen of row n. A row of which nothing was seen is at 0.

    Args:
        views: any of the views; NaN is missing.
        loadings: view name -> loadings.
    """
    K, D = len(next(iter(views.values()))), next(iter(loadings.values())).weights.shape[1]
    precision, information = np.tile(np.eye(D), (K, 1, 1)), np.zeros((K, D))
    for name, Y in views.items():
        W, variances, tau = loadings[name]
        # E[w w'] = W W' on and off the diagonal, and the variance on it
        second_moments = W[:, :, None] * W[:, None, :] + variances[:, :, None] * np.eye(D)
        precision += np.tensordot(np.where(np.isnan(Y), 0.0, tau), second_moments, axes=1)
        information += (np.nan_to_num(Y) * tau) @ W
    return np.linalg.solve(precision, information[:, :, None])[:, :, 0]


class MOFA(AbstractFactorModel):
    r"""Multi-omics factor analysis: Bayesian factors of several views, with weights that are sparse per view.

    $y_{nm} \sim N(w_m^\top x_n, 1/\tau_m)$ with $x_n \sim N(0, I)$; a weight is zero or normal (spike and slab), and
    every factor has a precision of its own in every view, so that a view can do without it. Variational inference by
    mofapy2. Entries and whole views of rows may be missing. New rows are placed at the posterior mean of their factors
    given the weights and the noise that were learned, which is Gaussian and in closed form; predictions are W x there.

    Args:
        n_components: factors, D.
        max_iter: rounds of coordinate ascent at most; it ends when the bound is flat. If it is not by then, a
            `ConvergenceWarning` says so.
        random_state: of the start.
        verbose: 1 prints what mofapy2 has to say.

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

    def _factorise(self, views: Matrices, seed: int) -> tuple[Float[np.ndarray, "N D"], dict[str, Loadings]]:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        # it starts from principal components
        check_n_components("MOFA", self.n_components, max_rank(np.hstack(list(views.values()))))
        entry_point = require("mofapy2.run.entry_point", "MOFA", "baselines")
        # It greets on standard output,
        listener = contextlib.nullcontext() if self.verbose else contextlib.redirect_stdout(io.StringIO())
        # and its bound takes the logarithm of shares that are 0, whose terms it then leaves out
        with listener, temporary_numpy_seed(seed), np.errstate(divide="ignore", invalid="ignore"):
            run = entry_point.entry_point()
            run.set_data_options(scale_views=False)
            run.set_data_matrix([[np.array(Y)] for Y in views.values()], views_names=list(views))
            run.set_model_options(factors=self.n_components)
            run.set_train_options(iter=max_iter, seed=as_uint32_seed(seed), quiet=not self.verbose)
            run.build()
            run.run()
        if len(run.model.getTrainingStats()["elbo"]) >= max_iter:  # it is cut where the bound is flat
            warn_not_converged("MOFA", f"took max_iter={max_iter} rounds, and its bound was not flat")
        nodes = run.model.nodes
        weights, precisions = nodes["W"].getExpectations(), nodes["Tau"].getExpectation()
        loadings = {
            # the precision of a column is repeated for every row
            name: Loadings(weight["E"], weight["E2"] - weight["E"] ** 2, precision[0])
            for name, weight, precision in zip(views, weights, precisions, strict=True)
        }
        return nodes["Z"].getExpectation(), loadings


# Draws of the noise over which cca-zoo's answer is averaged: its posterior is as narrow as the data are many.
_N_DRAWS = 100


class GFA(AbstractFactorModel):
    r"""Group factor analysis: Bayesian factors of at least two views, each switched on or off per view.

    $y_n \sim N(W x_n, I/\tau)$ with $x_n \sim N(0, I)$ in every view; every factor has a precision of its own in every
    view, so that a view can do without it. Variational inference by cca-zoo. All rows, new ones too, are placed at the
    posterior mean of their factors given the weights and the noise that were learned. A factor that no view uses stays,
    close to zero.

    Args:
        n_components: factors, D.
        max_iter: rounds of coordinate ascent at most.
        tol: relative change of the factors below which they stand still; they must do so for 1000 rounds. If they do
            not within `max_iter`, a `ConvergenceWarning` says so.
        random_state: of the start.

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

    def _factorise(self, views: Matrices, seed: int) -> tuple[None, dict[str, Loadings]]:
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
            warn_not_converged(
                "GFA", f"took max_iter={max_iter} rounds, and factors did not stand still to tol={tol:g}"
            )
        loadings = {}
        for i, (name, W) in enumerate(zip(views, model.weights_, strict=True)):
            noise_variance = np.mean(model.posterior_samples_[f"noise_sd_{i}"] ** 2, axis=0)
            loadings[name] = Loadings(W, np.zeros_like(W), 1 / noise_variance)
        return None, loadings


def _fit_gfa(model: Any, views: Matrices) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is said in our own words, as our own warning
        try:
            model.fit(list(views.values()))
        except np.linalg.LinAlgError as error:
            raise NumericalError(
                f"Group factor analysis broke down: {error}. A view that {model.n_components} factors explain without "
                "any noise, such as one of classes, does that. Give fewer n_components, leave the view out, or take "
                "MOFA or NGMVLVM."
            ) from error
