"""Input validation of the baselines, and the conversion between several views and a single matrix."""

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

Matrices = Mapping[str, Float[np.ndarray, "N _"]]


class DataKind(StrEnum):
    """The kind of data a method models: numbers, which are centred and scaled, or counts, which are left unchanged."""

    NUMBERS = "numbers"
    COUNTS = "counts"


@dataclass(frozen=True)
class BaselineInput:
    """Validated views with everything that is needed to process new rows and to restore the original form.

    Attributes:
        matrices: view name -> scaled matrix or counts; empty once the method is fitted.
        scalings: view name -> centring, scaling and mask of the columns that vary.
        encodings: view name -> encoding of the values as numbers.
        widths: view name -> number of columns of the input.
        layout: container and labels of the input.
    """

    matrices: Mapping[str, Float[np.ndarray, "N _"]]
    scalings: Mapping[str, Scaling]
    encodings: Mapping[str, Encoding]
    widths: Mapping[str, int]
    layout: Layout

    def without_rows(self) -> "BaselineInput":
        """Return a copy without the training data."""
        return replace(self, matrices={})

    def restore_views(self, matrices: Mapping[str, Float[np.ndarray, "K _"]], index: Any = None) -> Any:
        """Convert scaled matrices to the original units and return them in the container of the input.

        Args:
            matrices: view name -> scaled (K, M) matrix.
            index: row labels.
        """
        return self.layout.of_rows(index).restore({name: self._unscale(name, Y) for name, Y in matrices.items()})

    def restore_view(self, name: str, Y: Float[np.ndarray, "K _"]) -> Any:
        """Convert new rows of one view to the original units and return them as the type of the input view."""
        return self.layout.of_rows(None).table(name, self._unscale(name, Y))

    def _unscale(self, name: str, Y: Float[np.ndarray, "K _"]) -> Float[np.ndarray, "K _"]:
        return self.encodings[name].decode(self.scalings[name].undo(Y))


def validate_views(views: Any, method: str, kind: DataKind, *, allow_missing: bool) -> BaselineInput:
    """Validate, encode and scale training views.

    Args:
        views: views as passed to `fit`.
        method: name of the method, for error messages.
        kind: the kind of data that the method models.
        allow_missing: whether entries may be missing.

    Raises:
        ViewError: the views are invalid, or the method does not support them.
    """
    data = as_views(views)
    # categorical columns are one-hot encoded and then treated as numbers
    kinds = {name: Categorical if name in data.classes else Gaussian for name in data.names}
    encodings = fit_encodings(data, {name: likelihood.name for name, likelihood in kinds.items()})
    encoded = _encode(data, encodings)
    _check_entries(method, encoded, kind, allow_missing)
    scalings = {name: fit_scaling(name, Y, "auto") for name, Y in encoded.items()}
    if kind is DataKind.COUNTS:
        scalings = {name: without_scaling(scaling) for name, scaling in scalings.items()}
    matrices = {name: scalings[name].apply(Y) for name, Y in encoded.items()}
    widths = {name: Y.shape[1] for name, Y in data.arrays.items()}
    return BaselineInput(matrices, scalings, encodings, widths, data.layout)


def validate_new_views(
    views: Any, training: BaselineInput, method: str, kind: DataKind, *, allow_missing: bool
) -> dict[str, Float[np.ndarray, "K _"]]:
    """Validate new rows of any subset of the training views.

    Returns:
        View name -> (K, M) matrix, encoded and scaled as in training.
    """
    data = as_new_views(views, training.layout, training.widths)
    encoded = _encode(data, training.encodings)
    _check_entries(method, encoded, kind, allow_missing)
    return {name: training.scalings[name].apply(Y) for name, Y in encoded.items()}


def check_n_components(method: str, n_components: int, maximum: int) -> None:
    """Raise a `ValueError` if there are more components than the number of rows and columns allows."""
    if n_components > maximum:
        raise ValueError(
            f"{method} finds at most {maximum} components in views with this number of rows and varying columns. "
            f"Got n_components={n_components}. "
            f"Use n_components <= {maximum}, or VAE or MVAE, which have no such limit."
        )


def check_less_than_n_rows(value: int | float, parameter: str, n_rows: int) -> None:
    """Raise a `ValueError` if a neighbourhood size is not smaller than the number of rows."""
    if value >= n_rows:
        raise ValueError(
            f"{parameter} must be below the number of rows. Got {parameter}={value:g} for {n_rows} rows. "
            f"Lower {parameter}, or provide more rows."
        )


def max_rank(Y: Float[np.ndarray, "N M"]) -> int:
    """Return the largest possible rank of a centred matrix of this shape."""
    return min(len(Y) - 1, Y.shape[1])


def max_common_rank(views: Matrices) -> int:
    """Return the smallest `max_rank` of several centred views."""
    return min(max_rank(Y) for Y in views.values())


def concatenate_views(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N M"]:
    """Concatenate scaled views to one (N, M) matrix, with every view rescaled to the total variance of the widest."""
    return np.hstack([Y * scale for Y, scale in zip(views.values(), _view_scales(view_widths(views)), strict=True)])


def split_views(joined: Float[np.ndarray, "N M"], widths: Mapping[str, int]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Invert `concatenate_views`.

    Args:
        joined: the concatenated views.
        widths: view name -> number of columns.
    """
    parts = split_counts(joined, widths)
    return {name: part / scale for (name, part), scale in zip(parts.items(), _view_scales(widths), strict=True)}


def concatenate_counts(views: Mapping[str, Float[np.ndarray, "N _"]]) -> Float[np.ndarray, "N M"]:
    """Concatenate views of counts to one (N, M) matrix without rescaling, so that entries remain counts."""
    return np.hstack(list(views.values()))


def split_counts(joined: Float[np.ndarray, "N M"], widths: Mapping[str, int]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Invert `concatenate_counts`."""
    return dict(zip(widths, np.split(joined, np.cumsum(list(widths.values()))[:-1], axis=1), strict=True))


def view_widths(views: Mapping[str, Float[np.ndarray, "N _"]]) -> dict[str, int]:
    """Return a dict view name -> number of columns."""
    return {name: Y.shape[1] for name, Y in views.items()}


def _view_scales(widths: Mapping[str, int]) -> list[float]:
    widest = max(widths.values())
    return [float(np.sqrt(widest / width)) for width in widths.values()]


def _encode(data: Views, encodings: Mapping[str, Encoding]) -> dict[str, Float[np.ndarray, "N _"]]:
    return {name: encodings[name].encode(name, Y) for name, Y in data.arrays.items()}


def _check_entries(
    method: str, matrices: Mapping[str, Float[np.ndarray, "N _"]], kind: DataKind, allow_missing: bool
) -> None:
    for name, Y in matrices.items():
        if not allow_missing and has_missing(Y):
            raise ViewError(
                f"View '{name}' has {int(np.isnan(Y).sum())} missing entries, which {method} does not support. "
                "Impute them first, or use NGMVLVM, MVARFLVM or MOFA, which support missing entries."
            )
        entries = Y[~np.isnan(Y)]
        if kind is DataKind.COUNTS and not (are_integers(entries) and entries.min() >= 0):
            wrong = entries[(entries < 0) | (entries != np.round(entries))][0]
            raise ViewError(
                f"{method} models counts: non-negative integers. View '{name}' holds {wrong:g}. "
                "Pass the raw counts, or use a method for continuous data, such as VAE or PCA."
            )
