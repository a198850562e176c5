import numpy as np
import pytest

from mvlvm.evaluation import affine_r2, gram_correlation, nearest_neighbour_accuracy

RNG = np.random.default_rng(0)


def test_an_affine_map_of_the_truth_is_the_truth_and_noise_is_not():
    truth = RNG.normal(size=(200, 2))
    assert affine_r2(truth, truth @ RNG.normal(size=(2, 2)) + 3) == pytest.approx(1)
    # pure noise with K columns explains K / (N - 1) of the variance on average
    assert affine_r2(truth, RNG.normal(size=(200, 2))) < 0.05
    assert affine_r2(truth, truth[:, :1]) == pytest.approx(truth[:, 0].var() / truth.var(axis=0).sum(), abs=0.02)


def test_the_kernel_correlation_ignores_scale_offset_and_the_diagonal():
    K = RNG.normal(size=(20, 20))
    K = K + K.T
    assert gram_correlation(K, 3 * K - 1 + 50 * np.eye(20)) == pytest.approx(1)
    assert gram_correlation(K, -K) == pytest.approx(-1)


def test_one_nearest_neighbour_accuracy_of_separated_and_of_random_classes():
    labels = np.repeat([0, 1, 2, 3], 100)
    assert nearest_neighbour_accuracy(labels[:, None] + 0.01 * RNG.normal(size=(400, 1)), labels) == 1
    # chance is 1/4 with a standard error of sqrt(3/16/400) = 0.022
    assert nearest_neighbour_accuracy(RNG.normal(size=(400, 2)), labels) == pytest.approx(0.25, abs=4 * 0.022)
