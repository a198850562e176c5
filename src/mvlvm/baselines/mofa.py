"""MOFA, multi-omics factor analysis."""

import contextlib
import io

import numpy as np
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.baselines.base import Matrices
from mvlvm.baselines.convergence import warn_unfinished
from mvlvm.baselines.global_draws import global_draws, small_seed
from mvlvm.baselines.linear_factors import AbstractFactorModel, Loadings
from mvlvm.baselines.sizes import check_components, most_directions
from mvlvm.checks import check_integer
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike


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
        check_components("MOFA", self.n_components, most_directions(np.hstack(list(views.values()))))
        entry_point = require("mofapy2.run.entry_point", "MOFA", "baselines")
        # It greets on standard output,
        listener = contextlib.nullcontext() if self.verbose else contextlib.redirect_stdout(io.StringIO())
        # and its bound takes the logarithm of shares that are 0, whose terms it then leaves out
        with listener, global_draws(seed), np.errstate(divide="ignore", invalid="ignore"):
            run = entry_point.entry_point()
            run.set_data_options(scale_views=False)
            run.set_data_matrix([[np.array(Y)] for Y in views.values()], views_names=list(views))
            run.set_model_options(factors=self.n_components)
            run.set_train_options(iter=max_iter, seed=small_seed(seed), quiet=not self.verbose)
            run.build()
            run.run()
        if len(run.model.getTrainingStats()["elbo"]) >= max_iter:  # it is cut where the bound is flat
            warn_unfinished("MOFA", f"took max_iter={max_iter} rounds, and its bound was not flat")
        nodes = run.model.nodes
        weights, precisions = nodes["W"].getExpectations(), nodes["Tau"].getExpectation()
        loadings = {
            # the precision of a column is repeated for every row
            name: Loadings(weight["E"], weight["E2"] - weight["E"] ** 2, precision[0])
            for name, weight, precision in zip(views, weights, precisions, strict=True)
        }
        return nodes["Z"].getExpectation(), loadings
