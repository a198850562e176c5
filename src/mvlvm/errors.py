"""The errors and warnings a user can meet.

Every message follows one pattern: what is wrong, what was given, what is expected, what to do.
"""


class ViewError(ValueError):
    """The views that were handed over cannot be used as they are."""


class NumericalError(ArithmeticError):
    """A computation broke down although the input was acceptable."""


class ModelFileError(ValueError):
    """A file is not a saved model, or not one that this version can read."""


class DataFileError(RuntimeError):
    """The file of a data set is damaged, or is not at hand and could not be fetched."""


class ConvergenceWarning(UserWarning):
    """Training ended before the bound stopped rising."""


class ViewWarning(UserWarning):
    """Part of a view is of no use to the model and was left out, or a file may not be what it was taken for."""
