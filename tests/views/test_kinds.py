"""What a view holds, as a statistician would say."""

import numpy as np
import pytest

from mvlvm import datasets
from mvlvm.datasets.registry import REGISTRY
from mvlvm.views.kinds import LIKELIHOODS, guess_likelihood
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
    guess = guess_likelihood(np.asarray(Y, dtype=np.float64))
    assert guess.likelihood == expected
    assert expected in LIKELIHOODS
    assert 0 < len(guess.reason) < 80


@pytest.mark.parametrize("case", GUESSES)
def test_rows_that_are_missing_do_not_change_the_guess(case):
    Y, expected = GUESSES[case]
    gappy = np.vstack([np.asarray(Y, dtype=np.float64), np.full((7, np.shape(Y)[1]), np.nan)])
    assert guess_likelihood(gappy).likelihood == expected


def test_a_column_that_was_never_seen_does_not_matter():
    Y = np.column_stack([RNG.poisson(5, size=(300, 4)), np.full(300, np.nan)])
    assert guess_likelihood(Y).likelihood == "poisson"


def test_the_reason_names_the_values():
    assert guess_likelihood(np.where(NORMAL > 0, 5.0, 9.0)).reason == "two values only, 5 and 9"
    assert guess_likelihood(ONE_HOT).reason == "one-hot rows, 5 classes"
    ratings = np.asarray(GUESSES["ratings"][0], dtype=np.float64)
    assert guess_likelihood(ratings).reason == "whole numbers on a scale that ends at 5"


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
    assert guess_likelihood(np.asarray(Y.toarray() if is_sparse(Y) else Y, dtype=np.float64)).likelihood == expected


@need(*REGISTRY["mfeat"].files)
def test_labels_of_a_data_set_are_classes_in_both_forms():
    data = datasets.load("mfeat", with_labels_as_view=True)
    assert guess_likelihood(data["label"]).likelihood == "categorical"
    assert guess_likelihood(data.labels.astype(float)[:, None]).likelihood == "categorical"
