"""Latent Dirichlet allocation: rows of counts as mixtures of topics."""

import numpy as np
import sklearn.decomposition
from jaxtyping import Float
from scipy.special import digamma

from mvlvm import defaults
from mvlvm.baselines.abilities import PlacesRows, RebuildsViews
from mvlvm.baselines.admitting import Kind
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.global_draws import small_seed
from mvlvm.baselines.joining import counts_apart, counts_side_by_side
from mvlvm.checks import check_integer
from mvlvm.randomness import RandomStateLike

# Shares of a row stand still when no Dirichlet parameter moves by more than this share of itself.
_STILL = 1e-6
_MOST_ROUNDS = 1000


class LatentDirichlet(PlacesRows, RebuildsViews):
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

    kind = Kind.COUNTS

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
        counts = counts_side_by_side(views)
        model = sklearn.decomposition.LatentDirichletAllocation(
            self.n_components,
            max_iter=check_integer(self.max_iter, "max_iter", at_least=1),
            random_state=small_seed(seed),
            verbose=self.verbose,
        ).fit(counts)
        self._topics, self._prior = model.components_, float(model.doc_topic_prior_)
        self._totals = counts.sum(1)
        return self._place(views)

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return topic_shares(counts_side_by_side(views), self._topics, self._prior)

    def _rebuild(self, latents: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N _"]]:
        columns = self._topics / self._topics.sum(1, keepdims=True)
        return counts_apart(self._totals[:, None] * (latents @ columns), self._widths)

    def _state(self) -> State:
        return {"topics": self._topics, "prior": np.array(self._prior), "totals": self._totals}

    def _restore(self, state: State) -> None:
        self._topics, self._prior, self._totals = state["topics"], float(state["prior"]), state["totals"]


def topic_shares(
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
    for _ in range(_MOST_ROUNDS):
        t = np.exp(_expected_log(gamma))
        # a column that no topic can give has no counts to be shared out
        updated = prior + t * ((counts / np.maximum(t @ b, np.finfo(float).tiny)) @ b.T)
        moved, gamma = np.abs(updated - gamma) > _STILL * gamma, updated
        if not moved.any():
            break
    return gamma / gamma.sum(1, keepdims=True)


def _expected_log(concentration: Float[np.ndarray, "A B"]) -> Float[np.ndarray, "A B"]:
    """Give the expected logarithm of Dirichlet variables, one distribution per row."""
    return digamma(concentration) - digamma(concentration.sum(1, keepdims=True))
