"""Multi-view latent variable models with Gaussian processes."""

import importlib
from types import ModuleType

__version__ = "0.1.0"

from mvlvm.errors import (
    ConvergenceWarning,
    DataFileError,
    ModelFileError,
    NumericalError,
    ViewError,
    ViewWarning,
)
from mvlvm.estimators import MVARFLVM, NGMVLVM, load, to_mudata

__all__ = [
    "MVARFLVM",
    "NGMVLVM",
    "ConvergenceWarning",
    "DataFileError",
    "ModelFileError",
    "NumericalError",
    "ViewError",
    "ViewWarning",
    "__version__",
    "load",
    "to_mudata",
]

_ROOMS = ("datasets", "evaluation", "evidence", "kernels", "plots", "spectral", "views")


def __getattr__(name: str) -> ModuleType:
    """Import a room when it is first named, so that `import mvlvm` is enough and stays quick."""
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
