"""Data to try the models on."""

from mvlvm.datasets.channel import channel_dataset
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.embedded import DigitHalves, digit_halves
from mvlvm.datasets.quadriga import read_quadriga
from mvlvm.datasets.sionna_channel import simulate_channel
from mvlvm.datasets.synthetic import SCurve, s_curve

__all__ = [
    "Dataset",
    "DigitHalves",
    "SCurve",
    "channel_dataset",
    "digit_halves",
    "read_quadriga",
    "s_curve",
    "simulate_channel",
]
