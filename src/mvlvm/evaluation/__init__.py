"""Judging results."""

from mvlvm.evaluation.alignment import affine_r2, best_affine_map, gram_correlation
from mvlvm.evaluation.classification import nearest_neighbour_accuracy

__all__ = ["affine_r2", "best_affine_map", "gram_correlation", "nearest_neighbour_accuracy"]
