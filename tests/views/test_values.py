"""A view that cannot be what its likelihood says gets one sentence."""

import re

import numpy as np
import pytest

from mvlvm import ViewError
from mvlvm.views.values import check_values

COUNTS = np.arange(12.0).reshape(4, 3)
ONE_HOT = np.eye(3)[[0, 1, 2, 0]]
LABELS = np.array([[1.0], [2.0], [1.0], [2.0]])
GAP = np.array([[0.0, 1.0], [np.nan, 0.0], [np.nan, np.nan], [1.0, 1.0]])


def message(Y, likelihood, classes=None):
    with pytest.raises(ViewError) as caught:
        check_values("x", Y, likelihood, classes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("Y", "likelihood"),
    [
        (COUNTS, "poisson"),
        (COUNTS, "negative-binomial"),
        (GAP, "bernoulli"),
        (GAP * 4 + 5, "bernoulli"),
        (GAP, "poisson"),
        (ONE_HOT, "categorical"),
        (np.vstack([ONE_HOT, np.full((1, 3), np.nan)]), "categorical"),
        (LABELS, "categorical"),
        (COUNTS - 0.5, "gaussian"),
        (COUNTS - 0.5, "student-t"),
    ],
)
def test_good_values_pass(Y, likelihood):
    check_values("x", Y, likelihood)


@pytest.mark.parametrize("likelihood", ["poisson", "negative-binomial"])
def test_what_is_no_count_is_counted_and_shown(likelihood):
    negative = np.where(COUNTS > 9, -2.0, COUNTS)
    assert message(negative, likelihood) == (
        f"View 'x' must hold counts, 0, 1, 2, ..., to be {likelihood}. Got 2 entries that are negative, the first, -2, "
        "in row 3, column 1. Give raw counts, or likelihood 'gaussian' for measurements and for logarithms of counts."
    )
    fractional = np.where(COUNTS == 5, 2.5, COUNTS)
    assert "Got 1 entries that are not whole, the first, 2.5, in row 1, column 2." in message(fractional, likelihood)
    assert message(np.full((3, 2), 4.0), likelihood).startswith("View 'x' is constant: none of its 2 columns varies")


def test_bernoulli_needs_two_values():
    assert message(COUNTS, "bernoulli") == (
        "View 'x' must hold two values to be bernoulli, such as 0 and 1. Got 12: 0, 1, 2, 3, 4, .... "
        "Set a threshold, for example Y > 0.5, or give it another likelihood."
    )
    assert message(np.ones((3, 2)), "bernoulli").endswith("so it tells nothing as bernoulli. Leave the view out.")


def test_bernoulli_columns_may_be_constant_if_the_view_is_not():
    check_values("x", np.array([[0.0, 1.0], [0.0, 1.0]]), "bernoulli")


def test_a_single_class_is_refused_by_its_name():
    single = "View 'x' must have at least two classes. Got one, {}, in every row where it is observed."
    assert message(np.full((3, 1), 7.0), "categorical").startswith(single.format("7"))
    assert message(np.zeros((3, 1)), "categorical", ("cat",)).startswith(single.format("'cat'"))
    assert message(np.eye(3)[[1, 1, 1]], "categorical").startswith(single.format("column 1"))


def test_rows_that_are_not_one_hot_are_counted_and_shown():
    wrong = ONE_HOT.copy()
    wrong[2], wrong[3, 1] = [0.5, 0.5, 0.0], 1.0
    assert message(wrong, "categorical") == (
        "Every row of view 'x' must have a one and else zeros to be categorical, or be NaN throughout. Got 2 rows that "
        "have not, the first is row 2: 0.5, 0.5, 0. Correct them, or set them to NaN."
    )


def test_a_one_hot_row_with_a_gap_is_refused():
    wrong = ONE_HOT.copy()
    wrong[1, 0] = np.nan
    assert "the first is row 1: nan, 1, 0." in message(wrong, "categorical")


def test_several_columns_of_classes_are_no_categorical_view():
    assert message(COUNTS, "categorical") == (
        "View 'x' must be one column of classes, or one-hot, to be categorical. Got 3 columns, and no row with a one "
        "and else zeros. Give every column as a view of its own, or give the view another likelihood."
    )


def test_an_identifier_is_no_class():
    assert message(np.arange(7.0)[:, None], "categorical") == (
        "View 'x' must have at least 2 rows per class on average to be categorical. Got 7 classes in 7 rows, as an "
        "identifier has. Leave the view out, merge classes, or give numbers that measure something as a matrix, "
        "view.reshape(-1, 1)."
    )


def test_an_unknown_likelihood_gets_the_list_of_known_ones():
    known = (
        "likelihood must be one of 'gaussian', 'student-t', 'bernoulli', 'poisson', 'negative-binomial', "
        "'categorical'. Got 'nb'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(known)}$"):
        check_values("x", COUNTS, "nb")
