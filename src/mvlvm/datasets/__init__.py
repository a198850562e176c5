"""Data to try the models on."""

from mvlvm.datasets.embedded import DigitHalves, digit_halves
from mvlvm.datasets.synthetic import SCurve, s_curve

__all__ = ["DigitHalves", "SCurve", "digit_halves", "s_curve"]
