"""Encodings: from the numbers that come through the door to those that a likelihood works with, and back."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.views.layout import Views
from mvlvm.views.likelihood_inference import COUNTS, check_counts, check_one_hot
from mvlvm.views.scaling import distinct_values


class Encoding(ABC):
    """How one view is written for its likelihood. NaN is missing on both sides."""

    @abstractmethod
    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N K"]:
        """Give a view as its likelihood takes it.

        Args:
            name: the view, for messages.
            Y: the view as the door gave it.

        Raises:
            ViewError: it holds what training has not seen, or the likelihood cannot have made.
        """

    @abstractmethod
    def decode(self, Y: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N M"]:
        """Give draws, or the most probable values where there are probabilities, as the door would have given them."""

    def n_input_columns(self, K: int) -> int:
        """Give the number of columns at the door of a view with K columns inside."""
        return K


@dataclass(frozen=True)
class IdentityEncoding(Encoding):
    """Measurements, which need no encoding."""

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Give them as they are."""
        return Y

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Give them as they are."""
        return Y


@dataclass(frozen=True)
class CountEncoding(Encoding):
    """Counts, which need no encoding but must be counts.

    Attributes:
        likelihood: for messages.
    """

    likelihood: str

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Give them as they are, or say that they are none."""
        check_counts(name, Y, self.likelihood)
        return Y

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Give them as they are: the mean of a count is seldom whole."""
        return Y


@dataclass(frozen=True)
class BinaryEncoding(Encoding):
    """Two values, written as 0 and 1.

    Attributes:
        low: what is written as 0.
        high: what is written as 1.
    """

    low: float
    high: float

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Give zeros and ones."""
        _check_known(name, Y, np.array([self.low, self.high]), "values")
        return np.where(np.isnan(Y), np.nan, np.where(self.high == Y, 1.0, 0.0))

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Give the second value where it is the more probable one."""
        return np.where(np.isnan(Y), np.nan, np.where(Y > 0.5, self.high, self.low))


@dataclass(frozen=True)
class OneHotEncoding(Encoding):
    """A view with a column for every class, one where a row is of that class and else zero."""

    def encode(self, name: str, Y: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Give it as it is; a missing row is NaN throughout."""
        check_one_hot(name, Y)
        return Y

    def decode(self, Y: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Give a one to the most probable class of every row."""
        seen = ~np.isnan(Y).any(axis=1)
        full = np.full(Y.shape, np.nan)
        full[seen] = np.eye(Y.shape[1])[Y[seen].argmax(axis=1)]
        return full


@dataclass(frozen=True)
class LabelEncoding(Encoding):
    """One column of classes, written one-hot.

    Attributes:
        values: the numbers in the column, one per class and in order; for a label view the codes 0, 1, ...
    """

    values: tuple[float, ...]

    def encode(self, name: str, Y: Float[np.ndarray, "N 1"]) -> Float[np.ndarray, "N C"]:
        """Give a column for every class, NaN throughout where the class is missing."""
        _check_known(name, Y, np.array(self.values), "classes")
        return np.where(np.isnan(Y), np.nan, (np.array(self.values) == Y).astype(np.float64))

    def decode(self, Y: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N 1"]:
        """Give the most probable class of every row."""
        seen = ~np.isnan(Y).any(axis=1)
        column = np.full((len(Y), 1), np.nan)
        column[seen, 0] = np.array(self.values)[Y[seen].argmax(axis=1)]
        return column

    def n_input_columns(self, K: int) -> int:
        """Give one."""
        return 1


# The names identify encodings in saved models.
_ENCODINGS: dict[str, type[Encoding]] = {
    "as-it-is": IdentityEncoding,
    "counts": CountEncoding,
    "binary": BinaryEncoding,
    "one-hot": OneHotEncoding,
    "label-column": LabelEncoding,
}


def fit_encodings(views: Views, likelihoods: Mapping[str, str]) -> dict[str, Encoding]:
    """Choose the encoding of every view.

    Args:
        views: the training views, which `resolve_likelihoods` has checked.
        likelihoods: view name -> likelihood.
    """
    return {
        name: LabelEncoding(tuple(map(float, range(len(views.classes[name]))))) if name in views.classes
        else fit_encoding(Y, likelihoods[name])
        for name, Y in views.arrays.items()
    }  # fmt: skip


def fit_encoding(Y: Float[np.ndarray, "N M"], likelihood: str) -> Encoding:
    """Choose the encoding of a view that is no label view.

    Args:
        Y: the view, checked by `check_support`.
        likelihood: its likelihood.
    """
    if likelihood in COUNTS:
        return CountEncoding(likelihood)
    if likelihood not in ("bernoulli", "categorical"):
        return IdentityEncoding()
    if Y.shape[1] > 1 and likelihood == "categorical":
        return OneHotEncoding()
    values = distinct_values(Y).tolist()
    return BinaryEncoding(*values) if likelihood == "bernoulli" else LabelEncoding(tuple(values))


def check_known_classes(name: str, Y: Float[np.ndarray, "N C"], seen: Bool[np.ndarray, " C"], classes: Any) -> None:
    """Refuse one-hot rows of a class that the model knows nothing about.

    Args:
        name: the view, for messages.
        Y: its rows.
        seen: which classes some training row has.
        classes: a list or an index of what they are called; None if they have numbers only.

    Raises:
        ViewError: a row is of another class.
    """
    strange = np.flatnonzero((Y == 1).any(axis=0) & ~seen).tolist()
    if strange:
        called = f"column {listed(strange)}" if classes is None else listed([classes[c] for c in strange])
        raise ViewError(
            f"View '{name}' must hold classes that training has seen. Got {called}, which no training row of positive "
            "weight has. Put NaN or None where a class is not known, or fit again with such rows."
        )


def encoding_to_dict(encoding: Encoding) -> dict[str, Any]:
    """Give an encoding as JSON can hold it.

    Example:
        >>> encoding_to_dict(BinaryEncoding(-1.0, 1.0))
        {'kind': 'binary', 'low': -1.0, 'high': 1.0}
    """
    kind = next(kind for kind, known in _ENCODINGS.items() if type(encoding) is known)
    return {"kind": kind, **asdict(encoding)}  # pyright: ignore[reportArgumentType]


def encoding_from_dict(packed: Mapping[str, Any]) -> Encoding:
    """Give the encoding that was packed."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in packed.items()}
    del fields["kind"]
    return _ENCODINGS[packed["kind"]](**fields)


def _check_known(name: str, Y: Float[np.ndarray, "N M"], known: Float[np.ndarray, " C"], what: str) -> None:
    strange = ~np.isnan(Y) & ~np.isin(Y, known)
    if strange.any():
        raise ViewError(
            f"View '{name}' must hold {what} that training has seen. Got {listed(np.unique(Y[strange]).tolist())}. "
            f"The known ones are {', '.join(f'{value:g}' for value in known)}. "
            "Put NaN where nothing is known, or fit again with such rows."
        )
