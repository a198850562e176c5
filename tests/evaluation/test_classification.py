"""Cross-validated accuracy of separated and random classes."""

import numpy as np
import pytest

from mvlvm.evaluation import cross_validated_accuracy, nearest_neighbour_accuracy

RNG = np.random.default_rng(0)


def test_nearest_neighbour_accuracy_of_separated_and_random_classes():
    labels = np.repeat([0, 1, 2, 3], 100)
    assert nearest_neighbour_accuracy(labels[:, None] + 0.01 * RNG.normal(size=(400, 1)), labels) == 1
    # chance is 1/4 with a standard error of sqrt(3/16/400) = 0.022
    assert nearest_neighbour_accuracy(RNG.normal(size=(400, 2)), labels) == pytest.approx(0.25, abs=4 * 0.022)


@pytest.mark.parametrize("classifier", ["KNN", "SVM", "LR", "NN"])
def test_every_classifier_separates_clusters_but_not_noise(classifier):
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(3), 30)
    separated = np.repeat([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], 30, axis=0) + rng.normal(size=(90, 2))
    assert cross_validated_accuracy(separated, labels, classifier) > 0.95
    assert cross_validated_accuracy(rng.normal(size=(90, 2)), labels, classifier) < 0.6


def test_rows_are_subsampled_if_there_are_more_than_most_rows():
    labels = np.tile([0, 1], 500)
    far = labels[:, None] * 9.0 + np.random.default_rng(0).normal(size=(1000, 1))
    assert cross_validated_accuracy(far, labels, "KNN", most_rows=50) > 0.95


def test_unknown_classifier_is_rejected():
    with pytest.raises(ValueError, match=r"'forest'. Available classifiers: KNN, SVM, LR, NN"):
        cross_validated_accuracy(np.zeros((10, 2)), np.repeat([0, 1], 5), "forest")
