"""Principal components."""

import numpy as np
import sklearn.decomposition
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.baselines.abilities import PlacesRows, RebuildsViews
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.global_draws import small_seed
from mvlvm.baselines.joining import apart, side_by_side
from mvlvm.baselines.sizes import check_components, most_directions
from mvlvm.randomness import RandomStateLike


class PCA(PlacesRows, RebuildsViews):
    """Principal component analysis of all views side by side, each standardised and of the same total variance.

    Args:
        n_components: latent dimensions, D; fewer than rows, and at most as many as columns.
        random_state: of the solver where data are large.

    Attributes:
        embedding_: (N, D) the scores.

    References:
        Jolliffe. Principal component analysis. Springer 2002.
    """

    def __init__(self, n_components: int = defaults.N_COMPONENTS, random_state: RandomStateLike = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        Y = side_by_side(views)
        check_components("PCA", self.n_components, most_directions(Y))
        model = sklearn.decomposition.PCA(self.n_components, random_state=small_seed(seed))
        scores = model.fit_transform(Y)
        self._directions = np.asarray(model.components_)
        return scores

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return side_by_side(views) @ self._directions.T

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return apart(latents @ self._directions, self._widths)

    def _state(self) -> State:
        return {"directions": self._directions}

    def _restore(self, state: State) -> None:
        self._directions = state["directions"]
