"""Settings that may be one value for all views or a dict with one value per view.

What is missing of a view, found some rows at a time: a mask of a large view is an array of its own.

Mean, spread and ends of every column of a view, from a few passes over its rows.

Centring and scaling of views, undone again in everything that goes back to the user.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import listed
from mvlvm.errors import ViewError, ViewWarning
from mvlvm.row_blocks import row_blocks

T = TypeVar("T")


def per_view(setting: T | Mapping[str, T], names: Sequence[str], parameter: str) -> dict[str, T]:
    """Give the setting of every view.

    Args:
        setting: one value, or view name -> value.
        names: the views.
        parameter: what the user calls the setting.

    Raises:
        ValueError: a list, or a dict that leaves a view out or names one that does not exist.
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
            + [f"a value for {', '.join(map(repr, unknown))}, which is no view"] * bool(unknown)
        )
        raise ValueError(
            f"{parameter} as a dict needs one entry per view. Got {complaint}. The views are: {', '.join(names)}."
        )
    return {name: setting[name] for name in names}


def observed_rows(Y: Float[np.ndarray, "N M"], columns: Bool[np.ndarray, " M"] | None = None) -> Bool[np.ndarray, " N"]:
    """Tell which rows have an entry, in some columns or in any."""
    has = np.empty(len(Y), dtype=bool)
    for rows in row_blocks(*Y.shape):
        has[rows] = ~np.isnan(Y[rows] if columns is None else Y[rows][:, columns]).all(axis=1)
    return has


def has_missing(Y: Float[np.ndarray, "N M"]) -> bool:
    """Tell whether an entry is missing."""
    return any(bool(np.isnan(Y[rows]).any()) for rows in row_blocks(*Y.shape))


def count_observed(Y: Float[np.ndarray, "N M"]) -> np.ndarray:
    """Give the number of entries of every column."""
    counts = np.zeros(Y.shape[1], dtype=np.int64)
    for rows in row_blocks(*Y.shape):
        counts += len(Y[rows]) - np.isnan(Y[rows]).sum(axis=0)
    return counts


def distinct_values(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, " u"]:
    """Give the different values among what was observed, in order."""
    values = np.empty(0)
    for rows in row_blocks(*Y.shape):
        values = np.union1d(values, Y[rows][~np.isnan(Y[rows])])
    return values


@dataclass(frozen=True)
class ColumnMoments:
    """What there is to know of columns before they are scaled, over what was observed; NaN where nothing was.

    Attributes:
        mean: the means.
        std: the standard deviations.
        low: the smallest entries.
        high: the largest ones.
    """

    mean: Float[np.ndarray, " M"]
    std: Float[np.ndarray, " M"]
    low: Float[np.ndarray, " M"]
    high: Float[np.ndarray, " M"]


def column_moments(Y: Float[np.ndarray, "N M"]) -> ColumnMoments:
    """Look at every column of a view; NaN is missing."""
    blocks, M = row_blocks(*Y.shape), Y.shape[1]
    count, total, squares, low, high = *np.zeros((3, M)), *np.full((2, M), np.nan)
    for rows in blocks:
        missing = np.isnan(Y[rows])
        count += len(missing) - missing.sum(axis=0)
        total += np.where(missing, 0.0, Y[rows]).sum(axis=0) if missing.any() else Y[rows].sum(axis=0)
        np.fmin(low, np.fmin.reduce(Y[rows], axis=0), out=low)
        np.fmax(high, np.fmax.reduce(Y[rows], axis=0), out=high)
    with np.errstate(invalid="ignore"):  # a column without entries has no mean
        mean = total / count
        for rows in blocks:
            deviation = Y[rows] - mean
            deviation[np.isnan(deviation)] = 0.0
            squares += np.einsum("nm,nm->m", deviation, deviation)
        return ColumnMoments(mean, np.sqrt(squares / count), low, high)


Scale = Literal["view", "column"] | None
SCALES = ("auto", "view", "column", None)

# A column whose range is below this share of its size varies by a few roundings only.
_CONSTANT_TOLERANCE = 1e-14
# What `choose_scale` calls most, many and alike. Measured: pixels and Gaussian process draws lose accuracy when their
# columns are scaled one by one; the four bicycle counts of BRIDGES gain.
_MOST = 0.5
_MANY_COLUMNS = 10
_LIKE_SPREAD = 4.0


