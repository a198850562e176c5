"""Exceptions and warnings raised by the library.

Every message states the problem, the value that was given, the value that is expected, and a remedy.
"""

import sys
import warnings

# Packages whose functions lie between a warning and the code of the user.
_INTERNAL_PACKAGES = ("mvlvm", "torch", "sklearn")


class ViewError(ValueError):
    """The views passed by the user cannot be used."""


class NumericalError(ArithmeticError):
    """A computation failed numerically although the input is valid."""


class ModelFileError(ValueError):
    """A file is not a saved model, or has a format that this version cannot read."""


class DataFileError(RuntimeError):
    """The file of a data set is damaged, or was not found and could not be downloaded."""


class ConvergenceWarning(UserWarning):
    """Training stopped before the evidence lower bound converged."""


class ViewWarning(UserWarning):
    """Part of a view is uninformative and was left out, or the content of a file is ambiguous."""


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the line of the user's code from which the library was called."""
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INTERNAL_PACKAGES:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)
