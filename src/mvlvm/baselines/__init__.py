"""The methods that the paper compares with, and common alternatives, behind a single estimator interface.

Example:
    >>> from mvlvm import baselines
    >>> [entry.name for entry in baselines.list() if entry.package is None][:2]
    ['PCA', 'linear discriminant analysis']
"""

from mvlvm.baselines.registry import Entry, get
from mvlvm.baselines.registry import entries as list
from mvlvm.baselines.storage import load
from mvlvm.time_limit import stop_after

__all__ = ["Entry", "get", "list", "load", "stop_after"]
