"""What some baselines can do and others cannot: place new rows, rebuild their views, predict one view from others."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from mvlvm.baselines.base import AbstractBaseline
from mvlvm.baselines.validation import Matrices
from mvlvm.errors import ViewError


class TransformMixin(AbstractBaseline):
    """Can place new rows among the training rows."""

    @abstractmethod
    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        """Give the latents of new rows, whose views are as `_learn` got its own."""

    def transform(self, views: Any) -> Float[np.ndarray, "K D"]:
        """Place new rows, with everything else as it is.

        Args:
            views: the views of training, with as many rows as you like.

        Raises:
            ViewError: the views are not those of training.
        """
        matrices = self._new_matrices(views)
        self._check_all_there(matrices)
        return np.asarray(self._place(matrices), dtype=np.float64)

    def _check_all_there(self, matrices: Mapping[str, Any]) -> None:
        missing = [name for name in self.view_names_ if name not in matrices]
        if missing:
            raise ViewError(
                f"{type(self).__name__} places rows by all of its views. Got none of {', '.join(missing)}. "
                "Give them, or take a method that can do without, such as NGMVLVM."
            )


class ReconstructMixin(AbstractBaseline):
    """Can go back from latents to views."""

    @abstractmethod
    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        """Give every view at some latents, in the units of `_learn`'s views."""

    def reconstruct(self) -> Any:
        """Give the training views as the method sees them, in the form and the units in which they came."""
        check_is_fitted(self)
        return self._admitted.given_back(self._rebuild(self.embedding_), self._admitted.layout.index)


class PredictMixin(ReconstructMixin):
    """Can place rows of which only some views are there, and so predict the others."""

    @abstractmethod
    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        """Give the latents of new rows from any of the views."""

    def transform(self, views: Any) -> Float[np.ndarray, "K D"]:
        """Place new rows, of which any of the training views may be given."""
        return np.asarray(self._place_some(self._new_matrices(views)), dtype=np.float64)

    def predict(self, views: Any, *, target: str | None = None) -> Any:
        """Predict a view of new rows from other views of them.

        Args:
            views: any of the training views.
            target: the view to predict, which must not be among them; None gives every view.
        """
        check_is_fitted(self)
        if target is not None and target not in self.view_names_:
            raise ValueError(f"There is no view {target!r}. The views are: {', '.join(self.view_names_)}.")
        matrices = self._new_matrices(views)
        if target in matrices:
            raise ViewError(f"View '{target}' is to be predicted and must not be given. Leave it out of the views.")
        rebuilt = self._rebuild(np.asarray(self._place_some(matrices), dtype=np.float64))
        if target is None:
            return self._admitted.given_back(rebuilt)
        return self._admitted.table(target, rebuilt[target])
