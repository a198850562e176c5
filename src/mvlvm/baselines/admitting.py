"""The door of the baselines: what a method cannot take is said here, with one that can."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.errors import ViewError
from mvlvm.likelihoods import Categorical, Gaussian
from mvlvm.views.encoding import Encoding, fit_encodings
from mvlvm.views.layout import Layout, Views
from mvlvm.views.likelihood_inference import are_integers
from mvlvm.views.scaling import Scaling, fit_scaling, has_missing, without_scaling
from mvlvm.views.validation import as_new_views, as_views


class Kind(StrEnum):
    """What the views of a method hold: numbers, which are centred and scaled, or counts, which are not."""

    NUMBERS = "numbers"
    COUNTS = "counts"


@dataclass(frozen=True)
class Admitted:
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

    def without_rows(self) -> "Admitted":
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


def admit(views: Any, method: str, kind: Kind, *, takes_gaps: bool) -> Admitted:
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
    _check_for(method, encoded, kind, takes_gaps)
    scalings = {name: fit_scaling(name, Y, "auto") for name, Y in encoded.items()}
    if kind is Kind.COUNTS:
        scalings = {name: without_scaling(scaling) for name, scaling in scalings.items()}
    matrices = {name: scalings[name].apply(Y) for name, Y in encoded.items()}
    widths = {name: Y.shape[1] for name, Y in data.arrays.items()}
    return Admitted(matrices, scalings, encodings, widths, data.layout)


def admit_new(
    views: Any, admitted: Admitted, method: str, kind: Kind, *, takes_gaps: bool
) -> dict[str, Float[np.ndarray, "K _"]]:
    """Let new rows of the same views in, any of them."""
    data = as_new_views(views, admitted.layout, admitted.widths)
    encoded = _encoded(data, admitted.encodings)
    _check_for(method, encoded, kind, takes_gaps)
    return {name: admitted.scalings[name].apply(Y) for name, Y in encoded.items()}


def _encoded(data: Views, encodings: Mapping[str, Encoding]) -> dict[str, Float[np.ndarray, "N _"]]:
    return {name: encodings[name].encode(name, Y) for name, Y in data.arrays.items()}


def _check_for(method: str, matrices: Mapping[str, Float[np.ndarray, "N _"]], kind: Kind, takes_gaps: bool) -> None:
    for name, Y in matrices.items():
        if not takes_gaps and has_missing(Y):
            raise ViewError(
                f"View '{name}' has {int(np.isnan(Y).sum())} missing entries, and {method} cannot take any. "
                "Fill them first, or take NGMVLVM, MVARFLVM or MOFA, which can."
            )
        entries = Y[~np.isnan(Y)]
        if kind is Kind.COUNTS and not (are_integers(entries) and entries.min() >= 0):
            wrong = entries[(entries < 0) | (entries != np.round(entries))][0]
            raise ViewError(
                f"{method} models counts: whole numbers of at least 0. View '{name}' holds {wrong:g}. "
                "Give counts as they were counted, or take a method of numbers, such as VAE or PCA."
            )
