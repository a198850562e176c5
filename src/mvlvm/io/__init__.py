"""Reading and writing of files."""

from mvlvm.io.reading import read, read_labels
from mvlvm.io.writing import write

__all__ = ["read", "read_labels", "write"]
