"""Encodings between the numbers of a validated view and the numbers that its likelihood models."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.io.schema import check_fields
from mvlvm.likelihoods import LIKELIHOODS, Support
from mvlvm.views.layout import Views
from mvlvm.views.likelihood_inference import check_counts, check_one_hot, check_positive
from mvlvm.views.scaling import distinct_values


class Encoding(ABC):
    """Encoding of one view for its likelihood. NaN is missing both before and after encoding."""

    @abstractmethod
    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N K"]:
        """Return a view in the encoding of its likelihood.

        Args:
            name: the view, for messages.
            Y: the validated view.

        Raises:
            ViewError: an entry is not in the support of the likelihood, or is a class absent from training.
        """

    @abstractmethod
    def decode(self, Y: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N M"]:
        """Return samples, or the most probable values given probabilities, as numbers of the validated view."""

    def n_input_columns(self, K: int) -> int:
        """Return the number of columns M of the validated view, given the number K of encoded columns."""
        return K


@dataclass(frozen=True)
class IdentityEncoding(Encoding):
    """Encoding of real numbers, which are used as they are."""

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view unchanged."""
        return Y

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view unchanged."""
        return Y


@dataclass(frozen=True)
class PositiveEncoding(Encoding):
    """Encoding of positive numbers, which are checked and used as they are.

    Attributes:
        likelihood: its name, for messages.
    """

    likelihood: str

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view unchanged if all entries are positive."""
        check_positive(name, Y, self.likelihood)
        return Y

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view unchanged."""
        return Y


@dataclass(frozen=True)
class CountEncoding(Encoding):
    """Encoding of counts, which are checked and used as they are.

    Attributes:
        likelihood: its name, for messages.
    """

    likelihood: str

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view unchanged if all entries are counts."""
        check_counts(name, Y, self.likelihood)
        return Y

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view unchanged; means of counts are not rounded."""
        return Y


@dataclass(frozen=True)
class BinaryEncoding(Encoding):
    """Encoding of two distinct values as 0 and 1.

    Attributes:
        low: the value encoded as 0.
        high: the value encoded as 1.
    """

    low: float
    high: float

    def encode(self, name: str, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return the view with entries 0 and 1."""
        _check_known(name, Y, np.array([self.low, self.high]), "values")
        return np.where(np.isnan(Y), np.nan, np.where(self.high == Y, 1.0, 0.0))

    def decode(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
        """Return `high` where its probability exceeds one half, `low` elsewhere."""
        return np.where(np.isnan(Y), np.nan, np.where(Y > 0.5, self.high, self.low))


@dataclass(frozen=True)
class OneHotEncoding(Encoding):
    """Encoding of a view that is one-hot already, with one column per class."""

    def encode(self, name: str, Y: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Return the view unchanged if its rows are one-hot; a missing row is NaN in all columns."""
        check_one_hot(name, Y)
        return Y

    def decode(self, Y: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Return one-hot rows of the most probable classes."""
        observed = ~np.isnan(Y).any(axis=1)
        full = np.full(Y.shape, np.nan)
        full[observed] = np.eye(Y.shape[1])[Y[observed].argmax(axis=1)]
        return full


@dataclass(frozen=True)
class LabelEncoding(Encoding):
    """One-hot encoding of one column of classes.

    Attributes:
        values: the sorted numbers in the column, one per class; for a label view the codes 0, 1, ...
    """

    values: tuple[float, ...]

    def encode(self, name: str, Y: Float[np.ndarray, "N 1"]) -> Float[np.ndarray, "N C"]:
        """Return one-hot rows with one column per class, NaN in all columns where the class is missing."""
        _check_known(name, Y, np.array(self.values), "classes")
        return np.where(np.isnan(Y), np.nan, (np.array(self.values) == Y).astype(np.float64))

    def decode(self, Y: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N 1"]:
        """Return the most probable class of every row."""
        observed = ~np.isnan(Y).any(axis=1)
        column = np.full((len(Y), 1), np.nan)
        column[observed, 0] = np.array(self.values)[Y[observed].argmax(axis=1)]
        return column

    def n_input_columns(self, K: int) -> int:
        """Return 1, the number of label columns."""
        return 1


# The keys identify encodings in saved models and must not change.
_ENCODINGS: dict[str, type[Encoding]] = {
    "as-it-is": IdentityEncoding,
    "positive": PositiveEncoding,
    "counts": CountEncoding,
    "binary": BinaryEncoding,
    "one-hot": OneHotEncoding,
    "label-column": LabelEncoding,
}


def fit_encodings(views: Views, likelihoods: Mapping[str, str]) -> dict[str, Encoding]:
    """Return the encoding of every view.

    Args:
        views: the training views, checked by `resolve_likelihoods`.
        likelihoods: view name -> likelihood name.
    """
    return {
        name: LabelEncoding(tuple(map(float, range(len(views.classes[name])))))
        if name in views.classes
        else fit_encoding(Y, likelihoods[name])
        for name, Y in views.arrays.items()
    }


def fit_encoding(Y: Float[np.ndarray, "N M"], likelihood: str) -> Encoding:
    """Return the encoding of a view that is not a label view.

    Args:
        Y: the view, checked by `check_support`.
        likelihood: its name in the registry.
    """
    match LIKELIHOODS[likelihood].support:
        case Support.REAL:
            return IdentityEncoding()
        case Support.POSITIVE:
            return PositiveEncoding(likelihood)
        case Support.COUNTS:
            return CountEncoding(likelihood)
        case Support.BINARY:
            low, high = distinct_values(Y).tolist()
            return BinaryEncoding(low, high)
        case Support.ONE_HOT:
            return OneHotEncoding() if Y.shape[1] > 1 else LabelEncoding(tuple(distinct_values(Y).tolist()))


def check_known_classes(name: str, Y: Float[np.ndarray, "N C"], known: Bool[np.ndarray, " C"], classes: Any) -> None:
    """Check that every class of one-hot rows occurs in training.

    Args:
        name: the view, for messages.
        Y: its one-hot rows.
        known: the mask of classes that occur in training.
        classes: a list or index of class names; None if classes are identified by their columns.

    Raises:
        ViewError: a row has a class that does not occur in training.
    """
    unknown = np.flatnonzero((Y == 1).any(axis=0) & ~known).tolist()
    if unknown:
        described = f"column {listed(unknown)}" if classes is None else listed([classes[c] for c in unknown])
        raise ViewError(
            f"View '{name}' must hold classes that occur in training. Got {described}, which no training row of "
            "positive weight has. Use NaN or None where the class is unknown, or fit again with such rows."
        )


def encoding_to_dict(encoding: Encoding) -> dict[str, Any]:
    """Return an encoding as a dict that can be serialised as JSON.

    Example:
        >>> encoding_to_dict(BinaryEncoding(-1.0, 1.0))
        {'kind': 'binary', 'low': -1.0, 'high': 1.0}
    """
    kind = next(kind for kind, known in _ENCODINGS.items() if type(encoding) is known)
    return {"kind": kind, **asdict(encoding)}  # pyright: ignore[reportArgumentType]


def encoding_from_dict(serialised: Mapping[str, Any]) -> Encoding:
    """Return the encoding that `encoding_to_dict` serialised."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in serialised.items()}
    del fields["kind"]
    encoding = _ENCODINGS[serialised["kind"]](**fields)
    check_fields(encoding, "encoding")
    return encoding


def _check_known(name: str, Y: Float[np.ndarray, "N M"], known: Float[np.ndarray, " C"], what: str) -> None:
    unknown = ~np.isnan(Y) & ~np.isin(Y, known)
    if unknown.any():
        raise ViewError(
            f"View '{name}' must hold {what} that occur in training. Got {listed(np.unique(Y[unknown]).tolist())}. "
            f"The known {what} are {', '.join(f'{value:g}' for value in known)}. "
            "Use NaN where the value is unknown, or fit again with such rows."
        )
