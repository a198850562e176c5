"""The estimator interface of all baselines, and helpers for methods that wrap another library.

`AbstractBaseline` validates and scales the views, calls the method, and saves what it learned. Optional capabilities,
`transform`, `reconstruct` and `predict`, are mixins: a baseline inherits from the mixins of its capabilities and from
`AbstractBaseline`, in this order.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mvlvm.baselines import storage
from mvlvm.baselines.baseline_input import BaselineInput, DataKind, Matrices, validate_new_views, validate_views
from mvlvm.checks import check_integer
from mvlvm.errors import ConvergenceWarning, NumericalError, ViewError, warn
from mvlvm.randomness import RandomStateLike, seed_from

State = dict[str, np.ndarray]
# Not typing.Self: beartype, which checks shapes at run time in the tests, does not support it here.
Baseline = TypeVar("Baseline", bound="AbstractBaseline")

_RAISE_MAX_ITER = "Raise max_iter, or ignore this warning if the result is accurate enough."
# NumPy's global generator accepts 32-bit seeds.
_N_SEEDS = 2**32


class AbstractBaseline(TransformerMixin, BaseEstimator, ABC, auto_wrap_output_keys=None):
    """Base class of the methods that map the rows of one or several views to latents.

    A subclass declares the data it accepts, computes the latents in `_fit_latents`, and exposes its fitted state as
    named arrays, so that saved files contain no executable code.

    Attributes:
        kind: the kind of data that the views hold.
        takes_gaps: whether entries may be missing.
        needs_labels: whether `fit` requires `y`.
        fewest_views: the minimum number of views.
        embedding_: (N, D) latents of the training rows.
        view_names_: names of the views.
        n_features_in_: number of columns of a single view, or a dict view name -> number of columns.
    """

    kind: ClassVar[DataKind] = DataKind.NUMBERS
    takes_gaps: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    fewest_views: ClassVar[int] = 1

    n_components: int
    random_state: RandomStateLike

    @abstractmethod
    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        """Fit the method to validated views and return the (N, D) latents of the training rows.

        Args:
            views: view name -> matrix, centred and scaled or unchanged counts, depending on `kind`.
            labels: one label per row, if given.
            seed: seed of all random numbers.
        """

    @abstractmethod
    def _get_state(self) -> State:
        """Return the fitted state, apart from the embedding, as named arrays."""

    @abstractmethod
    def _set_state(self, state: State) -> None:
        """Restore the fitted state from the arrays that `_get_state` returned."""

    def fit(self: Baseline, views: Any, y: Any = None) -> Baseline:
        """Fit the method.

        Args:
            views: a matrix or DataFrame (one view), a list or dict of them, or a MuData. Row n of every view belongs
                to the same sample.
            y: class labels of the rows, for supervised methods; ignored by the others.

        Returns:
            The fitted estimator.

        Raises:
            ViewError: the views are invalid, or this method does not support them.
            ValueError: a parameter is invalid.
            NumericalError: the computation failed numerically.
            ModuleNotFoundError: an optional package is missing; the message says how to install it.
        """
        check_integer(self.n_components, "n_components", at_least=1)
        labels = self._check_labels(y)
        validated = validate_views(views, type(self).__name__, self.kind, allow_missing=self.takes_gaps)
        self._check_n_views(list(validated.widths))
        vars(self).pop("embedding_", None)  # if the fit fails, the estimator must not appear fitted
        self._set_views(validated)
        embedding = self._fit_latents(validated.matrices, labels, seed_from(self.random_state))
        self.embedding_ = self._check_embedding(embedding)
        return self

    def fit_transform(self, views: Any, y: Any = None) -> Float[np.ndarray, "N D"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fit the method and return the (N, D) latents of the training rows."""
        return self.fit(views, y).embedding_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted estimator to a file or into a folder; `mvlvm.load` reads it."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        storage.save(
            path, type(self).__name__, parameters, self._validated, {**self._get_state(), "embedding": self.embedding_}
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_gaps
        tags.input_tags.positive_only = self.kind is DataKind.COUNTS
        tags.target_tags.required = self.needs_labels
        return tags

    def restore(self, validated: BaselineInput, state: Mapping[str, np.ndarray]) -> None:
        """Restore the fitted state from the contents of a saved file."""
        arrays = dict(state)
        self.embedding_ = arrays.pop("embedding")
        self._set_views(validated)
        self._set_state(arrays)

    def __sklearn_is_fitted__(self) -> bool:
        return "embedding_" in vars(self)

    def _set_views(self, validated: BaselineInput) -> None:
        self._validated = validated.without_rows()
        # number of columns that vary, i.e. of the matrices passed to _fit_latents
        self._widths = {name: int(scaling.kept.sum()) for name, scaling in validated.scalings.items()}
        self.view_names_ = list(validated.widths)
        single = validated.layout.container.single
        self.n_features_in_ = next(iter(validated.widths.values())) if single else dict(validated.widths)

    def _validate_new(self, views: Any) -> dict[str, Float[np.ndarray, "K _"]]:
        """Validate new rows and return their matrices, scaled as in training."""
        check_is_fitted(self)
        return validate_new_views(views, self._validated, type(self).__name__, self.kind, allow_missing=self.takes_gaps)

    def _check_embedding(self, embedding: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Return a float64 copy of the latents, or raise an error if they are not finite."""
        if not np.isfinite(embedding).all():
            raise NumericalError(
                f"{type(self).__name__} failed numerically: not all latents are finite. Try another random_state, or "
                "a lower learning_rate if the method has one."
            )
        return np.array(embedding, dtype=np.float64, order="C")

    def _check_n_views(self, names: list[str]) -> None:
        if len(names) < self.fewest_views:
            raise ViewError(
                f"{type(self).__name__} needs at least {self.fewest_views} views. "
                f"Got {len(names)}: {', '.join(names)}. "
                "Pass a list or a dict of views, or use a single-view method such as PCA."
            )

    def _check_labels(self, y: Any) -> np.ndarray | None:
        if y is None and self.needs_labels:
            raise ValueError(
                f"{type(self).__name__} is supervised and needs y, one class label per row. Got None. "
                "Call fit(views, y), or use PCA, which is unsupervised."
            )
        return None if y is None else np.asarray(y)


def warn_not_converged(method: str, reason: str, advice: str = _RAISE_MAX_ITER) -> None:
    """Warn that a fit ended before convergence.

    Args:
        method: name of the method.
        reason: how the fit ended; it continues the sentence that starts with the name.
        advice: what the user can do.
    """
    warn(
        f"{method} {reason}. The current result is kept. {advice}",
        ConvergenceWarning,
    )


def as_uint32_seed(seed: int) -> int:
    """Reduce a seed of up to 63 bits to the 32 bits that every library accepts."""
    return seed % _N_SEEDS


@contextmanager
def temporary_numpy_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator within the context and restore its state afterwards."""
    before = np.random.get_state()
    np.random.seed(as_uint32_seed(seed))
    try:
        yield
    finally:
        np.random.set_state(before)


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
    _validated: BaselineInput

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
    _validated: BaselineInput
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
            names = ", ".join(map(repr, self.view_names_))
            raise ValueError(f"target must be one of the model's views, {names}. Got {target!r}.")
        matrices = self._validate_new(views)
        if target in matrices:
            raise ViewError(
                f"View '{target}' is the prediction target and must not be among the inputs. Remove it from the views."
            )
        predicted = self._reconstruct(np.asarray(self._transform_partial(matrices), dtype=np.float64))
        if target is None:
            return self._validated.restore_views(predicted)
        return self._validated.restore_view(target, predicted[target])
