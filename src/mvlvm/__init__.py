"""Multi-view latent variable models with Gaussian processes."""

import importlib
import os
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

from mvlvm.errors import (
    ConvergenceWarning,
    DataFileError,
    ModelFileError,
    NumericalError,
    ViewError,
    ViewWarning,
)
from mvlvm.estimators import MVARFLVM, NGMVLVM, to_mudata

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

_ROOMS = ("baselines", "datasets", "evaluation", "evidence", "kernels", "plots", "spectral", "views")


def load(path: str | os.PathLike[str]) -> Any:
    """Give the fitted estimator that `save` wrote. Its tensors are on the CPU.

    Args:
        path: the file, or the folder it was saved into.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    return importlib.import_module(f"{__name__}.baselines").load(path)


def __getattr__(name: str) -> ModuleType:
    """Import a room when it is first named, so that `import mvlvm` is enough and stays quick."""
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
