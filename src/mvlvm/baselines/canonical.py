"""Canonical correlations of several views."""

import numpy as np
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.baselines.abilities import PredictsViews
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.sizes import check_components, most_common_directions
from mvlvm.checks import check_number
from mvlvm.optional_dependencies import require
from mvlvm.randomness import RandomStateLike


class MCCA(PredictsViews):
    r"""Multiset canonical correlation analysis: directions in at least two views whose scores vary together.

    $$ \max_w \sum_{i \neq j} w_i^\top Y_i^\top Y_j w_j \quad \text{subject to} \quad
       \sum_i w_i^\top \big((1 - c) Y_i^\top Y_i + c N I\big) w_i = 1 $$

    solved by cca-zoo. A row is placed at the mean of the scores of those views that are given; views are rebuilt from
    there by least squares.

    Args:
        n_components: latent dimensions, D; fewer than rows, and at most as many as the narrowest view has columns.
        shrinkage: c, from 0, canonical correlations, to 1, partial least squares. Where views have more columns than
            rows, 0 finds perfect correlations in anything.
        random_state: there for the common interface; nothing is drawn.

    Attributes:
        embedding_: (N, D) the scores, averaged over views.

    References:
        Kettenring. Canonical analysis of several sets of variables. Biometrika 1971.
    """

    fewest_views = 2

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        shrinkage: float = 0.0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.random_state = random_state

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        linear = require("cca_zoo.linear", "Canonical correlation analysis of several views", "baselines")
        check_components("MCCA", self.n_components, most_common_directions(views))
        shrinkage = check_number(self.shrinkage, "shrinkage", positive=False)
        model = linear.MCCA(self.n_components, shrinkage=shrinkage).fit(list(views.values()))
        self._directions = dict(zip(views, model.weights_, strict=True))
        scores = self._place_some(views)
        self._ways_back = {name: np.linalg.lstsq(scores, Y)[0] for name, Y in views.items()}
        return scores

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return np.mean([Y @ self._directions[name] for name, Y in views.items()], axis=0)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: latents @ way_back for name, way_back in self._ways_back.items()}

    def _state(self) -> State:
        state = {f"directions.{i}": directions for i, directions in enumerate(self._directions.values())}
        return state | {f"ways_back.{i}": way_back for i, way_back in enumerate(self._ways_back.values())}

    def _restore(self, state: State) -> None:
        names = dict(enumerate(self.view_names_))
        self._directions = {name: state[f"directions.{i}"] for i, name in names.items()}
        self._ways_back = {name: state[f"ways_back.{i}"] for i, name in names.items()}
