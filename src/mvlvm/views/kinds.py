"""What a view holds: measurements, counts, yes or no, classes. Guessed as a statistician would, and said why."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

LIKELIHOODS = ("gaussian", "student-t", "bernoulli", "poisson", "negative-binomial", "categorical")

# A column of whole numbers with at most so many values, each in so many rows on average, holds classes.
_MOST_CLASSES, _ROWS_PER_CLASS = 20, 5
# Two values are no accident in a view with so many entries.
_FEW_ENTRIES = 10
_MOST = 0.5
# Counts are dispersed if their variances are so many times their means, all columns together.
_DISPERSED = 1.5
# A scale has an upper end: at least so large where it starts at zero, held by so many entries, and with nothing beyond
# it where a tail would have so many more. The largest of many counts is reached once or twice.
_SMALLEST_END, _TIMES_AT_END, _MISSING_BEYOND = 4, 10, 8
# Grey levels and scores that stay above zero: so many columns, less than this share of the skewness that counts have.
_MANY_COLUMNS, _LITTLE_SKEWED = 10, 0.25
# Tails are heavy if such a share of entries lies so many robust standard deviations out, in a good part of the
# columns. A Gaussian has 2e-9 there, the exponential 0.001, Student's t with three degrees of freedom 0.006.
_FAR_OUT, _HEAVY_SHARE, _GOOD_PART, _FEW_OUTLIERS = 6.0, 0.004, 0.25, 3
# A column in which one value makes up so much has no spread that its median deviation could measure.
_REPEATED = 0.2
# The median of the absolute deviations of a Gaussian, times this, is its standard deviation.
_MAD_TO_STD = 1.4826


class Guess(NamedTuple):
    """A likelihood, and why it was taken."""

    likelihood: str
    reason: str


def guess_likelihood(Y: Float[np.ndarray, "N M"]) -> Guess:
    """Guess the likelihood of a view by looking at it.

    Args:
        Y: the view; NaN is missing. Columns that do not vary have no say.

    Example:
        >>> guess_likelihood(np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
        Guess(likelihood='bernoulli', reason='two values only, 0 and 1')
    """
    entries = Y[~np.isnan(Y)]
    if is_one_hot(Y):
        return Guess("categorical", f"one-hot rows, {Y.shape[1]} classes")
    values, times = _few_values(entries)
    if Y.shape[1] == 1 and _are_classes(values, times):
        return Guess("categorical", f"one column with {len(values)} whole numbers, as classes have")
    if len(values) == 2 and len(entries) >= _FEW_ENTRIES:
        return Guess("bernoulli", f"two values only, {values[0]:g} and {values[1]:g}")
    if len(entries) and entries.min() >= 0 and are_whole(entries):
        return _guess_whole_numbers(_varying(Y))
    share = _share_far_out(_varying(Y))
    if share > _HEAVY_SHARE:
        return Guess("student-t", f"heavy tails: {share:.1%} of the entries lie far out")
    return Guess("gaussian", "measurements without heavy tails")


def is_one_hot(Y: Float[np.ndarray, "N M"]) -> bool:
    """Tell whether every row has a one and else zeros, or is missing altogether."""
    rows = Y[~np.isnan(Y).all(axis=1)]
    return Y.shape[1] > 1 and len(rows) > 0 and bool(one_hot_rows(rows).all())


def one_hot_rows(Y: Float[np.ndarray, "N M"]) -> Bool[np.ndarray, " N"]:
    """Tell which rows have a one and else zeros."""
    return np.asarray(((Y == 0) | (Y == 1)).all(axis=1) & (Y.sum(axis=1) == 1))


def are_whole(entries: Float[np.ndarray, " E"]) -> bool:
    """Tell whether numbers are whole."""
    return bool((entries == np.rint(entries)).all())


def _few_values(entries: Float[np.ndarray, " E"]) -> tuple[Float[np.ndarray, " u"], np.ndarray]:
    """Give the different values and how often they come; none if a first look finds too many to matter."""
    if len(np.unique(entries[:1000])) > _MOST_CLASSES:
        return np.empty(0), np.empty(0, dtype=np.int64)
    return np.unique(entries, return_counts=True)


def _are_classes(values: Float[np.ndarray, " u"], times: np.ndarray) -> bool:
    few = 2 < len(values) <= _MOST_CLASSES and times.sum() >= _ROWS_PER_CLASS * len(values)
    return bool(few and are_whole(values) and times.min() > 1)


def _varying(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N R"]:
    """Give the columns in which there are two values at least."""
    low, high = np.fmin.reduce(Y, axis=0), np.fmax.reduce(Y, axis=0)
    return Y[:, low < high]


def _guess_whole_numbers(Y: Float[np.ndarray, "N R"]) -> Guess:
    """Tell counts from numbers on a scale."""
    if not Y.shape[1]:
        return Guess("gaussian", "no column varies")
    end = _end_of_scale(Y)
    if end is not None:
        return Guess("gaussian", f"whole numbers on a scale that ends at {end:g}")
    mean, variance = np.nanmean(Y, axis=0), np.nanvar(Y, axis=0)
    ratio = variance.sum() / mean.sum()
    if ratio <= _DISPERSED:
        return Guess("poisson", f"counts whose variance is {ratio:.2g} times their mean")
    if _look_like_scores(Y, mean, variance):
        return Guess("gaussian", "whole numbers above zero that are not skewed as counts are")
    return Guess("negative-binomial", f"counts whose variance is {ratio:.2g} times their mean")


def _end_of_scale(Y: Float[np.ndarray, "N R"]) -> float | None:
    """Give the largest value if many entries hold it, None if it is the end of a tail.

    A tail that thins out from b to a entries in its last step has about a²/b in the next one.
    """
    end = float(np.nanmax(Y))
    times, times_below = int(np.sum(end == Y)), int(np.sum(end - 1 == Y))
    large = end >= _SMALLEST_END or np.nanmin(Y) > 0
    cut = times >= _TIMES_AT_END and times**2 > _MISSING_BEYOND * times_below
    return end if large and cut else None


def _look_like_scores(
    Y: Float[np.ndarray, "N R"], mean: Float[np.ndarray, " R"], variance: Float[np.ndarray, " R"]
) -> bool:
    """Tell grey levels and rounded measurements from counts: most columns stay above zero, and are hardly skewed.

    A negative binomial with mean m and variance v = d m has the skewness (2 d - 1) / sqrt(v).
    """
    if Y.shape[1] < _MANY_COLUMNS or np.mean(np.nanmin(Y, axis=0) > 0) <= _MOST:
        return False
    skewness = np.nanmean((Y - mean) ** 3, axis=0) / variance**1.5
    return bool(np.median(skewness - _LITTLE_SKEWED * (2 * variance / mean - 1) / np.sqrt(variance)) < 0)


def _share_far_out(Y: Float[np.ndarray, "N R"]) -> float:
    """Give the share of entries far out in the tails; zero if there are few, or in few columns.

    Each side of the median has a spread of its own, so that a skewed column is not taken for one with heavy tails.
    """
    far, seen, measured, with_far = 0, 0, 0, 0
    for column in Y.T:
        entries = column[~np.isnan(column)]
        if _has_repeated(entries):
            continue
        out = int(_far_out(entries).sum())
        far, seen, measured, with_far = far + out, seen + len(entries), measured + 1, with_far + (out > 0)
    return far / seen if far >= _FEW_OUTLIERS and with_far > _GOOD_PART * measured else 0.0


def _far_out(entries: Float[np.ndarray, " E"]) -> Bool[np.ndarray, " E"]:
    deviation = entries - np.median(entries)
    above, below = deviation[deviation > 0], -deviation[deviation < 0]
    spread = np.where(deviation > 0, np.median(above), np.median(below)) if len(above) and len(below) else np.inf
    return np.abs(deviation) > _FAR_OUT * _MAD_TO_STD * spread


def _has_repeated(entries: Float[np.ndarray, " E"]) -> bool:
    """Tell whether one value makes up a good part of a column, as zeros do in sparse ones."""
    _, times = np.unique(entries, return_counts=True)
    return bool(times.max() > max(_REPEATED * len(entries), 1))
