"""What a view holds, as a statistician would say.

A view that cannot be what its likelihood says gets one sentence.

What a user asks for, and what the views get.
"""

import re

import numpy as np
import pytest

from mvlvm import ViewError, datasets
from mvlvm.datasets.registry import REGISTRY
from mvlvm.views import as_views
from mvlvm.views.likelihood_inference import LIKELIHOODS, check_support, infer_likelihood, resolve_likelihoods
from mvlvm.views.sparse import is_sparse
from tests.datasets.at_hand import need

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
CLASS = RNG.integers(5, size=400)
LABELS = CLASS.astype(float)[:, None]
ONE_HOT = np.eye(5)[CLASS]
NORMAL = RNG.normal(size=(200, 8))
SPIKES = np.where(RNG.random((200, 8)) < 0.02, 30.0, 1.0)
GUESSES = {
    "normal": (NORMAL, "gaussian"),
    "clusters": (NORMAL + 8 * RNG.integers(3, size=(200, 1)), "gaussian"),
    "exponential": (RNG.exponential(size=(500, 8)), "gaussian"),
    "rounded, with signs": (np.rint(5 * NORMAL), "gaussian"),
    "zeros beside lognormals, as tf-idf": (
        np.where(RNG.random((300, 20)) < 0.6, 0, RNG.lognormal(size=(300, 20))),
        "gaussian",
    ),
    "Student's t": (RNG.standard_t(3, size=(300, 8)), "student-t"),
    "Student's t in few rows": (RNG.standard_t(2, size=(60, 8)), "student-t"),
    "outliers": (NORMAL * SPIKES, "student-t"),
    "zero and one": (1.0 * (NORMAL > 1), "bernoulli"),
    "minus one and one": (np.sign(NORMAL), "bernoulli"),
    "five and nine in one column": (np.where(NORMAL[:, :1] > 0, 5.0, 9.0), "bernoulli"),
    "two numbers in two rows": (np.array([[1.3], [2.7]]), "gaussian"),
    "one-hot": (ONE_HOT, "categorical"),
    "label column": (LABELS, "categorical"),
    "label column that starts at three": (LABELS + 3, "categorical"),
    "two label columns": (np.hstack([LABELS, LABELS + 1]), "gaussian"),
    "counts": (RNG.poisson(5, size=(300, 20)), "poisson"),
    "few counts": (RNG.poisson(1, size=(50, 10)), "poisson"),
    "rare counts": (RNG.poisson(0.05, size=(300, 200)), "poisson"),
    "many counts": (RNG.poisson(100, size=(500, 20)), "poisson"),
    "one column of counts": (RNG.poisson(30, size=(200, 1)), "poisson"),
    "dispersed counts": (RNG.negative_binomial(3, 0.05, size=(400, 20)), "negative-binomial"),
    "counts that follow a latent": (
        RNG.poisson(np.exp(4 + 0.5 * np.sin(X @ RNG.normal(size=(2, 30))))),
        "negative-binomial",
    ),
    "counts in clusters": (RNG.poisson(RNG.lognormal(3, 1, size=(5, 30))[CLASS]), "negative-binomial"),
    "grey levels": (np.clip(RNG.normal(120, 80, size=(200, 50)), 0, 255).round(), "gaussian"),
    "grey levels that reach no end": (RNG.normal(120, 20, size=(200, 50)).clip(1, 250).round(), "gaussian"),
    "ratings": (RNG.integers(1, 6, size=(100, 8)), "gaussian"),
    "three steps": (RNG.integers(1, 4, size=(100, 8)), "gaussian"),
    "constant": (np.ones((20, 3)), "gaussian"),
}


@pytest.mark.parametrize("case", GUESSES)
def test_a_likelihood_is_guessed_with_a_reason(case):
    Y, expected = GUESSES[case]
    guess = infer_likelihood(np.asarray(Y, dtype=np.float64))
    assert guess.likelihood == expected
    assert expected in LIKELIHOODS
    assert 0 < len(guess.reason) < 80


@pytest.mark.parametrize("case", GUESSES)
def test_rows_that_are_missing_do_not_change_the_guess(case):
    Y, expected = GUESSES[case]
    gappy = np.vstack([np.asarray(Y, dtype=np.float64), np.full((7, np.shape(Y)[1]), np.nan)])
    assert infer_likelihood(gappy).likelihood == expected


