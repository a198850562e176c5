"""Data to try the models on, each by its name."""

from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.loading import list_names as list
from mvlvm.datasets.loading import load, options

__all__ = ["Dataset", "list", "load", "options"]
