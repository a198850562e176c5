"""Exceptions and warnings raised by the library.

Every message states the problem, the value that was given, the value that is expected, and a remedy.
"""


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