@dataclass(frozen=True)
class Scaling:
    """How one view was centred and scaled, and which of its columns the model sees.

    Attributes:
        mean: the column means over what was observed.
        factor: what each centred column was divided by.
        kept: which columns vary; the others are constant, or were never observed, and left out of the model.
        seen: which columns were ever observed.
        scale: the kind of scaling.
    """

    mean: Float[np.ndarray, " M"]
    factor: Float[np.ndarray, " M"]
    kept: Bool[np.ndarray, " M"]
    seen: Bool[np.ndarray, " M"]
    scale: Scale

    def apply(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N R"]:
        """Centre and scale, and keep the columns that vary."""
        columns = np.flatnonzero(self.kept)
        scaled = np.empty((len(Y), len(columns)))
        for rows in row_blocks(*Y.shape):  # into one array: Y may be all that memory holds besides
            scaled[rows] = Y[rows].take(columns, axis=1)
            scaled[rows] -= self.mean[columns]
            scaled[rows] /= self.factor[columns]
        return scaled

    def undo(self, Y: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N M"]:
        """Go back to the data's own units; constant columns get their constant, those never observed are NaN."""
        full = np.tile(np.where(self.seen, self.mean, np.nan), (len(Y), 1))
        for rows in row_blocks(*full.shape):
            full[rows, self.kept] += Y[rows] * self.factor[self.kept]
        return full

    def undo_std(self, std: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N M"]:
        """Give standard deviations in the data's own units; zero for constant columns, NaN for those never observed."""
        full = np.tile(np.where(self.seen, 0.0, np.nan), (len(std), 1))
        for rows in row_blocks(*full.shape):
            full[rows, self.kept] = std[rows] * self.factor[self.kept]
        return full

    def undo_variance(self, variance: float) -> float:
        """Give a variance common to all modelled columns in the data's own units, averaged over them."""
        return float(variance * np.mean(self.factor[self.kept] ** 2))

    def log_volume(self, Y: Float[np.ndarray, "N M"]) -> float:
        """Give by how much scaling raises the log density of a view, summed over its observed entries."""
        return float(count_observed(Y)[self.kept] @ np.log(self.factor[self.kept]))


def fit_scalings(
    views: Mapping[str, Float[np.ndarray, "N _"]],
    scales: Mapping[str, Scale | Literal["auto"]],
    columns: Mapping[str, Any] | None = None,
) -> dict[str, Scaling]:
    """Choose how to centre and scale every view, and warn of columns that are left out.

    Args:
        views: view name -> matrix; NaN is missing.
        scales: view name -> what to do, see `fit_scaling`.
        columns: view name -> column labels, for views that have them.
    """
    scalings, names = {}, columns or {}
    for name, Y in views.items():
        scalings[name] = fit_scaling(name, Y, scales[name])
        for message in _about_columns_left_out(name, scalings[name], names.get(name)):
            warnings.warn(message, ViewWarning, stacklevel=5)
    return scalings


def fit_scaling(name: str, Y: Float[np.ndarray, "N M"], scale: Scale | Literal["auto"]) -> Scaling:
    """Choose how to centre and scale a view.

    Args:
        name: the view, for messages.
        Y: the view.
        scale: "view" divides all columns by one factor, so that their mean variance is one; "column" divides each by
            its own; None divides by nothing; "auto" chooses one of the first two by `choose_scale`.

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
    """Give a scaling that only leaves columns out, for counts, classes and the like."""
    mean = np.where(scaling.kept, 0.0, scaling.mean)
    return Scaling(mean, np.ones_like(mean), scaling.kept, scaling.seen, None)


def choose_scale(moments: ColumnMoments) -> Scale:
    """Infer whether a view's columns share one unit, so that differences in their spread mean something.

    Pixels, counts and one-hot labels do, and they show it: most columns end at the same smallest or the same largest
    value. So do many columns of like spread, such as the channels of one instrument. A handful of columns, or columns
    of very different spread, are different quantities with units of their own. Columns that do not vary have no say.
    """
    kept = _varies(moments)
    M = int(kept.sum())
    if M == 1:
        return "column"
    share_of_common_end = max(
        np.unique(end[kept], return_counts=True)[1].max() / M for end in (moments.low, moments.high)
    )
    low, high = np.quantile(moments.std[kept], (0.05, 0.95))
    alike = M >= _MANY_COLUMNS and high <= _LIKE_SPREAD * low
    return "view" if share_of_common_end > _MOST or alike else "column"


def _varies(moments: ColumnMoments) -> Bool[np.ndarray, " M"]:
    """Tell which columns vary; one without entries does not."""
    largest = np.maximum(np.abs(moments.low), np.abs(moments.high))
    return np.asarray(moments.high - moments.low > _CONSTANT_TOLERANCE * largest)


def _about_columns_left_out(name: str, scaling: Scaling, labels: Any) -> list[str]:
    never = ~scaling.seen
    constant = scaling.seen & ~scaling.kept
    messages = []
    if constant.any():
        messages.append(
            f"View '{name}' has {constant.sum()} constant column(s) ({listed(_labels_of(constant, labels))}). "
            "They tell nothing about the latent; the model leaves them out, and reconstructions give them back."
        )
    if never.any():
        messages.append(
            f"View '{name}' has {never.sum()} column(s) without any entry ({listed(_labels_of(never, labels))}). "
            "The model leaves them out; they are NaN in what it predicts."
        )
    return messages


def _labels_of(columns: Bool[np.ndarray, " M"], labels: Any) -> list[Any]:
    places = np.flatnonzero(columns).tolist()
    return places if labels is None else [labels[place] for place in places]
