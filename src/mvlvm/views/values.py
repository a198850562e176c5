"""Whether a view can be what its likelihood says: counts that are counts, two values, classes."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.checks import check_choice
from mvlvm.errors import ViewError
from mvlvm.row_blocks import row_blocks
from mvlvm.views.kinds import LIKELIHOODS, one_hot_rows
from mvlvm.views.label_forms import Label
from mvlvm.views.listing import listed
from mvlvm.views.missing import distinct_values

COUNTS = ("poisson", "negative-binomial")
_FEWEST_ROWS_PER_CLASS = 2


def check_values(
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
