"""Multi-view latent variable models with Gaussian processes."""

import importlib
import os
from typing import TYPE_CHECKING, Any

from mvlvm.errors import (
    ConvergenceWarning,
    DataFileError,
    ModelFileError,
    NumericalError,
    ViewError,
    ViewWarning,
)
from mvlvm.version import __version__

if TYPE_CHECKING:
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

_ESTIMATORS = ("MVARFLVM", "NGMVLVM", "to_mudata")
_SUBPACKAGES = (
    "baselines", "datasets", "estimators", "evaluation", "evidence", "io", "kernels", "plots", "spectral", "views"
)  # fmt: skip


def load(path: str | os.PathLike[str]) -> Any:
    """Load a fitted estimator that `save` wrote.

    Args:
        path: the file, or the folder in which it was saved.

    Returns:
        The fitted estimator, with its tensors on the CPU.

    Raises:
        FileNotFoundError: the file does not exist.
        ModelFileError: the file is not a saved model, is damaged, or has a newer format.
    """
    file = importlib.import_module(f"{__name__}.io.model_files").read_model(path)
    package = "baselines.storage" if file.header.get("kind") == "baseline" else "estimators"
    return importlib.import_module(f"{__name__}.{package}").from_file(file)


def __getattr__(name: str) -> Any:
    """Import an estimator or a subpackage on first access, so that `import mvlvm` suffices but is fast."""
    if name in _ESTIMATORS:
        return getattr(importlib.import_module(f"{__name__}.estimators"), name)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_SUBPACKAGES]
