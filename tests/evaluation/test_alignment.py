"""Alignment of estimated latents and kernels with the ground truth."""

import numpy as np
import pytest

from mvlvm.evaluation import affine_r2, gram_correlation

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
