"""Evaluation of latents and predictions: alignment with ground truth, calibration and classification accuracy."""

from mvlvm.evaluation.alignment import affine_r2, best_affine_map, gram_correlation
from mvlvm.evaluation.calibration import Reliability, coverage, log_density, reliability
from mvlvm.evaluation.classification import cross_validated_accuracy, nearest_neighbour_accuracy

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
