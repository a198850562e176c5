"""What a user asks for, and what the views get."""

import numpy as np
import pytest

from mvlvm import ViewError
from mvlvm.views import as_views
from mvlvm.views.resolving import resolve_likelihoods

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(5, size=(60, 4))
TEXT = np.array(["a", "b", "c"] * 20)
VIEWS = as_views({"counts": COUNTS, "real": RNG.normal(size=(60, 3)), "label": TEXT})


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
    numbers = as_views({"counts": COUNTS, "label": np.arange(60) % 3})
    with pytest.raises(ViewError, match=r"'auto', or give its numbers as a matrix, view.reshape\(-1, 1\)\.$"):
        resolve_likelihoods({"counts": "auto", "label": "poisson"}, numbers)


def test_two_classes_may_be_called_bernoulli():
    flags = as_views({"counts": COUNTS, "flag": RNG.random(60) > 0.5})
    assert likelihoods({"counts": "poisson", "flag": "bernoulli"}, flags)["flag"] == "categorical"
    with pytest.raises(
        ViewError, match="View 'label' holds labels and must be categorical. Got likelihood 'bernoulli'"
    ):
        resolve_likelihoods({"counts": "auto", "real": "auto", "label": "bernoulli"}, VIEWS)


def test_values_are_checked():
    with pytest.raises(ViewError, match="View 'real' must hold counts"):
        resolve_likelihoods("poisson", VIEWS)
    with pytest.raises(ViewError, match="View 'name' must have at least 2 rows per class.*Got 60 classes in 60 rows"):
        resolve_likelihoods("auto", as_views({"counts": COUNTS, "name": [f"row {i}" for i in range(60)]}))
    with pytest.raises(ViewError, match="View 'kind' must have at least two classes. Got one, 'cat'"):
        resolve_likelihoods("gaussian", as_views({"counts": COUNTS, "kind": ["cat"] * 60}))


@pytest.mark.parametrize("asked", ["nb", None, 3, {"counts": "nb", "real": "auto", "label": "auto"}])
def test_an_unknown_likelihood_gets_the_known_ones(asked):
    with pytest.raises(
        ValueError, match="^likelihood must be one of 'gaussian', 'student-t',.*'categorical', 'auto'. Got"
    ):
        resolve_likelihoods(asked, VIEWS)


def test_a_dict_needs_every_view():
    with pytest.raises(ValueError, match="likelihood as a dict needs one entry per view. Got no value for 'real'"):
        resolve_likelihoods({"counts": "poisson", "label": "auto"}, VIEWS)
