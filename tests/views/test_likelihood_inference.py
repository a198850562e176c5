"""Inference of likelihoods from data, and checks that views lie in the support of their likelihoods."""

import re

import numpy as np
import pytest

from mvlvm import ViewError, datasets, views
from mvlvm.datasets.loader import REGISTRY
from mvlvm.likelihoods import LIKELIHOODS
from mvlvm.views import as_views
from mvlvm.views.interop import is_sparse
from mvlvm.views.likelihood_inference import check_support, infer_likelihood, resolve_likelihoods
from tests.datasets.real_data import need

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
CLASS = RNG.integers(5, size=400)
LABELS = CLASS.astype(float)[:, None]
ONE_HOT = np.eye(5)[CLASS]
NORMAL = RNG.normal(size=(200, 8))
SPIKES = np.where(RNG.random((200, 8)) < 0.02, 30.0, 1.0)
INFERRED = {
    "normal": (NORMAL, "gaussian"),
    "clusters": (NORMAL + 8 * RNG.integers(3, size=(200, 1)), "gaussian"),
    "exponential": (RNG.exponential(size=(500, 8)), "gaussian"),
    "rounded, positive and negative": (np.rint(5 * NORMAL), "gaussian"),
    "zeros and lognormals, as in tf-idf": (
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
    "counts that depend on a latent": (
        RNG.poisson(np.exp(4 + 0.5 * np.sin(X @ RNG.normal(size=(2, 30))))),
        "negative-binomial",
    ),
    "counts in clusters": (RNG.poisson(RNG.lognormal(3, 1, size=(5, 30))[CLASS]), "negative-binomial"),
    "grey levels": (np.clip(RNG.normal(120, 80, size=(200, 50)), 0, 255).round(), "gaussian"),
    "grey levels within their range": (RNG.normal(120, 20, size=(200, 50)).clip(1, 250).round(), "gaussian"),
    "ratings": (RNG.integers(1, 6, size=(100, 8)), "gaussian"),
    "three ratings": (RNG.integers(1, 4, size=(100, 8)), "gaussian"),
    "constant": (np.ones((20, 3)), "gaussian"),
}


@pytest.mark.parametrize("case", INFERRED)
def test_the_likelihood_is_inferred_with_a_reason(case):
    Y, expected = INFERRED[case]
    inferred = infer_likelihood(np.asarray(Y, dtype=np.float64))
    assert inferred.likelihood == expected
    assert expected in LIKELIHOODS
    assert 0 < len(inferred.reason) < 80


@pytest.mark.parametrize("case", INFERRED)
def test_missing_rows_do_not_influence_the_inferred_likelihood(case):
    Y, expected = INFERRED[case]
    with_missing = np.vstack([np.asarray(Y, dtype=np.float64), np.full((7, np.shape(Y)[1]), np.nan)])
    assert infer_likelihood(with_missing).likelihood == expected


def test_an_unobserved_column_does_not_influence_the_inferred_likelihood():
    Y = np.column_stack([RNG.poisson(5, size=(300, 4)), np.full(300, np.nan)])
    assert infer_likelihood(Y).likelihood == "poisson"


def test_the_reason_states_the_values():
    assert infer_likelihood(np.where(NORMAL > 0, 5.0, 9.0)).reason == "two distinct values, 5 and 9"
    assert infer_likelihood(ONE_HOT).reason == "one-hot rows, 5 classes"
    ratings = np.asarray(INFERRED["ratings"][0], dtype=np.float64)
    assert infer_likelihood(ratings).reason == "integers on a bounded scale with maximum 5"


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
def test_the_likelihoods_of_real_data_sets_are_inferred_correctly(name, view, expected):
    Y = datasets.load(name)[view]
    assert infer_likelihood(np.asarray(Y.toarray() if is_sparse(Y) else Y, dtype=np.float64)).likelihood == expected


@need(*REGISTRY["mfeat"].files)
def test_labels_of_a_data_set_are_categorical_both_one_hot_and_as_a_column():
    data = datasets.load("mfeat", with_labels_as_view=True)
    assert infer_likelihood(data["label"]).likelihood == "categorical"
    assert infer_likelihood(data.labels.astype(float)[:, None]).likelihood == "categorical"


COUNTS = np.arange(12.0).reshape(4, 3)
FOUR_ONE_HOT = np.eye(3)[[0, 1, 2, 0]]
FOUR_LABELS = np.array([[1.0], [2.0], [1.0], [2.0]])
BINARY = np.array([[0.0, 1.0], [np.nan, 0.0], [np.nan, np.nan], [1.0, 1.0]])


def message(Y, likelihood, classes=None):
    with pytest.raises(ViewError) as caught:
        check_support("x", Y, likelihood, classes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("Y", "likelihood"),
    [
        (COUNTS, "poisson"),
        (COUNTS, "negative-binomial"),
        (BINARY, "bernoulli"),
        (BINARY * 4 + 5, "bernoulli"),
        (BINARY, "poisson"),
        (FOUR_ONE_HOT, "categorical"),
        (np.vstack([FOUR_ONE_HOT, np.full((1, 3), np.nan)]), "categorical"),
        (FOUR_LABELS, "categorical"),
        (COUNTS - 0.5, "gaussian"),
        (COUNTS - 0.5, "student-t"),
    ],
)
def test_entries_in_the_support_are_accepted(Y, likelihood):
    check_support("x", Y, likelihood)


@pytest.mark.parametrize("likelihood", ["poisson", "negative-binomial"])
def test_the_number_and_position_of_entries_that_are_not_counts_are_reported(likelihood):
    negative = np.where(COUNTS > 9, -2.0, COUNTS)
    assert message(negative, likelihood) == (
        f"View 'x' must hold counts, 0, 1, 2, ..., to be {likelihood}. Got 2 entries that are negative, the first, -2, "
        "in row 3, column 1. Pass raw counts, or use likelihood 'gaussian' for measurements and for logarithms of "
        "counts."
    )
    fractional = np.where(COUNTS == 5, 2.5, COUNTS)
    assert "Got 1 entries that are not integers, the first, 2.5, in row 1, column 2." in message(fractional, likelihood)
    assert message(np.full((3, 2), 4.0), likelihood).startswith("View 'x' is constant: none of its 2 columns varies")


def test_a_bernoulli_view_has_two_distinct_values():
    assert message(COUNTS, "bernoulli") == (
        "View 'x' must hold two distinct values to be bernoulli, such as 0 and 1. Got 12: 0, 1, 2, 3, 4, .... "
        "Apply a threshold, for example Y > 0.5, or use another likelihood."
    )
    assert message(np.ones((3, 2)), "bernoulli").endswith("so it is uninformative as bernoulli. Leave the view out.")


def test_columns_of_a_bernoulli_view_may_be_constant_if_the_view_is_not():
    check_support("x", np.array([[0.0, 1.0], [0.0, 1.0]]), "bernoulli")


def test_a_view_with_a_single_class_is_rejected_with_the_name_of_the_class():
    single = "View 'x' must have at least two classes. Got one, {}, in every observed row."
    assert message(np.full((3, 1), 7.0), "categorical").startswith(single.format("7"))
    assert message(np.zeros((3, 1)), "categorical", ("cat",)).startswith(single.format("'cat'"))
    assert message(np.eye(3)[[1, 1, 1]], "categorical").startswith(single.format("column 1"))


def test_the_number_and_first_of_rows_that_are_not_one_hot_are_reported():
    wrong = FOUR_ONE_HOT.copy()
    wrong[2], wrong[3, 1] = [0.5, 0.5, 0.0], 1.0
    assert message(wrong, "categorical") == (
        "Every row of view 'x' must be one-hot to be categorical, or NaN in all columns if it is missing. Got 2 other "
        "rows, the first is row 2: 0.5, 0.5, 0. Correct them, or set them to NaN."
    )


def test_a_partly_missing_one_hot_row_is_rejected():
    wrong = FOUR_ONE_HOT.copy()
    wrong[1, 0] = np.nan
    assert "the first is row 1: nan, 1, 0." in message(wrong, "categorical")


def test_several_columns_of_classes_are_rejected():
    assert message(COUNTS, "categorical") == (
        "View 'x' must be one column of classes, or one-hot, to be categorical. Got 3 columns and no one-hot row. "
        "Pass every column as a separate view, or use another likelihood."
    )


def test_a_column_of_identifiers_is_rejected():
    assert message(np.arange(7.0)[:, None], "categorical") == (
        "View 'x' must have at least 2 rows per class on average to be categorical. Got 7 classes in 7 rows, which "
        "looks like an identifier. Leave the view out, merge classes, or pass measurements as a matrix, "
        "view.reshape(-1, 1)."
    )


def test_check_support_lists_the_known_likelihoods():
    known = (
        "likelihood must be one of 'gaussian', 'student-t', 'bernoulli', 'poisson', 'negative-binomial', "
        "'categorical'. Got 'nb'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(known)}$"):
        check_support("x", COUNTS, "nb")


RANDOM_COUNTS = RNG.poisson(5, size=(60, 4))
TEXT = np.array(["a", "b", "c"] * 20)
VIEWS = as_views({"counts": RANDOM_COUNTS, "real": RNG.normal(size=(60, 3)), "label": TEXT})


def likelihoods(asked, views=VIEWS):
    return {name: inferred.likelihood for name, inferred in resolve_likelihoods(asked, views).items()}


def test_label_views_are_categorical_whatever_the_likelihood_of_all_views():
    assert likelihoods("gaussian") == {"counts": "gaussian", "real": "gaussian", "label": "categorical"}
    assert likelihoods("student-t") == {"counts": "student-t", "real": "student-t", "label": "categorical"}


def test_auto_is_inferred_with_a_reason():
    assert likelihoods("auto") == {"counts": "poisson", "real": "gaussian", "label": "categorical"}
    reasons = {name: inferred.reason for name, inferred in resolve_likelihoods("auto", VIEWS).items()}
    assert reasons["label"] == "labels, 3 classes"
    assert reasons["counts"].startswith("counts whose variance is")
    assert resolve_likelihoods("gaussian", VIEWS)["real"].reason == "as specified"


def test_every_view_can_have_a_different_likelihood():
    asked = {"counts": "negative-binomial", "real": "auto", "label": "categorical"}
    assert likelihoods(asked) == {"counts": "negative-binomial", "real": "gaussian", "label": "categorical"}


def test_a_label_view_rejects_another_likelihood_specified_by_name():
    asked = {"counts": "auto", "real": "auto", "label": "gaussian"}
    with pytest.raises(ViewError) as caught:
        resolve_likelihoods(asked, VIEWS)
    assert str(caught.value) == (
        "View 'label' holds labels and must be categorical. Got likelihood 'gaussian' for it. "
        "Use 'categorical' or 'auto'."
    )
    numbers = as_views({"counts": RANDOM_COUNTS, "label": np.arange(60) % 3})
    with pytest.raises(ViewError, match=r"'auto', or pass its numbers as a matrix, view.reshape\(-1, 1\)\.$"):
        resolve_likelihoods({"counts": "auto", "label": "poisson"}, numbers)


def test_a_label_view_with_two_classes_accepts_bernoulli():
    flags = as_views({"counts": RANDOM_COUNTS, "flag": RNG.random(60) > 0.5})
    assert likelihoods({"counts": "poisson", "flag": "bernoulli"}, flags)["flag"] == "categorical"
    with pytest.raises(
        ViewError, match="View 'label' holds labels and must be categorical. Got likelihood 'bernoulli'"
    ):
        resolve_likelihoods({"counts": "auto", "real": "auto", "label": "bernoulli"}, VIEWS)


def test_the_support_of_resolved_likelihoods_is_checked():
    with pytest.raises(ViewError, match="View 'real' must hold counts"):
        resolve_likelihoods("poisson", VIEWS)
    with pytest.raises(ViewError, match="View 'name' must have at least 2 rows per class.*Got 60 classes in 60 rows"):
        resolve_likelihoods("auto", as_views({"counts": RANDOM_COUNTS, "name": [f"row {i}" for i in range(60)]}))
    with pytest.raises(ViewError, match="View 'kind' must have at least two classes. Got one, 'cat'"):
        resolve_likelihoods("gaussian", as_views({"counts": RANDOM_COUNTS, "kind": ["cat"] * 60}))


@pytest.mark.parametrize("asked", ["nb", None, 3, {"counts": "nb", "real": "auto", "label": "auto"}])
def test_an_unknown_likelihood_is_rejected_with_the_known_ones(asked):
    with pytest.raises(
        ValueError, match="^likelihood must be one of 'gaussian', 'student-t',.*'categorical', 'auto'. Got"
    ):
        resolve_likelihoods(asked, VIEWS)


def test_a_dict_of_likelihoods_must_name_every_view():
    with pytest.raises(ValueError, match="likelihood as a dict needs one entry per view. Got no value for 'real'"):
        resolve_likelihoods({"counts": "poisson", "label": "auto"}, VIEWS)


def test_former_public_names_remain_available():
    assert views.Guess is views.InferredLikelihood
    assert views.guess_likelihood is views.infer_likelihood
    assert tuple(LIKELIHOODS) == views.LIKELIHOODS
