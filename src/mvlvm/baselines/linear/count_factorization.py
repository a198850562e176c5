"""Factorisations of counts: latent Dirichlet allocation and hierarchical Poisson factorisation."""

from typing import NamedTuple

import numpy as np
import sklearn.decomposition
from jaxtyping import Float
from scipy.sparse import coo_array
from scipy.special import digamma

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, ReconstructMixin, State, TransformMixin, as_uint32_seed
from mvlvm.baselines.baseline_input import DataKind, Matrices, concatenate_counts, split_counts
from mvlvm.checks import check_integer, check_number, require
from mvlvm.randomness import RandomStateLike

# The fixed-point iterations for new rows converge when the relative change falls below this tolerance.
_TOLERANCE = 1e-6
_MAX_ITERATIONS = 1000
# hpfrec accepts 31-bit seeds and treats 0 as "no seed".
_N_SEEDS = 2**31 - 1
_CHECK_EVERY = 10
# Shape a' and rate a'/b' of the row activity (notation of the paper), with the values that hpfrec uses.
_ACTIVITY_SHAPE, _ACTIVITY_RATE = 0.3, 0.3


class LatentDirichlet(TransformMixin, ReconstructMixin, AbstractBaseline):
    r"""Latent Dirichlet allocation of the concatenated counts of all views.

    The counts of a row are drawn from a mixture of D topics; a topic is a distribution over columns. The latents are
    the expected topic proportions, which sum to one in every row. A row is reconstructed as its expected counts given
    its total count.

    Args:
        n_components: number of topics, D.
        max_iter: number of passes over the rows.
        random_state: seed of the initialisation.
        verbose: 1 prints the iterations.

    Attributes:
        embedding_: (N, D) topic proportions.

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

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        counts = concatenate_counts(views)
        model = sklearn.decomposition.LatentDirichletAllocation(
            self.n_components,
            max_iter=check_integer(self.max_iter, "max_iter", at_least=1),
            random_state=as_uint32_seed(seed),
            verbose=self.verbose,
        ).fit(counts)
        self._topics, self._prior = model.components_, float(model.doc_topic_prior_)
        self._totals = counts.sum(1)
        return self._transform(views)

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return topic_proportions(concatenate_counts(views), self._topics, self._prior)

    def _reconstruct(self, latents: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N _"]]:
        distributions = self._topics / self._topics.sum(1, keepdims=True)
        return split_counts(self._totals[:, None] * (latents @ distributions), self._widths)

    def _get_state(self) -> State:
        return {"topics": self._topics, "prior": np.array(self._prior), "totals": self._totals}

    def _set_state(self, state: State) -> None:
        self._topics, self._prior, self._totals = state["topics"], float(state["prior"]), state["totals"]


def topic_proportions(
    counts: Float[np.ndarray, "K M"], topics: Float[np.ndarray, "D M"], prior: float
) -> Float[np.ndarray, "K D"]:
    r"""Return the (K, D) posterior means of the topic proportions under the variational Dirichlet(gamma).

    $$ \gamma_{nd} = a + \sum_m c_{nm} \frac{t_{nd} b_{dm}}{\sum_e t_{ne} b_{em}}, \qquad
       t = e^{\mathrm{E} \log \theta}, \; b = e^{\mathrm{E} \log \beta} $$

    is iterated to convergence: eqs. 6 and 7 of the paper with smoothed topics. scikit-learn's own version stops
    earlier, at a mean change of 1e-3.

    Args:
        counts: counts c of the rows.
        topics: Dirichlet parameters of the topics over columns.
        prior: Dirichlet parameter of the proportions, a.
    """
    b = np.exp(_expected_log(topics))
    gamma = np.ones((len(counts), len(topics)))
    for _ in range(_MAX_ITERATIONS):
        t = np.exp(_expected_log(gamma))
        # avoid 0 / 0 in columns that have no probability under any topic
        updated = prior + t * ((counts / np.maximum(t @ b, np.finfo(float).tiny)) @ b.T)
        changed, gamma = np.abs(updated - gamma) > _TOLERANCE * gamma, updated
        if not changed.any():
            break
    return gamma / gamma.sum(1, keepdims=True)


def _expected_log(concentration: Float[np.ndarray, "A B"]) -> Float[np.ndarray, "A B"]:
    """Return the expected logarithms of Dirichlet variables, one distribution per row."""
    return digamma(concentration) - digamma(concentration.sum(1, keepdims=True))


class GammaFactors(NamedTuple):
    """Gamma posteriors of the column factors."""

    shape: Float[np.ndarray, "M D"]
    rate: Float[np.ndarray, "M D"]

    @property
    def mean(self) -> Float[np.ndarray, "M D"]:
        """Posterior means."""
        return self.shape / self.rate


class HPF(TransformMixin, ReconstructMixin, AbstractBaseline):
    r"""Hierarchical Poisson factorisation of the concatenated counts of all views.

    A count is Poisson with mean $\theta_n^\top \beta_m$. The row factors $\theta_n$ are gamma variables with a
    row-specific activity, the column factors $\beta_m$ gamma variables with a column-specific popularity. The
    variational inference of hpfrec is initialised with random factors, and the result depends on them, so try several
    seeds. The latents of training and new rows are the expected row factors given the fitted column factors.

    Args:
        n_components: number of factors, D.
        shape: shape of the gamma priors of the factors; values below one favour sparse factors.
        max_iter: number of iterations of coordinate ascent.
        random_state: seed of the initialisation.
        verbose: 1 prints the iterations.

    Attributes:
        embedding_: (N, D) expected row factors.

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

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        hpfrec = require("hpfrec", "Hierarchical Poisson factorisation", "baselines")
        shape = check_number(self.shape, "shape", positive=True)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        # one core and double precision, so that results are reproducible
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
        return self._transform(views)

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return expected_row_factors(concatenate_counts(views), self._columns, self._prior_shape)

    def _reconstruct(self, latents: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N _"]]:
        return split_counts(latents @ self._columns.mean.T, self._widths)

    def _get_state(self) -> State:
        return self._columns._asdict() | {"prior_shape": np.array(self._prior_shape)}

    def _set_state(self, state: State) -> None:
        self._columns = GammaFactors(state["shape"], state["rate"])
        self._prior_shape = float(state["prior_shape"])


def expected_row_factors(
    counts: Float[np.ndarray, "K M"], columns: GammaFactors, prior_shape: float
) -> Float[np.ndarray, "K D"]:
    r"""Return the (K, D) posterior means of row factors under the variational Gamma(g, h), for fixed column factors.

    $$ g_{nd} = a + \sum_m c_{nm} \frac{t_{nd} b_{md}}{\sum_e t_{ne} b_{me}}, \qquad
       h_{nd} = \frac{a' + D a}{a'/b' + \sum_e g_{ne} / h_{ne}} + \sum_m \mathrm{E} \beta_{md}, \qquad
       t = e^{\mathrm{E} \log \theta}, \; b = e^{\mathrm{E} \log \beta} $$

    is iterated to convergence: the user updates of figure 4 of the paper.

    Args:
        counts: counts c of the rows.
        columns: posteriors of the column factors.
        prior_shape: shape of the prior of the row factors, a.
    """
    b, total, D = np.exp(digamma(columns.shape)) / columns.rate, columns.mean.sum(0), columns.rate.shape[1]
    g, h = np.ones((len(counts), D)), np.ones((len(counts), D)) + total
    active = np.arange(len(counts))
    for _ in range(_MAX_ITERATIONS):
        before, rate = g[active], h[active]
        t = np.exp(digamma(before)) / rate
        # avoid 0 / 0 in columns that have zero mean under all factors
        g[active] = prior_shape + t * ((counts[active] / np.maximum(t @ b.T, np.finfo(float).tiny)) @ b)
        activity = (_ACTIVITY_SHAPE + D * prior_shape) / (_ACTIVITY_RATE + (g[active] / rate).sum(1, keepdims=True))
        h[active] = activity + total
        active = active[np.abs(g[active] - before).sum(1) > _TOLERANCE * before.sum(1)]
        if not len(active):
            break
    return g / h
