"""Linear factor models of several views: views are weighted sums of factors that all of them share, and noise."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mvlvm.baselines.abilities import PredictsViews
from mvlvm.baselines.base import Matrices, State


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


class AbstractFactorModel(PredictsViews):
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
