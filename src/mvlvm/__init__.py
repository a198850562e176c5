"""Multi-view latent variable models with Gaussian processes."""

__version__ = "0.1.0"

from mvlvm.errors import ConvergenceWarning, ModelFileError, NumericalError, ViewError, ViewWarning
from mvlvm.estimators import MVARFLVM, NGMVLVM, load, to_mudata

__all__ = [
    "MVARFLVM",
    "NGMVLVM",
    "ConvergenceWarning",
    "ModelFileError",
    "NumericalError",
    "ViewError",
    "ViewWarning",
    "__version__",
    "load",
    "to_mudata",
]
