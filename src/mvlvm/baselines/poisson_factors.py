"""Hierarchical Poisson factorisation: counts as sums of products of positive factors."""

import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_array

from mvlvm import defaults
from mvlvm.baselines.abilities import RebuildsViews
from mvlvm.baselines.admitting import Kind
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.joining import counts_apart, counts_side_by_side
from mvlvm.checks import check_integer, check_number
from mvlvm.errors import NumericalError
from mvlvm.randomness import RandomStateLike
from mvlvm.views.optional import require

# hpfrec takes a seed of 31 bits, and 0 for no seed.
_SEEDS = 2**31 - 1
_ROUNDS_BETWEEN_CHECKS = 10


class HPF(RebuildsViews):
    r"""Hierarchical Poisson factorisation of counts, those of all views side by side as they are.

    A count is Poisson with mean $\theta_n^\top \beta_m$; rows have gamma factors $\theta_n$ with an activity of their
    own, columns gamma factors $\beta_m$ with a popularity. The latents are the expected factors of the rows.

    Args:
        n_components: factors, D.
        shape: of the gamma priors of factors; below one, most are to be small.
        max_iter: rounds of coordinate ascent.
        random_state: of the start.
        verbose: 1 prints the rounds.

    Attributes:
        embedding_: (N, D) the expected factors of the rows.

    References:
        Gopalan, Hofman, Blei. Scalable recommendation with hierarchical Poisson factorization. UAI 2015.
    """

    kind = Kind.COUNTS

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        shape: float = 0.3,
        max_iter: int = 100,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.shape = shape
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        hpfrec = require("hpfrec", "Hierarchical Poisson factorisation", "baselines")
        shape = check_number(self.shape, "shape", positive=True)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        # one core and double precision: the same seed is to give the same factors
        model = hpfrec.HPF(
            k=int(self.n_components),
            a=shape,
            c=shape,
            maxiter=max_iter,
            check_every=min(_ROUNDS_BETWEEN_CHECKS, max_iter),
            random_seed=seed % _SEEDS + 1,
            ncores=1,
            use_float=False,
            verbose=bool(self.verbose),
            keep_data=False,
            produce_dicts=False,
            keep_all_objs=False,
        ).fit(coo_array(counts_side_by_side(views)))
        if not np.isfinite(model.Theta).all():
            raise NumericalError("Hierarchical Poisson factorisation broke down. Take another random_state.")
        self._columns = {name: part.T for name, part in counts_apart(model.Beta.T, self._widths).items()}
        return model.Theta

    def _rebuild(self, latents: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N _"]]:
        return {name: latents @ factors.T for name, factors in self._columns.items()}

    def _state(self) -> State:
        return {f"columns.{i}": factors for i, factors in enumerate(self._columns.values())}

    def _restore(self, state: State) -> None:
        self._columns = {name: state[f"columns.{i}"] for i, name in enumerate(self.view_names_)}
