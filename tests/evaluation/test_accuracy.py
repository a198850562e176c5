"""Alignment of estimated latents and kernels with the ground truth.

Cross-validated accuracy of separated and random classes.
"""

import numpy as np
import pytest

from mvlvm.evaluation import affine_r2, cross_validated_accuracy, gram_correlation, nearest_neighbour_accuracy

RNG = np.random.default_rng(0)


def test_affine_r2_is_one_for_affine_maps_and_small_for_noise():
    truth = RNG.normal(size=(200, 2))
    assert affine_r2(truth, truth @ RNG.normal(size=(2, 2)) + 3) == pytest.approx(1)
    # K columns of noise explain K / (N - 1) of the variance on average
    assert affine_r2(truth, RNG.normal(size=(200, 2))) < 0.05
    assert affine_r2(truth, truth[:, :1]) == pytest.approx(truth[:, 0].var() / truth.var(axis=0).sum(), abs=0.02)


def test_gram_correlation_ignores_scale_offset_and_diagonal():
    K = RNG.normal(size=(20, 20))
    K = K + K.T
    assert gram_correlation(K, 3 * K - 1 + 50 * np.eye(20)) == pytest.approx(1)
    assert gram_correlation(K, -K) == pytest.approx(-1)


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
