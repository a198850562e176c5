"""Group factor analysis."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mvlvm import defaults
from mvlvm.baselines.base import Matrices
from mvlvm.baselines.convergence import warn_unfinished
from mvlvm.baselines.global_draws import small_seed
from mvlvm.baselines.linear_factors import AbstractFactorModel, Loadings
from mvlvm.checks import check_integer, check_number
from mvlvm.errors import NumericalError
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike

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
            random_state=small_seed(seed),
        )
        _fit(model, views)
        if model.n_iter_ >= max_iter:
            warn_unfinished("GFA", f"took max_iter={max_iter} rounds, and factors did not stand still to tol={tol:g}")
        loadings = {}
        for i, (name, W) in enumerate(zip(views, model.weights_, strict=True)):
            noise_variance = np.mean(model.posterior_samples_[f"noise_sd_{i}"] ** 2, axis=0)
            loadings[name] = Loadings(W, np.zeros_like(W), 1 / noise_variance)
        return None, loadings


def _fit(model: Any, views: Matrices) -> None:
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
