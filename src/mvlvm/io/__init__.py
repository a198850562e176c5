"""Reading and writing of files."""

from mvlvm.io.reading import read

__all__ = ["read"]
