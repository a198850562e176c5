"""Evaluation of latents and predictions: alignment with ground truth, calibration and classification accuracy."""

from mvlvm.evaluation.accuracy import (
    affine_r2,
    best_affine_map,
    cross_validated_accuracy,
    gram_correlation,
    nearest_neighbour_accuracy,
)
from mvlvm.evaluation.calibration import Reliability, coverage, log_density, reliability

__all__ = [
    "Reliability",
    "affine_r2",
    "best_affine_map",
    "coverage",
    "cross_validated_accuracy",
    "gram_correlation",
    "log_density",
    "nearest_neighbour_accuracy",
    "reliability",
]
