"""The version of the library, derived from git when the package was installed (`[tool.hatch.version]`)."""

from importlib import metadata

try:
    __version__ = metadata.version("mvlvm")
except metadata.PackageNotFoundError:  # imported from a source tree without installation
    __version__ = "0+unknown"
