"""Latent Dirichlet allocation: rows of counts as mixtures of topics.

Hierarchical Poisson factorisation: counts as sums of products of positive factors.
"""

from typing import NamedTuple

import numpy as np
import sklearn.decomposition
from jaxtyping import Float
from scipy.sparse import coo_array
from scipy.special import digamma

from mvlvm import defaults
from mvlvm.baselines.base import State, as_uint32_seed
from mvlvm.baselines.mixins import ReconstructMixin, TransformMixin
from mvlvm.baselines.validation import DataKind, Matrices, concatenate_counts, split_counts
from mvlvm.checks import check_integer, check_number
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike

# Shares of a row stand still when no Dirichlet parameter moves by more than this share of itself.
_TOLERANCE = 1e-6
_MAX_ITERATIONS = 1000


class LatentDirichlet(TransformMixin, ReconstructMixin):
    r"""Latent Dirichlet allocation of counts, those of all views side by side as they are.

    The counts of a row are drawn from a mixture of D topics; a topic is a distribution over columns. The latents are
    the expected shares of the topics, which sum to one in every row. A row is rebuilt as the counts to be expected of
    as many draws.

    Args:
        n_components: topics, D.
        max_iter: rounds over all rows.
        random_state: of the start.
        verbose: 1 prints the rounds.

    Attributes:
        embedding_: (N, D) the shares of the topics.

    References:
        Blei, Ng, Jordan. Latent Dirichlet allocation. JMLR 2003.
    """

    kind = DataKind.COUNTS

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        max_iter: int = 100,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        counts = concatenate_counts(views)
        model = sklearn.decomposition.LatentDirichletAllocation(
            self.n_components,
            max_iter=check_integer(self.max_iter, "max_iter", at_least=1),
            random_state=as_uint32_seed(seed),
            verbose=self.verbose,
        ).fit(counts)
        self._topics, self._prior = model.components_, float(model.doc_topic_prior_)
        self._totals = counts.sum(1)
        return self._place(views)

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return topic_proportions(concatenate_counts(views), self._topics, self._prior)

    def _rebuild(self, latents: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N _"]]:
        columns = self._topics / self._topics.sum(1, keepdims=True)
        return split_counts(self._totals[:, None] * (latents @ columns), self._widths)

    def _state(self) -> State:
        return {"topics": self._topics, "prior": np.array(self._prior), "totals": self._totals}

    def _restore(self, state: State) -> None:
        self._topics, self._prior, self._totals = state["topics"], float(state["prior"]), state["totals"]


def topic_proportions(
    counts: Float[np.ndarray, "K M"], topics: Float[np.ndarray, "D M"], prior: float
) -> Float[np.ndarray, "K D"]:
    r"""Give the expected shares of topics in rows, by their variational posterior Dirichlet(gamma).

    $$ \gamma_{nd} = a + \sum_m c_{nm} \frac{t_{nd} b_{dm}}{\sum_e t_{ne} b_{em}}, \qquad
       t = e^{\mathrm{E} \log \theta}, \; b = e^{\mathrm{E} \log \beta} $$

    is repeated until it stands still: eqs. 6 and 7 of the paper with smoothed topics.

    Args:
        counts: of rows.
        topics: Dirichlet parameters of the topics over columns.
        prior: Dirichlet parameter of the shares, a.
    """
    b = np.exp(_expected_log(topics))
    gamma = np.ones((len(counts), len(topics)))
    for _ in range(_MAX_ITERATIONS):
        t = np.exp(_expected_log(gamma))
        # a column that no topic can give has no counts to be shared out
        updated = prior + t * ((counts / np.maximum(t @ b, np.finfo(float).tiny)) @ b.T)
        moved, gamma = np.abs(updated - gamma) > _TOLERANCE * gamma, updated
        if not moved.any():
            break
    return gamma / gamma.sum(1, keepdims=True)


def _expected_log(concentration: Float[np.ndarray, "A B"]) -> Float[np.ndarray, "A B"]:
    """Give the expected logarithm of Dirichlet variables, one distribution per row."""
    return digamma(concentration) - digamma(concentration.sum(1, keepdims=True))


# hpfrec takes a seed of 31 bits, and 0 for no seed.
_N_SEEDS = 2**31 - 1
_CHECK_EVERY = 10
# Shape and rate of the activity of a row, a' and a'/b' of the paper, where hpfrec has them.
_ACTIVITY_SHAPE, _ACTIVITY_RATE = 0.3, 0.3
# The factors of a row stand still when they move by less than this share of their sum.


class GammaFactors(NamedTuple):
    """Gamma distributions of the factors of columns."""

    shape: Float[np.ndarray, "M D"]
    rate: Float[np.ndarray, "M D"]

    @property
    def mean(self) -> Float[np.ndarray, "M D"]:
        """What is expected of them."""
        return self.shape / self.rate


class HPF(TransformMixin, ReconstructMixin):
    r"""Hierarchical Poisson factorisation of counts, those of all views side by side as they are.

    A count is Poisson with mean $\theta_n^\top \beta_m$; rows have gamma factors $\theta_n$ with an activity of their
    own, columns gamma factors $\beta_m$ with a popularity. Variational inference by hpfrec starts from random factors,
    and the result depends on them: several seeds are worth a try. The latents are the expected factors of the rows; all
    rows, new ones too, are placed given the factors of the columns.

    Args:
        n_components: factors, D.
        shape: of the gamma priors of factors; below one, most are to be small.
        max_iter: rounds of coordinate ascent; all of them are taken.
        random_state: of the start.
        verbose: 1 prints the rounds.

    Attributes:
        embedding_: (N, D) the expected factors of the rows.

    References:
        Gopalan, Hofman, Blei. Scalable recommendation with hierarchical Poisson factorization. UAI 2015.
    """

    kind = DataKind.COUNTS

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
            check_every=min(_CHECK_EVERY, max_iter),
            random_seed=seed % _N_SEEDS + 1,
            ncores=1,
            use_float=False,
            verbose=bool(self.verbose),
            keep_data=False,
            produce_dicts=False,
            keep_all_objs=True,
        ).fit(coo_array(concatenate_counts(views)))
        self._columns, self._prior_shape = GammaFactors(model.Lambda_shp, model.Lambda_rte), shape
        return self._place(views)

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return expected_row_factors(concatenate_counts(views), self._columns, self._prior_shape)

    def _rebuild(self, latents: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N _"]]:
        return split_counts(latents @ self._columns.mean.T, self._widths)

    def _state(self) -> State:
        return self._columns._asdict() | {"prior_shape": np.array(self._prior_shape)}

    def _restore(self, state: State) -> None:
        self._columns = GammaFactors(state["shape"], state["rate"])
        self._prior_shape = float(state["prior_shape"])


def expected_row_factors(
    counts: Float[np.ndarray, "K M"], columns: GammaFactors, prior_shape: float
) -> Float[np.ndarray, "K D"]:
    r"""Give the expected factors of rows, by their variational posterior Gamma(g, h), with the columns as they are.

    $$ g_{nd} = a + \sum_m c_{nm} \frac{t_{nd} b_{md}}{\sum_e t_{ne} b_{me}}, \qquad
       h_{nd} = \frac{a' + D a}{a'/b' + \sum_e g_{ne} / h_{ne}} + \sum_m \mathrm{E} \beta_{md}, \qquad
       t = e^{\mathrm{E} \log \theta}, \; b = e^{\mathrm{E} \log \beta} $$

    is repeated until it stands still: figure 4 of the paper, for users.

    Args:
        counts: of rows.
        columns: the factors of columns.
        prior_shape: of the rows' factors, a.
    """
    b, total, D = np.exp(digamma(columns.shape)) / columns.rate, columns.mean.sum(0), columns.rate.shape[1]
    g, h = np.ones((len(counts), D)), np.ones((len(counts), D)) + total
    moving = np.arange(len(counts))
    for _ in range(_MAX_ITERATIONS):
        before, rate = g[moving], h[moving]
        t = np.exp(digamma(before)) / rate
        # a column that no factor can give has no counts to be shared out
        g[moving] = prior_shape + t * ((counts[moving] / np.maximum(t @ b.T, np.finfo(float).tiny)) @ b)
        activity = (_ACTIVITY_SHAPE + D * prior_shape) / (_ACTIVITY_RATE + (g[moving] / rate).sum(1, keepdims=True))
        h[moving] = activity + total
        moving = moving[np.abs(g[moving] - before).sum(1) > _TOLERANCE * before.sum(1)]
        if not len(moving):
            break
    return g / h