def test_a_column_that_was_never_seen_does_not_matter():
    Y = np.column_stack([RNG.poisson(5, size=(300, 4)), np.full(300, np.nan)])
    assert infer_likelihood(Y).likelihood == "poisson"


def test_the_reason_names_the_values():
    assert infer_likelihood(np.where(NORMAL > 0, 5.0, 9.0)).reason == "two values only, 5 and 9"
    assert infer_likelihood(ONE_HOT).reason == "one-hot rows, 5 classes"
    ratings = np.asarray(GUESSES["ratings"][0], dtype=np.float64)
    assert infer_likelihood(ratings).reason == "whole numbers on a scale that ends at 5"


REAL = [
    ("digits-halves", "left", "gaussian"),
    ("bridges", "counts", "negative-binomial"),
    ("mfeat", "pix", "gaussian"),
    ("mfeat", "fac", "gaussian"),
    ("mfeat", "zer", "gaussian"),
    ("r-mnist", "image", "gaussian"),
    ("r-cifar", "image", "gaussian"),
    ("yale", "image", "gaussian"),
    ("brendan", "image", "gaussian"),
    ("newsgroups", "words", "negative-binomial"),
    ("movies", "keywords", "poisson"),
    ("cora", "content", "bernoulli"),
    ("bbcsport", "segment1", "gaussian"),
    ("cll", "mutations", "bernoulli"),
    ("cll", "drugs", "gaussian"),
    ("breast-tcga", "protein", "gaussian"),
    ("citeseq-pbmc", "protein", "negative-binomial"),
]
REAL_WITH_NEEDS = [pytest.param(*case, marks=need(*REGISTRY[case[0]].files)) for case in REAL]


@pytest.mark.parametrize(("name", "view", "expected"), REAL_WITH_NEEDS)
def test_real_views_are_what_they_are_known_to_be(name, view, expected):
    Y = datasets.load(name)[view]
    assert infer_likelihood(np.asarray(Y.toarray() if is_sparse(Y) else Y, dtype=np.float64)).likelihood == expected


@need(*REGISTRY["mfeat"].files)
def test_labels_of_a_data_set_are_classes_in_both_forms():
    data = datasets.load("mfeat", with_labels_as_view=True)
    assert infer_likelihood(data["label"]).likelihood == "categorical"
    assert infer_likelihood(data.labels.astype(float)[:, None]).likelihood == "categorical"


COUNTS = np.arange(12.0).reshape(4, 3)
ONE_HOT_values = np.eye(3)[[0, 1, 2, 0]]
LABELS_values = np.array([[1.0], [2.0], [1.0], [2.0]])
GAP = np.array([[0.0, 1.0], [np.nan, 0.0], [np.nan, np.nan], [1.0, 1.0]])


def message(Y, likelihood, classes=None):
    with pytest.raises(ViewError) as caught:
        check_support("x", Y, likelihood, classes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("Y", "likelihood"),
    [
        (COUNTS, "poisson"),
        (COUNTS, "negative-binomial"),
        (GAP, "bernoulli"),
        (GAP * 4 + 5, "bernoulli"),
        (GAP, "poisson"),
        (ONE_HOT_values, "categorical"),
        (np.vstack([ONE_HOT_values, np.full((1, 3), np.nan)]), "categorical"),
        (LABELS_values, "categorical"),
        (COUNTS - 0.5, "gaussian"),
        (COUNTS - 0.5, "student-t"),
    ],
)
def test_good_values_pass(Y, likelihood):
    check_support("x", Y, likelihood)


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
    check_support("x", np.array([[0.0, 1.0], [0.0, 1.0]]), "bernoulli")


def test_a_single_class_is_refused_by_its_name():
    single = "View 'x' must have at least two classes. Got one, {}, in every row where it is observed."
    assert message(np.full((3, 1), 7.0), "categorical").startswith(single.format("7"))
    assert message(np.zeros((3, 1)), "categorical", ("cat",)).startswith(single.format("'cat'"))
    assert message(np.eye(3)[[1, 1, 1]], "categorical").startswith(single.format("column 1"))


def test_rows_that_are_not_one_hot_are_counted_and_shown():
    wrong = ONE_HOT_values.copy()
    wrong[2], wrong[3, 1] = [0.5, 0.5, 0.0], 1.0
    assert message(wrong, "categorical") == (
        "Every row of view 'x' must have a one and else zeros to be categorical, or be NaN throughout. Got 2 rows that "
        "have not, the first is row 2: 0.5, 0.5, 0. Correct them, or set them to NaN."
    )


