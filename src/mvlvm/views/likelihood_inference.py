"""Infer the likelihood of a view from its entries, and check that entries lie in the support of a likelihood.

`resolve_likelihoods` combines both: it turns the `likelihood` parameter of an estimator into one likelihood per view.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import check_choice, listed
from mvlvm.errors import ViewError
from mvlvm.likelihoods import (
    LIKELIHOODS,
    Bernoulli,
    Categorical,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
    Support,
)
from mvlvm.row_blocks import row_blocks
from mvlvm.views.labels import Label
from mvlvm.views.layout import Views
from mvlvm.views.scaling import distinct_values, per_view

AUTO = "auto"

# A column of integers holds classes if it has at most this many distinct values, with this many rows each on average.
_MAX_CLASSES, _ROWS_PER_CLASS = 20, 5
# Categorical views must have this many rows per class on average; otherwise the column is likely an identifier.
_MIN_ROWS_PER_CLASS = 2
# Distinct values are first counted among this many entries, which rules out most views cheaply.
_N_ENTRIES_SAMPLED = 1000
# Two distinct values are not a coincidence in a view with at least this many entries.
_MIN_BINARY_ENTRIES = 10
# Counts are overdispersed if the total variance of all columns exceeds this multiple of their total mean.
_OVERDISPERSION = 1.5
# Integers lie on a bounded scale if the maximum is at least _MIN_SCALE_MAXIMUM (for scales that start at zero), occurs
# in at least _MIN_ENTRIES_AT_MAXIMUM entries, and a tail would have more than _MIN_ENTRIES_BEYOND entries beyond it.
# The maximum of many counts occurs only once or twice.
_MIN_SCALE_MAXIMUM, _MIN_ENTRIES_AT_MAXIMUM, _MIN_ENTRIES_BEYOND = 4, 10, 8
# Grey levels and scores: at least this many columns, most of them strictly positive, and less than this fraction of
# the skewness of a negative binomial.
_MIN_SCORE_COLUMNS, _MOST, _MAX_RELATIVE_SKEWNESS = 10, 0.5, 0.25
# Tails are heavy if more than _HEAVY_TAIL_FRACTION of the entries, at least _MIN_OUTLIERS, lie more than
# _OUTLIER_DISTANCE robust standard deviations from the median, in more than _OUTLIER_COLUMN_FRACTION of the columns.
# The fraction is 2e-9 for a Gaussian, 0.001 for an exponential and 0.006 for Student's t with 3 degrees of freedom.
_OUTLIER_DISTANCE, _HEAVY_TAIL_FRACTION, _OUTLIER_COLUMN_FRACTION, _MIN_OUTLIERS = 6.0, 0.004, 0.25, 3
# The median absolute deviation does not measure the spread of a column in which one value exceeds this fraction.
_MAX_REPEATED_FRACTION = 0.2
# Ratio of the standard deviation of a Gaussian to its median absolute deviation.
_MAD_TO_STD = 1.4826


class InferredLikelihood(NamedTuple):
    """The likelihood of a view, and the reason for choosing it.

    Attributes:
        likelihood: a name in the registry of likelihoods.
        reason: a phrase for messages.
    """

    likelihood: str
    reason: str


def resolve_likelihoods(asked: Any, views: Views) -> dict[str, InferredLikelihood]:
    """Return the likelihood of every view, with the reason for it.

    Label views are categorical even if another likelihood is requested for all views. "auto" is inferred from the data.

    Args:
        asked: one likelihood for all views, or view name -> likelihood; a registered name or "auto".
        views: the training views.

    Returns:
        View name -> likelihood and reason.

    Raises:
        ValueError: a likelihood is unknown.
        ViewError: the entries of a view are not in the support of the requested likelihood.
    """
    names = {
        name: check_choice(likelihood, "likelihood", (*LIKELIHOODS, AUTO))
        for name, likelihood in per_view(asked, views.names, "likelihood").items()
    }
    by_name = isinstance(asked, Mapping)
    resolved = {name: _resolve(name, likelihood, views, by_name=by_name) for name, likelihood in names.items()}
    for name, inferred in resolved.items():
        check_support(name, views.arrays[name], inferred.likelihood, views.classes.get(name))
    return resolved


def _resolve(name: str, likelihood: str, views: Views, *, by_name: bool) -> InferredLikelihood:
    if name not in views.classes:
        Y = views.arrays[name]
        return infer_likelihood(Y) if likelihood == AUTO else InferredLikelihood(likelihood, "as specified")
    classes = views.classes[name]
    binary = len(classes) == 2 and likelihood == Bernoulli.name
    if by_name and likelihood not in (AUTO, Categorical.name) and not binary:
        numbers = "" if isinstance(classes[0], str) else ", or pass its numbers as a matrix, view.reshape(-1, 1)"
        raise ViewError(
            f"View '{name}' holds labels and must be {Categorical.name}. Got likelihood '{likelihood}' for it. "
            f"Use '{Categorical.name}' or '{AUTO}'{numbers}."
        )
    return InferredLikelihood(Categorical.name, f"labels, {len(classes)} classes")


def infer_likelihood(Y: Float[np.ndarray, "N M"]) -> InferredLikelihood:
    """Infer the likelihood of a view from its entries.

    Args:
        Y: the view; NaN is missing. Constant columns do not influence the result.

    Returns:
        The likelihood and the reason for it.

    Example:
        >>> infer_likelihood(np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
        InferredLikelihood(likelihood='bernoulli', reason='two distinct values, 0 and 1')
    """
    entries = Y[~np.isnan(Y)]
    if is_one_hot(Y):
        return InferredLikelihood(Categorical.name, f"one-hot rows, {Y.shape[1]} classes")
    values, counts = _few_values(entries)
    if Y.shape[1] == 1 and _are_classes(values, counts):
        return InferredLikelihood(Categorical.name, f"one column of integers with {len(values)} distinct values")
    if len(values) == 2 and len(entries) >= _MIN_BINARY_ENTRIES:
        return InferredLikelihood(Bernoulli.name, f"two distinct values, {values[0]:g} and {values[1]:g}")
    if len(entries) and entries.min() >= 0 and are_integers(entries):
        return _infer_from_integers(_varying(Y))
    fraction = _outlier_fraction(_varying(Y))
    if fraction > _HEAVY_TAIL_FRACTION:
        return InferredLikelihood(StudentT.name, f"heavy tails: {fraction:.1%} of the entries are outliers")
    return InferredLikelihood(Gaussian.name, "real numbers without heavy tails")


def is_one_hot(Y: Float[np.ndarray, "N M"]) -> bool:
    """Return whether a view has several columns and every row is one-hot or missing."""
    rows = Y[~np.isnan(Y).all(axis=1)]
    return Y.shape[1] > 1 and len(rows) > 0 and bool(one_hot_rows(rows).all())


def one_hot_rows(Y: Float[np.ndarray, "N M"]) -> Bool[np.ndarray, " N"]:
    """Return the mask of one-hot rows."""
    return np.asarray(((Y == 0) | (Y == 1)).all(axis=1) & (Y.sum(axis=1) == 1))


def are_integers(entries: Float[np.ndarray, " E"]) -> bool:
    """Return whether all entries are integers."""
    return bool((entries == np.rint(entries)).all())


def _few_values(entries: Float[np.ndarray, " E"]) -> tuple[Float[np.ndarray, " u"], np.ndarray]:
    """Return the distinct values and their counts, both empty if the first entries have too many to be classes."""
    if len(np.unique(entries[:_N_ENTRIES_SAMPLED])) > _MAX_CLASSES:
        return np.empty(0), np.empty(0, dtype=np.int64)
    return np.unique(entries, return_counts=True)


def _are_classes(values: Float[np.ndarray, " u"], counts: np.ndarray) -> bool:
    few = 2 < len(values) <= _MAX_CLASSES and counts.sum() >= _ROWS_PER_CLASS * len(values)
    return bool(few and are_integers(values) and counts.min() > 1)


def _varying(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N R"]:
    """Return the columns with at least two distinct values."""
    low, high = np.fmin.reduce(Y, axis=0), np.fmax.reduce(Y, axis=0)
    return Y[:, low < high]


def _infer_from_integers(Y: Float[np.ndarray, "N R"]) -> InferredLikelihood:
    """Distinguish counts from integers on a scale."""
    if not Y.shape[1]:
        return InferredLikelihood(Gaussian.name, "no column varies")
    maximum = _scale_maximum(Y)
    if maximum is not None:
        return InferredLikelihood(Gaussian.name, f"integers on a bounded scale with maximum {maximum:g}")
    mean, variance = np.nanmean(Y, axis=0), np.nanvar(Y, axis=0)
    ratio = variance.sum() / mean.sum()
    if ratio <= _OVERDISPERSION:
        return InferredLikelihood(Poisson.name, f"counts whose variance is {ratio:.2g} times their mean")
    if _are_scores(Y, mean, variance):
        return InferredLikelihood(Gaussian.name, "positive integers less skewed than counts")
    return InferredLikelihood(NegativeBinomial.name, f"counts whose variance is {ratio:.2g} times their mean")


def _scale_maximum(Y: Float[np.ndarray, "N R"]) -> float | None:
    """Return the maximum if it bounds a scale, None if it is the end of a tail.

    A tail whose last two values occur b and a times has about a²/b entries at the next value.
    """
    maximum = float(np.nanmax(Y))
    n_maximum, n_below = int(np.sum(maximum == Y)), int(np.sum(maximum - 1 == Y))
    large = maximum >= _MIN_SCALE_MAXIMUM or np.nanmin(Y) > 0
    truncated = n_maximum >= _MIN_ENTRIES_AT_MAXIMUM and n_maximum**2 > _MIN_ENTRIES_BEYOND * n_below
    return maximum if large and truncated else None


def _are_scores(Y: Float[np.ndarray, "N R"], mean: Float[np.ndarray, " R"], variance: Float[np.ndarray, " R"]) -> bool:
    """Return whether integers are grey levels or rounded measurements: mostly positive columns with little skewness.

    A negative binomial with mean m and variance v = d m has the skewness (2 d - 1) / sqrt(v).
    """
    if Y.shape[1] < _MIN_SCORE_COLUMNS or np.mean(np.nanmin(Y, axis=0) > 0) <= _MOST:
        return False
    skewness = np.nanmean((Y - mean) ** 3, axis=0) / variance**1.5
    return bool(np.median(skewness - _MAX_RELATIVE_SKEWNESS * (2 * variance / mean - 1) / np.sqrt(variance)) < 0)


def _outlier_fraction(Y: Float[np.ndarray, "N R"]) -> float:
    """Return the fraction of outliers among the entries; zero if there are few, or few columns have any.

    Columns in which one value is frequent are skipped.
    """
    n_outliers, n_entries, n_columns, n_with_outliers = 0, 0, 0, 0
    for column in Y.T:
        entries = column[~np.isnan(column)]
        if _has_frequent_value(entries):
            continue
        n_found = int(_outliers(entries).sum())
        n_outliers, n_entries = n_outliers + n_found, n_entries + len(entries)
        n_columns, n_with_outliers = n_columns + 1, n_with_outliers + (n_found > 0)
    heavy = n_outliers >= _MIN_OUTLIERS and n_with_outliers > _OUTLIER_COLUMN_FRACTION * n_columns
    return n_outliers / n_entries if heavy else 0.0


def _outliers(entries: Float[np.ndarray, " E"]) -> Bool[np.ndarray, " E"]:
    """Return the mask of outliers, with a separate spread on each side of the median so that skewness is no outlier."""
    deviation = entries - np.median(entries)
    above, below = deviation[deviation > 0], -deviation[deviation < 0]
    spread = np.where(deviation > 0, np.median(above), np.median(below)) if len(above) and len(below) else np.inf
    return np.abs(deviation) > _OUTLIER_DISTANCE * _MAD_TO_STD * spread


def _has_frequent_value(entries: Float[np.ndarray, " E"]) -> bool:
    """Return whether one value is frequent, as zeros are in sparse columns."""
    _, counts = np.unique(entries, return_counts=True)
    return bool(counts.max() > max(_MAX_REPEATED_FRACTION * len(entries), 1))


def check_support(
    name: str, Y: Float[np.ndarray, "N M"], likelihood: str, classes: Sequence[Label] | None = None
) -> None:
    """Check that the entries of a view are in the support of its likelihood, and that the view is not constant.

    Args:
        name: the view, for messages.
        Y: the view; NaN is missing.
        likelihood: a registered name.
        classes: the classes of a label view, whose codes are in Y.

    Raises:
        ViewError: an entry is not in the support, or a discrete view is constant.
        ValueError: the likelihood is unknown.
    """
    support = LIKELIHOODS[check_choice(likelihood, "likelihood", tuple(LIKELIHOODS))].support
    if support is Support.REAL:
        return
    if support is Support.POSITIVE:
        check_positive(name, Y, likelihood)
    elif support is Support.COUNTS:
        check_counts(name, Y, likelihood)
    elif support is Support.BINARY:
        _check_two_values(name, distinct_values(Y), likelihood)
    elif Y.shape[1] > 1:
        check_one_hot(name, Y)
    else:
        _check_classes(name, Y, distinct_values(Y))
    _check_not_constant(name, Y, likelihood, classes)


def check_counts(name: str, Y: Float[np.ndarray, "N M"], likelihood: str) -> None:
    """Check that all entries are counts: integers of at least zero.

    Raises:
        ViewError: an entry is negative or fractional.
    """
    if all(_are_counts(Y[rows]) for rows in row_blocks(*Y.shape)):
        return
    expected = f"counts, 0, 1, 2, ..., to be {likelihood}"
    remedy = f"Pass raw counts, or use likelihood '{Gaussian.name}' for measurements and for logarithms of counts."
    _reject_entries(name, Y, Y < 0, "are negative", expected, remedy)
    _reject_entries(name, Y, ~np.isnan(Y) & (np.rint(Y) != Y), "are not integers", expected, remedy)


def check_positive(name: str, Y: Float[np.ndarray, "N M"], likelihood: str) -> None:
    """Check that all entries are positive.

    Raises:
        ViewError: an entry is zero or negative.
    """
    remedy = f"Set entries below the detection limit to NaN or to that limit, or use likelihood '{Gaussian.name}'."
    _reject_entries(name, Y, Y <= 0, "are not", f"positive numbers to be {likelihood}", remedy)


def _reject_entries(
    name: str, Y: Float[np.ndarray, "N M"], wrong: Bool[np.ndarray, "N M"], problem: str, expected: str, remedy: str
) -> None:
    """Raise an exception that names the first of the wrong entries, if there are any."""
    if wrong.any():
        row, column = (int(position) for position in np.argwhere(wrong)[0])
        raise ViewError(
            f"View '{name}' must hold {expected}. Got {int(wrong.sum())} entries that {problem}, the first, "
            f"{Y[row, column]:g}, in row {row}, column {column}. {remedy}"
        )


def _are_counts(Y: Float[np.ndarray, "n M"]) -> bool:
    return bool((np.isnan(Y) | ((Y >= 0) & (np.rint(Y) == Y))).all())


def _check_two_values(name: str, values: Float[np.ndarray, " u"], likelihood: str) -> None:
    if len(values) > 2:
        raise ViewError(
            f"View '{name}' must hold two distinct values to be {likelihood}, such as 0 and 1. Got {len(values)}: "
            f"{listed(_short(values))}. Apply a threshold, for example Y > 0.5, or use another likelihood."
        )


def check_one_hot(name: str, Y: Float[np.ndarray, "N M"]) -> None:
    """Check that every row is one-hot or missing.

    Raises:
        ViewError: a row is neither.
    """
    observed = ~np.isnan(Y).all(axis=1)
    one_hot = one_hot_rows(Y)
    wrong = observed & ~one_hot
    if not wrong.any():
        return
    if not one_hot.any():
        raise ViewError(
            f"View '{name}' must be one column of classes, or one-hot, to be {Categorical.name}. Got {Y.shape[1]} "
            "columns and no one-hot row. Pass every column as a separate view, or use another likelihood."
        )
    row = int(np.flatnonzero(wrong)[0])
    raise ViewError(
        f"Every row of view '{name}' must be one-hot to be {Categorical.name}, or NaN in all columns if it is missing. "
        f"Got {int(wrong.sum())} other rows, the first is row {row}: {listed(_short(Y[row]))}. "
        "Correct them, or set them to NaN."
    )


def _check_classes(name: str, Y: Float[np.ndarray, "N 1"], values: Float[np.ndarray, " C"]) -> None:
    n_rows = int((~np.isnan(Y)).sum())
    if len(values) > 1 and n_rows < _MIN_ROWS_PER_CLASS * len(values):
        raise ViewError(
            f"View '{name}' must have at least {_MIN_ROWS_PER_CLASS} rows per class on average to be "
            f"{Categorical.name}. Got {len(values)} classes in {n_rows} rows, which looks like an identifier. Leave "
            "the view out, merge classes, or pass measurements as a matrix, view.reshape(-1, 1)."
        )


def _check_not_constant(
    name: str, Y: Float[np.ndarray, "N M"], likelihood: str, classes: Sequence[Label] | None
) -> None:
    support = LIKELIHOODS[likelihood].support
    low, high = np.fmin.reduce(Y, axis=0), np.fmax.reduce(Y, axis=0)
    constant = len(distinct_values(Y)) < 2 if support is Support.BINARY else not (low < high).any()
    if not constant:
        return
    if support is Support.ONE_HOT:
        only = f"column {int(np.nanargmax(low))}" if Y.shape[1] > 1 else _short(distinct_values(Y))[0]
        raise ViewError(
            f"View '{name}' must have at least two classes. Got one, {repr(classes[0]) if classes else only}, in every "
            "observed row. Leave the view out."
        )
    raise ViewError(
        f"View '{name}' is constant: none of its {Y.shape[1]} columns varies, so it is uninformative as {likelihood}. "
        "Leave the view out."
    )


def _short(values: Float[np.ndarray, " u"]) -> list[float | int]:
    """Return numbers in a short form for messages: integers without a decimal point, others with six digits."""
    return [int(value) if value == np.rint(value) else float(f"{value:g}") for value in values.tolist()]
