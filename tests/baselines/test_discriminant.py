"""Linear discriminant analysis against Fisher's formula."""

import numpy as np
import pytest

from mvlvm import baselines

LDA = baselines.get("linear discriminant analysis")


def shifted_classes(n_classes, seed=0):
    """Give classes whose means are more than eight standard deviations apart, however columns are mixed."""
    draws = np.random.default_rng(seed)
    labels = np.arange(60) % n_classes
    return (draws.normal(size=(60, 4)) + 6 * np.eye(4)[labels]) @ draws.normal(size=(4, 4)), labels


def test_two_classes_are_seen_along_fishers_direction():
    Y, labels = shifted_classes(2)
    means = np.array([Y[labels == c].mean(0) for c in (0, 1)])
    within = sum(np.cov(Y[labels == c].T) for c in (0, 1))
    expected = Y @ np.linalg.solve(within, means[1] - means[0])
    scores = LDA(n_components=1).fit_transform({"a": Y[:, :1], "b": Y[:, 1:]}, labels)
    assert abs(np.corrcoef(scores[:, 0], expected)[0, 1]) == pytest.approx(1, abs=1e-9)


def test_shifted_classes_are_far_apart_for_new_rows_too():
    Y, labels = shifted_classes(3)
    est = LDA(n_components=2).fit(Y, labels.astype(str))
    np.testing.assert_allclose(est.transform(Y), est.embedding_)
    centres = np.array([est.embedding_[labels == c].mean(0) for c in range(3)])
    nearest = ((est.embedding_[:, None] - centres) ** 2).sum(2).argmin(1)
    assert (nearest == labels).all()


def test_one_component_of_three_classes_is_the_one_that_separates_most():
    Y, labels = shifted_classes(3)
    one, two = (LDA(n_components=D).fit_transform(Y, labels) for D in (1, 2))
    between = [np.var([two[labels == c, d].mean() for c in range(3)]) for d in range(2)]
    assert between[0] > between[1]
    np.testing.assert_allclose(one[:, 0], two[:, 0])


def test_it_says_how_many_components_there_can_be():
    Y, labels = shifted_classes(2)
    with pytest.raises(ValueError, match="Got n_components=2 for 2 classes and 4 columns, which allow 1"):
        LDA(n_components=2).fit(Y, labels)


def test_classes_must_be_given_one_per_row():
    Y, labels = shifted_classes(3)
    with pytest.raises(ValueError, match="needs y, one class per row"):
        LDA().fit(Y)
    with pytest.raises(ValueError, match=r"Got an array of shape \(59,\) for 60 rows"):
        LDA().fit(Y, labels[1:])


def test_classes_in_a_line_have_one_direction():
    draws = np.random.default_rng(0)
    labels = np.arange(60) % 3
    within = np.repeat(draws.normal(size=(20, 4)), 3, axis=0)  # the same in all classes, so that only the shift is left
    with pytest.raises(ValueError, match=r"differ along 1 direction\(s\) only. Got n_components=2"):
        LDA(n_components=2).fit(within + 3.0 * labels[:, None] * [1, 0, 0, 0], labels)
