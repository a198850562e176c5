"""The door of the baselines: what a method cannot take is said here, with one that can.

How a method that knows one matrix takes several views: side by side, each with the same say.

How many components and neighbours there can be, said before a library says it in its own terms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from mvlvm.errors import ViewError
from mvlvm.likelihoods import Categorical, Gaussian
from mvlvm.views.encoding import Encoding, fit_encodings
from mvlvm.views.layout import Layout, Views
from mvlvm.views.likelihood_inference import are_integers
from mvlvm.views.scaling import Scaling, fit_scaling, has_missing, without_scaling
from mvlvm.views.validation import as_new_views, as_views

Matrices = Mapping[str, Float[np.ndarray, "N _"]]


class DataKind(StrEnum):
    """What the views of a method hold: numbers, which are centred and scaled, or counts, which are not."""

    NUMBERS = "numbers"
    COUNTS = "counts"


@dataclass(frozen=True)
class ValidatedViews:
    """Views that a method can take.

    Attributes:
        matrices: view name -> matrix, scaled or counts; empty once the method is fitted.
        scalings: view name -> how it was centred and scaled, and which columns vary.
        encodings: view name -> how its values are written as numbers.
        widths: view name -> columns as they came.
        layout: how the views were handed over.
    """

    matrices: Mapping[str, Float[np.ndarray, "N _"]]
    scalings: Mapping[str, Scaling]
    encodings: Mapping[str, Encoding]
    widths: Mapping[str, int]
    layout: Layout

    def without_rows(self) -> "ValidatedViews":
        """Forget the rows."""
        return replace(self, matrices={})

    def given_back(self, matrices: Mapping[str, Float[np.ndarray, "K _"]], index: Any = None) -> Any:
        """Give matrices in the data's own units, in the form in which views came.

        Args:
            matrices: view name -> matrix, scaled.
            index: the rows' labels.
        """
        return self.layout.of_rows(index).restore({name: self._undone(name, Y) for name, Y in matrices.items()})

    def table(self, name: str, Y: Float[np.ndarray, "K _"]) -> Any:
        """Give one view of new rows in the data's own units, in the form in which it came."""
        return self.layout.of_rows(None).table(name, self._undone(name, Y))

    def _undone(self, name: str, Y: Float[np.ndarray, "K _"]) -> Float[np.ndarray, "K _"]:
        return self.encodings[name].decode(self.scalings[name].undo(Y))


def validate_views(views: Any, method: str, kind: DataKind, *, takes_gaps: bool) -> ValidatedViews:
    """Let views in.

    Args:
        views: as a user gives them.
        method: the name of the method, for messages.
        kind: what it takes.
        takes_gaps: whether entries may be missing.

    Raises:
        ViewError: they cannot be used, or not by this method.
    """
    data = as_views(views)
    # columns of classes are written one-hot, and taken for numbers
    encodings = fit_encodings(
        data, {name: Categorical.name if name in data.classes else Gaussian.name for name in data.names}
    )
    encoded = _encoded(data, encodings)
    _check_entries(method, encoded, kind, takes_gaps)
    scalings = {name: fit_scaling(name, Y, "auto") for name, Y in encoded.items()}
    if kind is DataKind.COUNTS:
        scalings = {name: without_scaling(scaling) for name, scaling in scalings.items()}
    matrices = {name: scalings[name].apply(Y) for name, Y in encoded.items()}
    widths = {name: Y.shape[1] for name, Y in data.arrays.items()}
    return ValidatedViews(matrices, scalings, encodings, widths, data.layout)


def validate_new_views(
    views: Any, admitted: ValidatedViews, method: str, kind: DataKind, *, takes_gaps: bool
) -> dict[str, Float[np.ndarray, "K _"]]:
    """Let new rows of the same views in, any of them."""
    data = as_new_views(views, admitted.layout, admitted.widths)
    encoded = _encoded(data, admitted.encodings)
    _check_entries(method, encoded, kind, takes_gaps)
    return {name: admitted.scalings[name].apply(Y) for name, Y in encoded.items()}


def _encoded(data: Views, encodings: Mapping[str, Encoding]) -> dict[str, Float[np.ndarray, "N _"]]:
    return {name: encodings[name].encode(name, Y) for name, Y in data.arrays.items()}


def _check_entries(
    method: str, matrices: Mapping[str, Float[np.ndarray, "N _"]], kind: DataKind, takes_gaps: bool
) -> None:
    for name, Y in matrices.items():
        if not takes_gaps and has_missing(Y):
            raise ViewError(
                f"View '{name}' has {int(np.isnan(Y).sum())} missing entries, and {method} cannot take any. "
                "Fill them first, or take NGMVLVM, MVARFLVM or MOFA, which can."
            )
        entries = Y[~np.isnan(Y)]
        if kind is DataKind.COUNTS and not (are_integers(entries) and entries.min() >= 0):
            wrong = entries[(entries < 0) | (entries != np.round(entries))][0]
            raise ViewError(
                f"{method} models counts: whole numbers of at least 0. View '{name}' holds {wrong:g}. "
                "Give counts as they were counted, or take a method of numbers, such as VAE or PCA."
            )


def concatenate_views(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N M"]:
    """Give scaled views as one matrix, in which all have the same total variance, that of the widest."""
    return np.hstack([Y * weight for Y, weight in zip(views.values(), _view_scales(view_widths(views)), strict=True)])


def split_views(joined: Float[np.ndarray, "N M"], widths: Mapping[str, int]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Undo `concatenate_views`.

    Args:
        joined: the views side by side.
        widths: view name -> columns.
    """
    parts = split_counts(joined, widths)
    return {name: part / weight for (name, part), weight in zip(parts.items(), _view_scales(widths), strict=True)}


def concatenate_counts(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N M"]:
    """Give views of counts as one matrix, as they are: a count that is weighed is none any more."""
    return np.hstack(list(views.values()))


def split_counts(joined: Float[np.ndarray, "N M"], widths: Mapping[str, int]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Undo `concatenate_counts`."""
    return dict(zip(widths, np.split(joined, np.cumsum(list(widths.values()))[:-1], axis=1), strict=True))


def view_widths(views: Mapping[str, Float[np.ndarray, "N _"]]) -> dict[str, int]:
    """Give view name -> columns."""
    return {name: Y.shape[1] for name, Y in views.items()}


def _view_scales(widths: Mapping[str, int]) -> list[float]:
    widest = max(widths.values())
    return [float(np.sqrt(widest / width)) for width in widths.values()]


def max_rank(Y: Float[ndarray, "N M"]) -> int:
    """Give how many directions a centred matrix can have."""
    return min(len(Y) - 1, Y.shape[1])


def max_common_rank(views: Matrices) -> int:
    """Give how many directions every one of some centred views can have."""
    return min(max_rank(Y) for Y in views.values())


def check_n_components(method: str, n_components: int, most: int) -> None:
    """Say that there are more components than rows and columns allow.

    Raises:
        ValueError: there are.
    """
    if n_components > most:
        raise ValueError(
            f"{method} finds at most {most} components in views of this many rows and varying columns. "
            f"Got n_components={n_components}. Give n_components <= {most}, or take VAE or MVAE, which can have more."
        )


def check_less_than_n_rows(value: int | float, parameter: str, n_rows: int) -> None:
    """Say that a row has fewer others than it is to have neighbours.

    Raises:
        ValueError: it has.
    """
    if value >= n_rows:
        raise ValueError(
            f"{parameter} must be below the number of rows. Got {parameter}={value:g} for {n_rows} rows. "
            f"Lower {parameter}, or give more rows."
        )
