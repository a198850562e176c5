"""Spectral densities of the NG-SM kernel, spectral points sampled from them, and random Fourier features."""

from mvlvm.spectral.density import (
    BivariateMixture,
    SpectralPoints,
    StationaryMixture,
    stationary_sample,
    two_step_sample,
)
from mvlvm.spectral.error_bound import gram_error_at_points, gram_error_probability, points_for_gram_error
from mvlvm.spectral.features import expected_features, random_features

__all__ = [
    "BivariateMixture",
    "SpectralPoints",
    "StationaryMixture",
    "expected_features",
    "gram_error_at_points",
    "gram_error_probability",
    "points_for_gram_error",
    "random_features",
    "stationary_sample",
    "two_step_sample",
]
