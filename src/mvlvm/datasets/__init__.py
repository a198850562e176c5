"""Data to try the models on, each by its name."""

from mvlvm.datasets.channel import channel_dataset
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.loading import list_names as list
from mvlvm.datasets.loading import load, options
from mvlvm.datasets.quadriga import read_quadriga
from mvlvm.datasets.sionna_channel import simulate_channel

__all__ = ["Dataset", "channel_dataset", "list", "load", "options", "read_quadriga", "simulate_channel"]
