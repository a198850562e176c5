"""Centring and scaling of views, and the statistics of observed entries that they need.

Statistics are accumulated over blocks of rows, because temporary arrays such as the mask of a large view would need as
much memory as the view.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import listed
from mvlvm.errors import ViewError, ViewWarning, warn
from mvlvm.row_blocks import row_blocks, row_sum

T = TypeVar("T")
Scale = Literal["view", "column"] | None
SCALES = ("auto", "view", "column", None)

# A column whose range is below this fraction of its magnitude varies by rounding errors only.
_CONSTANT_TOLERANCE = 1e-14
# Thresholds of `choose_scale`. Measured: pixels and Gaussian process samples lose accuracy when each column is scaled
# separately; the four bicycle counts of BRIDGES gain accuracy.
_MOST = 0.5
_MANY_COLUMNS = 10
_SIMILAR_SPREAD = 4.0


def per_view(setting: T | Mapping[str, T], names: Sequence[str], parameter: str) -> dict[str, T]:
    """Return the value of a setting for every view.

    Args:
        setting: one value for all views, or view name -> value.
        names: the views.
        parameter: the name of the estimator parameter, for messages.

    Returns:
        View name -> value.

    Raises:
        ValueError: the setting is a list, or a dict with missing or unknown views.
    """
    if isinstance(setting, list | tuple):
        raise ValueError(
            f"{parameter} must be one value for all views, or a dict with one entry per view. "
            f"Got {setting!r}. The views are: {', '.join(names)}."
        )
    if not isinstance(setting, Mapping):
        return dict.fromkeys(names, setting)
    missing = [name for name in names if name not in setting]
    unknown = [name for name in setting if name not in names]
    if missing or unknown:
        complaint = " and ".join(
            [f"no value for {', '.join(map(repr, missing))}"] * bool(missing)
            + [f"a value for {', '.join(map(repr, unknown))}, which is not a view"] * bool(unknown)
        )
        raise ValueError(
            f"{parameter} as a dict needs one entry per view. Got {complaint}. The views are: {', '.join(names)}."
        )
    return {name: setting[name] for name in names}


def observed_rows(Y: Float[np.ndarray, "N M"], columns: Bool[np.ndarray, " M"] | None = None) -> Bool[np.ndarray, " N"]:
    """Return the mask of rows with at least one observed entry, among the selected columns if given."""
    observed = np.empty(len(Y), dtype=bool)
    for rows in row_blocks(*Y.shape):
        observed[rows] = ~np.isnan(Y[rows] if columns is None else Y[rows][:, columns]).all(axis=1)
    return observed


def has_missing(Y: Float[np.ndarray, "N M"]) -> bool:
    """Return whether any entry is missing."""
    return any(bool(np.isnan(Y[rows]).any()) for rows in row_blocks(*Y.shape))


def count_observed(Y: Float[np.ndarray, "N M"]) -> np.ndarray:
    """Return the number of observed entries per column, an (M,) array."""
    return row_sum(row_blocks(*Y.shape), lambda rows: (len(Y[rows]) - np.isnan(Y[rows]).sum(axis=0),))[0]


def distinct_values(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, " u"]:
    """Return the sorted distinct values of the observed entries."""
    values = np.empty(0)
    for rows in row_blocks(*Y.shape):
        values = np.union1d(values, Y[rows][~np.isnan(Y[rows])])
    return values


@dataclass(frozen=True)
class ColumnMoments:
    """Statistics of the observed entries of every column; NaN for columns without observed entries.

    Attributes:
        mean: the means.
        std: the standard deviations.
        low: the minima.
        high: the maxima.
    """

    mean: Float[np.ndarray, " M"]
    std: Float[np.ndarray, " M"]
    low: Float[np.ndarray, " M"]
    high: Float[np.ndarray, " M"]


def column_moments(Y: Float[np.ndarray, "N M"]) -> ColumnMoments:
    """Compute the moments and range of every column of a view; NaN is missing."""
    blocks = row_blocks(*Y.shape)

    def count_and_total(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        missing = np.isnan(Y[rows])
        total = np.where(missing, 0.0, Y[rows]).sum(axis=0) if missing.any() else Y[rows].sum(axis=0)
        return len(missing) - missing.sum(axis=0), total

    def squares(rows: slice) -> tuple[np.ndarray]:
        deviation = Y[rows] - mean
        deviation[np.isnan(deviation)] = 0.0
        return (np.einsum("nm,nm->m", deviation, deviation),)

    low = np.fmin.reduce([np.fmin.reduce(Y[rows], axis=0) for rows in blocks], axis=0)
    high = np.fmax.reduce([np.fmax.reduce(Y[rows], axis=0) for rows in blocks], axis=0)
    count, total = row_sum(blocks, count_and_total)
    with np.errstate(invalid="ignore"):  # 0 / 0 in columns without observed entries
        mean = total / count
        return ColumnMoments(mean, np.sqrt(row_sum(blocks, squares)[0] / count), low, high)


@dataclass(frozen=True)
class Scaling:
    """Centring and scaling of one view, and the selection of the columns that are modelled.

    Attributes:
        mean: the column means of the observed entries.
        factor: the divisor of each centred column.
        kept: the mask of modelled columns; the others are constant or have no observed entries.
        seen: the mask of columns with observed entries.
        scale: the kind of scaling.
    """

    mean: Float[np.ndarray, " M"]
    factor: Float[np.ndarray, " M"]
    kept: Bool[np.ndarray, " M"]
    seen: Bool[np.ndarray, " M"]
    scale: Scale

    def apply(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N R"]:
        """Return the modelled columns, centred and scaled."""
        columns = np.flatnonzero(self.kept)
        scaled = np.empty((len(Y), len(columns)))
        for rows in row_blocks(*Y.shape):  # in place: there may be no memory for further arrays of the size of Y
            scaled[rows] = Y[rows].take(columns, axis=1)
            scaled[rows] -= self.mean[columns]
            scaled[rows] /= self.factor[columns]
        return scaled

    def undo(self, Y: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N M"]:
        """Return all columns in data units; constant columns are restored, columns never observed are NaN."""
        full = np.tile(np.where(self.seen, self.mean, np.nan), (len(Y), 1))
        for rows in row_blocks(*full.shape):
            full[rows, self.kept] += Y[rows] * self.factor[self.kept]
        return full

    def undo_std(self, std: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N M"]:
        """Return standard deviations in data units; zero for constant columns, NaN for columns never observed."""
        full = np.tile(np.where(self.seen, 0.0, np.nan), (len(std), 1))
        for rows in row_blocks(*full.shape):
            full[rows, self.kept] = std[rows] * self.factor[self.kept]
        return full

    def undo_variance(self, variance: float) -> float:
        """Return a variance shared by all modelled columns in data units, averaged over these columns."""
        return float(variance * np.mean(self.factor[self.kept] ** 2))

    def log_volume(self, Y: Float[np.ndarray, "N M"]) -> float:
        """Return the log Jacobian determinant of the inverse scaling, summed over the observed entries of a view.

        The log density of the view in data units is that of the scaled view minus this value.
        """
        return float(count_observed(Y)[self.kept] @ np.log(self.factor[self.kept]))


def fit_scalings(
    views: Mapping[str, Float[np.ndarray, "N _"]],
    scales: Mapping[str, Scale | Literal["auto"]],
    columns: Mapping[str, Any] | None = None,
) -> dict[str, Scaling]:
    """Fit the scaling of every view, and warn of columns that are left out of the model.

    Args:
        views: view name -> matrix; NaN is missing.
        scales: view name -> kind of scaling, see `fit_scaling`.
        columns: view name -> column labels, for views that have them.

    Returns:
        View name -> scaling.
    """
    scalings, names = {}, columns or {}
    for name, Y in views.items():
        scalings[name] = fit_scaling(name, Y, scales[name])
        for message in _dropped_column_messages(name, scalings[name], names.get(name)):
            warn(message, ViewWarning)
    return scalings


def fit_scaling(name: str, Y: Float[np.ndarray, "N M"], scale: Scale | Literal["auto"]) -> Scaling:
    """Fit the centring and scaling of a view.

    Args:
        name: the view, for messages.
        Y: the view; NaN is missing.
        scale: "view" divides all columns by one factor, so that their mean variance is one; "column" divides each
            column by its standard deviation; None only centres; "auto" selects "view" or "column" by `choose_scale`.

    Raises:
        ViewError: no column varies.
    """
    moments = column_moments(Y)
    seen = ~np.isnan(moments.mean)
    mean, std = (np.where(seen, values, 0.0) for values in (moments.mean, moments.std))
    kept = _varies(moments)
    if not kept.any():
        raise ViewError(f"View '{name}' is constant: none of its {Y.shape[1]} columns varies. Leave the view out.")
    chosen = choose_scale(moments) if scale == "auto" else scale
    factor = np.ones_like(std)
    if chosen == "column":
        factor[kept] = std[kept]
    elif chosen == "view":
        factor[:] = np.sqrt(np.mean(std[kept] ** 2))
    return Scaling(mean, factor, kept, seen, chosen)


def without_scaling(scaling: Scaling) -> Scaling:
    """Return a scaling that selects the same columns but neither centres nor scales, for discrete views."""
    mean = np.where(scaling.kept, 0.0, scaling.mean)
    return Scaling(mean, np.ones_like(mean), scaling.kept, scaling.seen, None)


def choose_scale(moments: ColumnMoments) -> Scale:
    """Infer whether the columns of a view share a unit, so that differences between their variances are informative.

    Pixels, counts and one-hot labels share a unit; most of their columns have the same minimum or the same maximum.
    Many columns of similar spread, such as the channels of an instrument, also share a unit. Few columns, or columns of
    very different spread, are quantities with different units. Constant columns do not influence the result.

    Returns:
        "view" if the columns share a unit, else "column".
    """
    kept = _varies(moments)
    M = int(kept.sum())
    if M == 1:
        return "column"
    common_bound_fraction = max(
        np.unique(bound[kept], return_counts=True)[1].max() / M for bound in (moments.low, moments.high)
    )
    low, high = np.quantile(moments.std[kept], (0.05, 0.95))
    similar = M >= _MANY_COLUMNS and high <= _SIMILAR_SPREAD * low
    return "view" if common_bound_fraction > _MOST or similar else "column"


def _varies(moments: ColumnMoments) -> Bool[np.ndarray, " M"]:
    """Return the mask of columns that vary; columns without observed entries do not."""
    largest = np.maximum(np.abs(moments.low), np.abs(moments.high))
    return np.asarray(moments.high - moments.low > _CONSTANT_TOLERANCE * largest)


def _dropped_column_messages(name: str, scaling: Scaling, labels: Any) -> list[str]:
    unobserved = ~scaling.seen
    constant = scaling.seen & ~scaling.kept
    messages = []
    if constant.any():
        messages.append(
            f"View '{name}' has {constant.sum()} constant column(s) ({listed(_labels_of(constant, labels))}). "
            "They are uninformative and left out of the model; reconstructions contain their constant values."
        )
    if unobserved.any():
        messages.append(
            f"View '{name}' has {unobserved.sum()} column(s) without any observed entry "
            f"({listed(_labels_of(unobserved, labels))}). They are left out of the model and NaN in predictions."
        )
    return messages


def _labels_of(columns: Bool[np.ndarray, " M"], labels: Any) -> list[Any]:
    positions = np.flatnonzero(columns).tolist()
    return positions if labels is None else [labels[position] for position in positions]
