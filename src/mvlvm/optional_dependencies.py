"""Import of optional dependencies on demand, with an installation hint if they are missing."""

import importlib
import sys
import warnings
from typing import Any


def require(package: str, purpose: str, extra: str = "files") -> Any:
    """Import and return an optional package, or a module of one.

    The warning filters are restored after the import, because some packages change them globally when imported.

    Args:
        package: the name of the package, or of a module in it.
        purpose: what it is needed for, as the beginning of a sentence.
        extra: the extra of mvlvm that installs it.

    Raises:
        ModuleNotFoundError: the package is not installed; the message states how to install it.
    """
    root = package.partition(".")[0]
    try:
        with warnings.catch_warnings():
            importlib.import_module(root)
            return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != root:  # the package is installed, but one of its dependencies is not
            raise
        raise ModuleNotFoundError(
            f'{purpose} needs {root}, which is not installed. Install it with: pip install "mvlvm[{extra}]"',
            name=root,
        ) from None


def is_dataframe(value: object) -> bool:
    """Return whether a value is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def is_series(value: object) -> bool:
    """Return whether a value is a pandas Series, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)
