"""Packages that only some users need: imported when they are needed, asked for in a sentence where they are absent."""

import importlib
import sys
import warnings
from typing import Any


def require(package: str, purpose: str, extra: str = "files") -> Any:
    """Import a package that is not always installed, or a module of one.

    Some packages silence the warnings of everybody when they are imported; what users want to be told is left as it
    was.

    Args:
        package: its name, or that of a module in it.
        purpose: what it is needed for, as the beginning of a sentence.
        extra: the extra of mvlvm that installs it.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to install it.
    """
    whole = package.partition(".")[0]
    try:
        with warnings.catch_warnings():
            importlib.import_module(whole)
            return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != whole:  # it is there, but something that it needs itself is not
            raise
        raise ModuleNotFoundError(
            f'{purpose} needs {whole}, which is not installed. Install it with: pip install "mvlvm[{extra}]"',
            name=whole,
        ) from None


def is_dataframe(value: object) -> bool:
    """Tell whether a value is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def is_series(value: object) -> bool:
    """Tell whether a value is a pandas Series, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)