def test_a_one_hot_row_with_a_gap_is_refused():
    wrong = ONE_HOT_values.copy()
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
        check_support("x", COUNTS, "nb")


COUNTS_resolving = RNG.poisson(5, size=(60, 4))
TEXT = np.array(["a", "b", "c"] * 20)
VIEWS = as_views({"counts": COUNTS_resolving, "real": RNG.normal(size=(60, 3)), "label": TEXT})


def likelihoods(asked, views=VIEWS):
    return {name: guess.likelihood for name, guess in resolve_likelihoods(asked, views).items()}


def test_labels_are_categorical_whatever_all_views_are_to_be():
    assert likelihoods("gaussian") == {"counts": "gaussian", "real": "gaussian", "label": "categorical"}
    assert likelihoods("student-t") == {"counts": "student-t", "real": "student-t", "label": "categorical"}


def test_auto_is_guessed_with_a_reason():
    assert likelihoods("auto") == {"counts": "poisson", "real": "gaussian", "label": "categorical"}
    reasons = {name: guess.reason for name, guess in resolve_likelihoods("auto", VIEWS).items()}
    assert reasons["label"] == "labels, 3 classes"
    assert reasons["counts"].startswith("counts whose variance is")
    assert resolve_likelihoods("gaussian", VIEWS)["real"].reason == "as asked"


def test_every_view_can_have_its_own():
    asked = {"counts": "negative-binomial", "real": "auto", "label": "categorical"}
    assert likelihoods(asked) == {"counts": "negative-binomial", "real": "gaussian", "label": "categorical"}


def test_labels_cannot_be_something_else_by_name():
    asked = {"counts": "auto", "real": "auto", "label": "gaussian"}
    with pytest.raises(ViewError) as caught:
        resolve_likelihoods(asked, VIEWS)
    assert str(caught.value) == (
        "View 'label' holds labels and must be categorical. Got likelihood 'gaussian' for it. "
        "Give 'categorical' or 'auto'."
    )
    numbers = as_views({"counts": COUNTS_resolving, "label": np.arange(60) % 3})
    with pytest.raises(ViewError, match=r"'auto', or give its numbers as a matrix, view.reshape\(-1, 1\)\.$"):
        resolve_likelihoods({"counts": "auto", "label": "poisson"}, numbers)


def test_two_classes_may_be_called_bernoulli():
    flags = as_views({"counts": COUNTS_resolving, "flag": RNG.random(60) > 0.5})
    assert likelihoods({"counts": "poisson", "flag": "bernoulli"}, flags)["flag"] == "categorical"
    with pytest.raises(
        ViewError, match="View 'label' holds labels and must be categorical. Got likelihood 'bernoulli'"
    ):
        resolve_likelihoods({"counts": "auto", "real": "auto", "label": "bernoulli"}, VIEWS)


def test_values_are_checked():
    with pytest.raises(ViewError, match="View 'real' must hold counts"):
        resolve_likelihoods("poisson", VIEWS)
    with pytest.raises(ViewError, match="View 'name' must have at least 2 rows per class.*Got 60 classes in 60 rows"):
        resolve_likelihoods("auto", as_views({"counts": COUNTS_resolving, "name": [f"row {i}" for i in range(60)]}))
    with pytest.raises(ViewError, match="View 'kind' must have at least two classes. Got one, 'cat'"):
        resolve_likelihoods("gaussian", as_views({"counts": COUNTS_resolving, "kind": ["cat"] * 60}))


@pytest.mark.parametrize("asked", ["nb", None, 3, {"counts": "nb", "real": "auto", "label": "auto"}])
def test_an_unknown_likelihood_gets_the_known_ones(asked):
    with pytest.raises(
        ValueError, match="^likelihood must be one of 'gaussian', 'student-t',.*'categorical', 'auto'. Got"
    ):
        resolve_likelihoods(asked, VIEWS)


def test_a_dict_needs_every_view():
    with pytest.raises(ValueError, match="likelihood as a dict needs one entry per view. Got no value for 'real'"):
        resolve_likelihoods({"counts": "poisson", "label": "auto"}, VIEWS)
