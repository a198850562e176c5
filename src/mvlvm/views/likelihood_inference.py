"""What a view holds: measurements, counts, yes or no, classes. Guessed as a statistician would, and said why.

Whether a view can be what its likelihood says: counts that are counts, two values, classes.

From the likelihoods that a user asks for to those that the views get.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import check_choice, listed
from mvlvm.errors import ViewError
from mvlvm.row_blocks import row_blocks
from mvlvm.views.labels import Label
from mvlvm.views.layout import Views
from mvlvm.views.scaling import distinct_values, per_view

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


class InferredLikelihood(NamedTuple):
    """A likelihood, and why it was taken."""

    likelihood: str
    reason: str


def infer_likelihood(Y: Float[np.ndarray, "N M"]) -> InferredLikelihood:
    """Infer the likelihood of a view from its entries.

    Args:
        Y: the view; NaN is missing. Columns that do not vary have no say.

    Example:
        >>> infer_likelihood(np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
        InferredLikelihood(likelihood='bernoulli', reason='two values only, 0 and 1')
    """
    entries = Y[~np.isnan(Y)]
    if is_one_hot(Y):
        return InferredLikelihood("categorical", f"one-hot rows, {Y.shape[1]} classes")
    values, times = _few_values(entries)
    if Y.shape[1] == 1 and _are_classes(values, times):
        return InferredLikelihood("categorical", f"one column with {len(values)} whole numbers, as classes have")
    if len(values) == 2 and len(entries) >= _FEW_ENTRIES:
        return InferredLikelihood("bernoulli", f"two values only, {values[0]:g} and {values[1]:g}")
    if len(entries) and entries.min() >= 0 and are_integers(entries):
        return _guess_whole_numbers(_varying(Y))
    share = _share_far_out(_varying(Y))
    if share > _HEAVY_SHARE:
        return InferredLikelihood("student-t", f"heavy tails: {share:.1%} of the entries lie far out")
    return InferredLikelihood("gaussian", "measurements without heavy tails")


def is_one_hot(Y: Float[np.ndarray, "N M"]) -> bool:
    """Tell whether every row has a one and else zeros, or is missing altogether."""
    rows = Y[~np.isnan(Y).all(axis=1)]
    return Y.shape[1] > 1 and len(rows) > 0 and bool(one_hot_rows(rows).all())


def one_hot_rows(Y: Float[np.ndarray, "N M"]) -> Bool[np.ndarray, " N"]:
    """Tell which rows have a one and else zeros."""
    return np.asarray(((Y == 0) | (Y == 1)).all(axis=1) & (Y.sum(axis=1) == 1))


def are_integers(entries: Float[np.ndarray, " E"]) -> bool:
    """Tell whether numbers are whole."""
    return bool((entries == np.rint(entries)).all())


def _few_values(entries: Float[np.ndarray, " E"]) -> tuple[Float[np.ndarray, " u"], np.ndarray]:
    """Give the different values and how often they come; none if a first look finds too many to matter."""
    if len(np.unique(entries[:1000])) > _MOST_CLASSES:
        return np.empty(0), np.empty(0, dtype=np.int64)
    return np.unique(entries, return_counts=True)


def _are_classes(values: Float[np.ndarray, " u"], times: np.ndarray) -> bool:
    few = 2 < len(values) <= _MOST_CLASSES and times.sum() >= _ROWS_PER_CLASS * len(values)
    return bool(few and are_integers(values) and times.min() > 1)


def _varying(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N R"]:
    """Give the columns in which there are two values at least."""
    low, high = np.fmin.reduce(Y, axis=0), np.fmax.reduce(Y, axis=0)
    return Y[:, low < high]


def _guess_whole_numbers(Y: Float[np.ndarray, "N R"]) -> InferredLikelihood:
    """Tell counts from numbers on a scale."""
    if not Y.shape[1]:
        return InferredLikelihood("gaussian", "no column varies")
    end = _end_of_scale(Y)
    if end is not None:
        return InferredLikelihood("gaussian", f"whole numbers on a scale that ends at {end:g}")
    mean, variance = np.nanmean(Y, axis=0), np.nanvar(Y, axis=0)
    ratio = variance.sum() / mean.sum()
    if ratio <= _DISPERSED:
        return InferredLikelihood("poisson", f"counts whose variance is {ratio:.2g} times their mean")
    if _look_like_scores(Y, mean, variance):
        return InferredLikelihood("gaussian", "whole numbers above zero that are not skewed as counts are")
    return InferredLikelihood("negative-binomial", f"counts whose variance is {ratio:.2g} times their mean")


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


COUNTS = ("poisson", "negative-binomial")
_FEWEST_ROWS_PER_CLASS = 2


def check_support(
    name: str, Y: Float[np.ndarray, "N M"], likelihood: str, classes: Sequence[Label] | None = None
) -> None:
    """Refuse a view that its likelihood cannot have made, or can learn nothing from.

    Args:
        name: the view, for messages.
        Y: the view; NaN is missing.
        likelihood: one of `LIKELIHOODS`.
        classes: the classes of a label view, whose codes are in Y.

    Raises:
        ViewError: its values are not of this kind.
        ValueError: there is no such likelihood.
    """
    check_choice(likelihood, "likelihood", LIKELIHOODS)
    if likelihood in COUNTS:
        check_counts(name, Y, likelihood)
    elif likelihood == "bernoulli":
        _check_two_values(name, distinct_values(Y))
    elif likelihood == "categorical" and Y.shape[1] > 1:
        check_one_hot(name, Y)
    elif likelihood == "categorical":
        _check_classes(name, Y, distinct_values(Y))
    if likelihood in ("bernoulli", "categorical", *COUNTS):
        _check_variety(name, Y, likelihood, classes)


def check_counts(name: str, Y: Float[np.ndarray, "N M"], likelihood: str) -> None:
    """Refuse numbers that are no counts.

    Raises:
        ViewError: some are negative, or not whole.
    """
    if all(_are_counts(Y[rows]) for rows in row_blocks(*Y.shape)):
        return
    negative, fractional = Y < 0, ~np.isnan(Y) & (np.rint(Y) != Y)
    for wrong, word in ((negative, "negative"), (fractional, "not whole")):
        if wrong.any():
            row, column, value = _first(Y, wrong)
            raise ViewError(
                f"View '{name}' must hold counts, 0, 1, 2, ..., to be {likelihood}. Got {int(wrong.sum())} entries "
                f"that are {word}, the first, {value:g}, in row {row}, column {column}. Give raw counts, or likelihood "
                "'gaussian' for measurements and for logarithms of counts."
            )


def _are_counts(Y: Float[np.ndarray, "n M"]) -> bool:
    return bool((np.isnan(Y) | ((Y >= 0) & (np.rint(Y) == Y))).all())


def _check_two_values(name: str, values: Float[np.ndarray, " u"]) -> None:
    if len(values) > 2:
        raise ViewError(
            f"View '{name}' must hold two values to be bernoulli, such as 0 and 1. Got {len(values)}: "
            f"{listed(_short(values))}. Set a threshold, for example Y > 0.5, or give it another likelihood."
        )


def check_one_hot(name: str, Y: Float[np.ndarray, "N M"]) -> None:
    """Refuse rows that are not one-hot.

    Raises:
        ViewError: some are not, or none is.
    """
    seen = ~np.isnan(Y).all(axis=1)
    good = one_hot_rows(Y)
    wrong = seen & ~good
    if not wrong.any():
        return
    if not good.any():
        raise ViewError(
            f"View '{name}' must be one column of classes, or one-hot, to be categorical. Got {Y.shape[1]} columns, "
            "and no row with a one and else zeros. Give every column as a view of its own, or give the view another "
            "likelihood."
        )
    row = int(np.flatnonzero(wrong)[0])
    raise ViewError(
        f"Every row of view '{name}' must have a one and else zeros to be categorical, or be NaN throughout. "
        f"Got {int(wrong.sum())} rows that have not, the first is row {row}: {listed(_short(Y[row]))}. "
        "Correct them, or set them to NaN."
    )


def _check_classes(name: str, Y: Float[np.ndarray, "N 1"], values: Float[np.ndarray, " C"]) -> None:
    n_rows = int((~np.isnan(Y)).sum())
    if len(values) > 1 and n_rows < _FEWEST_ROWS_PER_CLASS * len(values):
        raise ViewError(
            f"View '{name}' must have at least {_FEWEST_ROWS_PER_CLASS} rows per class on average to be categorical. "
            f"Got {len(values)} classes in {n_rows} rows, as an identifier has. Leave the view out, merge classes, or "
            "give numbers that measure something as a matrix, view.reshape(-1, 1)."
        )


def _check_variety(name: str, Y: Float[np.ndarray, "N M"], likelihood: str, classes: Sequence[Label] | None) -> None:
    """Refuse a view in which nothing varies."""
    low, high = np.fmin.reduce(Y, axis=0), np.fmax.reduce(Y, axis=0)
    alike = len(distinct_values(Y)) < 2 if likelihood == "bernoulli" else not (low < high).any()
    if not alike:
        return
    if likelihood == "categorical":
        only = f"column {int(np.nanargmax(low))}" if Y.shape[1] > 1 else _short(distinct_values(Y))[0]
        raise ViewError(
            f"View '{name}' must have at least two classes. Got one, {repr(classes[0]) if classes else only}, in every "
            "row where it is observed. Leave the view out."
        )
    raise ViewError(
        f"View '{name}' is constant: none of its {Y.shape[1]} columns varies, so it tells nothing as {likelihood}. "
        "Leave the view out."
    )


def _first(Y: Float[np.ndarray, "N M"], where: Bool[np.ndarray, "N M"]) -> tuple[int, int, float]:
    row, column = (int(place) for place in np.argwhere(where)[0])
    return row, column, float(Y[row, column])


def _short(values: Float[np.ndarray, " u"]) -> list[float | int]:
    """Give numbers as they are best read, whole ones without a point."""
    return [int(value) if value == np.rint(value) else float(f"{value:g}") for value in values.tolist()]


def resolve_likelihoods(asked: Any, views: Views) -> dict[str, InferredLikelihood]:
    """Give the likelihood of every view, and why it has it.

    Label views are categorical, also where one likelihood is asked for all views. "auto" is guessed from the data.

    Args:
        asked: one likelihood for all views, or view name -> likelihood; one of `LIKELIHOODS`, or "auto".
        views: the training views.

    Raises:
        ValueError: there is no such likelihood.
        ViewError: a view's values are not of the kind that was asked for.
    """
    wishes = {
        name: check_choice(wish, "likelihood", (*LIKELIHOODS, "auto"))
        for name, wish in per_view(asked, views.names, "likelihood").items()
    }
    by_name = isinstance(asked, Mapping)
    resolved = {name: _resolve(name, wish, views, by_name=by_name) for name, wish in wishes.items()}
    for name, guess in resolved.items():
        check_support(name, views.arrays[name], guess.likelihood, views.classes.get(name))
    return resolved


def _resolve(name: str, wish: str, views: Views, *, by_name: bool) -> InferredLikelihood:
    if name not in views.classes:
        return infer_likelihood(views.arrays[name]) if wish == "auto" else InferredLikelihood(wish, "as asked")
    classes = views.classes[name]
    two = len(classes) == 2 and wish == "bernoulli"
    if by_name and wish not in ("auto", "categorical") and not two:
        numbers = "" if isinstance(classes[0], str) else ", or give its numbers as a matrix, view.reshape(-1, 1)"
        raise ViewError(
            f"View '{name}' holds labels and must be categorical. Got likelihood '{wish}' for it. "
            f"Give 'categorical' or 'auto'{numbers}."
        )
    return InferredLikelihood("categorical", f"labels, {len(classes)} classes")
