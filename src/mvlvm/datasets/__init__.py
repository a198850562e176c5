"""Public data sets and simulators for multi-view learning, loaded by name."""

from mvlvm.datasets.channel_coefficients import channel_dataset
from mvlvm.datasets.convert.quadriga import read_quadriga
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.loader import list_names as list
from mvlvm.datasets.loader import load, options
from mvlvm.datasets.wireless import simulate_channel

__all__ = ["Dataset", "channel_dataset", "list", "load", "options", "read_quadriga", "simulate_channel"]
