"""Reading and writing of files."""

from mvlvm.io.reading import read
from mvlvm.io.writing import write

__all__ = ["read", "write"]
