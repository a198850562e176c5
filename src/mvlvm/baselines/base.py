"""What all baselines share: views in, checked and scaled; latents out; saved and read back.

What users are told of a fit that ended before it was done.

Libraries that draw from NumPy's global generator, without a trace of it afterwards.
"""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mvlvm.baselines import storage
from mvlvm.baselines.validation import DataKind, Matrices, ValidatedViews, validate_new_views, validate_views
from mvlvm.checks import check_integer
from mvlvm.errors import ConvergenceWarning, NumericalError, ViewError
from mvlvm.randomness import RandomStateLike, seed_from

State = dict[str, np.ndarray]
# typing.Self would do, were it not for the run-time shape checks, which cannot read it.
Baseline = TypeVar("Baseline", bound="AbstractBaseline")


class AbstractBaseline(TransformerMixin, BaseEstimator, ABC, auto_wrap_output_keys=None):
    """A method that turns rows of one or several views into latents.

    A subclass says what it takes, learns latents in `_learn`, and keeps what it learned as arrays, so that any of them
    can be saved without being executed when it is read. What else it can do it says by the classes it is made of:
    `baselines/mixins.py`.

    Attributes:
        kind: what its views hold.
        takes_gaps: whether entries may be missing.
        needs_labels: whether `fit` must be given `y`.
        fewest_views: how many views there must be.
        embedding_: (N, D) the latents of the training rows.
        view_names_: the views' names.
        n_features_in_: columns of the view, or view name -> columns.
    """

    kind: ClassVar[DataKind] = DataKind.NUMBERS
    takes_gaps: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    fewest_views: ClassVar[int] = 1

    n_components: int
    random_state: RandomStateLike

    @abstractmethod
    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        """Learn from admitted views; give the latents of their rows.

        Args:
            views: view name -> matrix, as `kind` says: centred and scaled numbers, or counts as they are.
            labels: one per row, where they were given.
            seed: of all draws.
        """

    @abstractmethod
    def _state(self) -> State:
        """Give what was learned, as named arrays, besides the embedding."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Take over what `_state` gave."""

    def fit(self: Baseline, views: Any, y: Any = None) -> Baseline:
        """Learn the latents.

        Args:
            views: a matrix or DataFrame (one view), a list or dict of them, or a MuData, with the same samples in
                their rows.
            y: the class of every row, for methods that learn from classes; others ignore it.

        Raises:
            ViewError: the views cannot be used, or not by this method.
            ValueError: a parameter has a wrong value.
            NumericalError: the computation broke down.
            ModuleNotFoundError: a package is missing; the message says how to install it.
        """
        check_integer(self.n_components, "n_components", at_least=1)
        labels = self._check_labels(y)
        admitted = validate_views(views, type(self).__name__, self.kind, takes_gaps=self.takes_gaps)
        self._check_views_are_enough(list(admitted.widths))
        vars(self).pop("embedding_", None)  # a fit that fails leaves nothing that looks fitted
        self._adopt(admitted)
        embedding = self._learn(admitted.matrices, labels, seed_from(self.random_state))
        self.embedding_ = self._checked(embedding)
        return self

    def fit_transform(self, views: Any, y: Any = None) -> Float[np.ndarray, "N D"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fit, and give the latents."""
        return self.fit(views, y).embedding_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted method to one file, or into a folder; `mvlvm.load` reads it."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        storage.save(
            path, type(self).__name__, parameters, self._admitted, {**self._state(), "embedding": self.embedding_}
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_gaps
        tags.input_tags.positive_only = self.kind is DataKind.COUNTS
        tags.target_tags.required = self.needs_labels
        return tags

    def restore(self, admitted: ValidatedViews, state: Mapping[str, np.ndarray]) -> None:
        """Become what was saved."""
        kept = dict(state)
        self.embedding_ = kept.pop("embedding")
        self._adopt(admitted)
        self._restore(kept)

    def __sklearn_is_fitted__(self) -> bool:
        return "embedding_" in vars(self)

    @property
    def _widths(self) -> dict[str, int]:
        """View name -> columns, as `_learn` gets them."""
        return {name: int(scaling.kept.sum()) for name, scaling in self._admitted.scalings.items()}

    def _adopt(self, admitted: ValidatedViews) -> None:
        self._admitted = admitted.without_rows()
        self.view_names_ = list(admitted.widths)
        single = admitted.layout.container.single
        self.n_features_in_ = next(iter(admitted.widths.values())) if single else dict(admitted.widths)

    def _new_matrices(self, views: Any) -> dict[str, Float[np.ndarray, "K _"]]:
        """Check new rows, and give them as `_learn` got its own."""
        check_is_fitted(self)
        return validate_new_views(views, self._admitted, type(self).__name__, self.kind, takes_gaps=self.takes_gaps)

    def _checked(self, embedding: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Give latents that are the user's own to change, or say that there are none."""
        if not np.isfinite(embedding).all():
            raise NumericalError(
                f"{type(self).__name__} broke down: not all latents are finite. Take another random_state, or a lower "
                "learning_rate where there is one."
            )
        return np.array(embedding, dtype=np.float64, order="C")

    def _check_views_are_enough(self, names: list[str]) -> None:
        if len(names) < self.fewest_views:
            raise ViewError(
                f"{type(self).__name__} needs at least {self.fewest_views} views. "
                f"Got {len(names)}: {', '.join(names)}. "
                "Give a list or a dict of views, or take a method of one view, such as PCA."
            )

    def _check_labels(self, y: Any) -> np.ndarray | None:
        if y is None and self.needs_labels:
            raise ValueError(
                f"{type(self).__name__} learns from classes and needs y, one class per row. Got None. "
                "Give fit(views, y), or take PCA, which needs none."
            )
        return None if y is None else np.asarray(y)


# What lies between a user's line and the warning: fit, _learn, and what they call.
_STACK_LEVEL = 5
_RAISE_MAX_ITER = "Raise max_iter, or ignore this if that many are what you want."


def warn_not_converged(method: str, happened: str, advice: str = _RAISE_MAX_ITER) -> None:
    """Say that a fit ended too early.

    Args:
        method: its name.
        happened: how it ended, in words that follow the name.
        advice: what to do.
    """
    warnings.warn(
        f"{method} {happened}. What was learned by then is kept. {advice}", ConvergenceWarning, stacklevel=_STACK_LEVEL
    )


# The global generator takes seeds of 32 bits.
_N_SEEDS = 2**32


def as_uint32_seed(seed: int) -> int:
    """Give a seed that every library takes, from one of up to 63 bits."""
    return seed % _N_SEEDS


@contextmanager
def temporary_numpy_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator for a while, and put it back as it was."""
    before = np.random.get_state()
    np.random.seed(as_uint32_seed(seed))
    try:
        yield
    finally:
        np.random.set_state(before)
