"""Validation of parameter values, and of optional dependencies, which are imported on demand."""

import importlib
import math
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

# Larger parameter values are not meaningful and overflow in the optimiser's float32.
_LARGEST = 1e30
# Names listed in a message.
_MAX_NAMES = 5


def check_integer(value: Any, parameter: str, *, at_least: int) -> int:
    """Return the value as an int.

    Raises:
        ValueError: it is not an integer of at least `at_least`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ValueError(f"{parameter} must be an integer of at least {at_least}. Got {value!r}.")
    return int(value)


def check_number(value: Any, parameter: str, *, positive: bool) -> float:
    """Return the value as a float.

    Raises:
        ValueError: it is not a finite number, or not positive (non-negative if `positive` is False).
    """
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not (number > 0 or (number == 0 and not positive)) or number > _LARGEST:
        raise ValueError(f"{parameter} must be a {'positive' if positive else 'non-negative'} number. Got {value!r}.")
    return number


def check_probability(value: Any, parameter: str) -> float:
    """Return the value as a float in the open interval (0, 1).

    Raises:
        ValueError: it is not in the interval.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{parameter} must be a number above 0 and below 1. Got {value!r}.")
    return float(value)


def check_flag(value: Any, parameter: str) -> bool:
    """Return the value as a bool.

    Raises:
        ValueError: it is not True or False.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ValueError(f"{parameter} must be True or False. Got {value!r}.")


def check_choice(value: Any, parameter: str, choices: Sequence[Any]) -> Any:
    """Return the value.

    Raises:
        ValueError: it is not one of the choices.
    """
    if isinstance(value, str | None) and value in choices:
        return value
    raise ValueError(f"{parameter} must be one of {', '.join(map(repr, choices))}. Got {value!r}.")


def is_number(entry: Any) -> bool:
    """Return whether an entry is a number, or text that represents one."""
    try:
        float(entry)
    except (TypeError, ValueError):
        return False
    return True


def listed(names: Any) -> str:
    """Return the first few names as text for messages, strings in quotes.

    Args:
        names: a list or pandas index.

    Example:
        >>> listed(["a", "b"]), listed(list("abcdefg"))
        ("'a', 'b'", "'a', 'b', 'c', 'd', 'e', ...")
    """
    shown = (f"'{name}'" if isinstance(name, str) else str(name) for name in names[:_MAX_NAMES])
    return ", ".join(shown) + (", ..." if len(names) > _MAX_NAMES else "")


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
