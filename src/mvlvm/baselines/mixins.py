"""Optional capabilities of baselines: `transform`, `reconstruct` and `predict`.

A baseline inherits from the mixins of its capabilities and from `AbstractBaseline`, in this order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from mvlvm.baselines.validation import Matrices, ValidatedViews
from mvlvm.errors import ViewError


class TransformMixin(ABC):
    """Computes the latents of new rows from all views."""

    view_names_: list[str]
    _validate_new: Callable[[Any], dict[str, Any]]

    @abstractmethod
    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        """Return the latents of new rows, given views scaled as in `_fit_latents`."""

    def transform(self, views: Any) -> Float[np.ndarray, "K D"]:
        """Compute the latents of new rows; the fitted model does not change.

        Args:
            views: new rows of all training views.

        Returns:
            (K, D) latents.

        Raises:
            ViewError: the views do not match those of training.
        """
        matrices = self._validate_new(views)
        self._check_all_views(matrices)
        return np.asarray(self._transform(matrices), dtype=np.float64)

    def _check_all_views(self, matrices: Mapping[str, Any]) -> None:
        missing = [name for name in self.view_names_ if name not in matrices]
        if missing:
            raise ViewError(
                f"{type(self).__name__} needs all training views to transform rows. Missing: {', '.join(missing)}. "
                "Pass all views, or use a method that accepts a subset, such as NGMVLVM."
            )


class ReconstructMixin(ABC):
    """Reconstructs the views from latents."""

    embedding_: Float[np.ndarray, "N D"]
    _validated: ValidatedViews

    @abstractmethod
    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        """Return every view at the given latents, in the scaled units of `_fit_latents`."""

    def reconstruct(self) -> Any:
        """Reconstruct the training views, in their original container and units."""
        check_is_fitted(self)
        return self._validated.restore_views(self._reconstruct(self.embedding_), self._validated.layout.index)


class PredictMixin(ABC):
    """Computes the latents of new rows from any subset of the views, and predicts the other views.

    Requires `ReconstructMixin`.
    """

    view_names_: list[str]
    _validated: ValidatedViews
    _validate_new: Callable[[Any], dict[str, Any]]
    _reconstruct: Callable[[Any], dict[str, Any]]

    @abstractmethod
    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        """Return the latents of new rows, given any subset of the views."""

    def transform(self, views: Any) -> Float[np.ndarray, "K D"]:
        """Compute the (K, D) latents of new rows from any subset of the training views."""
        return np.asarray(self._transform_partial(self._validate_new(views)), dtype=np.float64)

    def predict(self, views: Any, *, target: str | None = None) -> Any:
        """Predict views of new rows from other views.

        Args:
            views: new rows of any subset of the training views.
            target: name of the view to predict, which must not be among `views`; None predicts every view.

        Returns:
            The predicted view, with K rows, or all views in the container of the training views.
        """
        check_is_fitted(self)
        if target is not None and target not in self.view_names_:
            raise ValueError(f"There is no view {target!r}. The views are: {', '.join(self.view_names_)}.")
        matrices = self._validate_new(views)
        if target in matrices:
            raise ViewError(
                f"View '{target}' is the prediction target and must not be among the inputs. Remove it from the views."
            )
        predicted = self._reconstruct(np.asarray(self._transform_partial(matrices), dtype=np.float64))
        if target is None:
            return self._validated.restore_views(predicted)
        return self._validated.restore_view(target, predicted[target])
