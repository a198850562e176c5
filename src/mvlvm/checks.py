"""Checks of what a user passed for a parameter: one sentence for every wrong value.

Names in messages: enough of them to recognise what is meant.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

# Beyond this a setting means nothing, and the optimiser's float32 overflows.
_LARGEST = 1e30


def check_integer(value: Any, parameter: str, *, at_least: int) -> int:
    """Give the value as an int, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ValueError(f"{parameter} must be an integer of at least {at_least}. Got {value!r}.")
    return int(value)


def check_number(value: Any, parameter: str, *, positive: bool) -> float:
    """Give the value as a float that is positive, or at least not negative."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not (number > 0 or (number == 0 and not positive)) or number > _LARGEST:
        raise ValueError(f"{parameter} must be a {'positive' if positive else 'non-negative'} number. Got {value!r}.")
    return number


def check_probability(value: Any, parameter: str) -> float:
    """Give the value as a float between 0 and 1, neither of which it may be."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{parameter} must be a number above 0 and below 1. Got {value!r}.")
    return float(value)


def check_flag(value: Any, parameter: str) -> bool:
    """Give the value if it is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ValueError(f"{parameter} must be True or False. Got {value!r}.")


def check_choice(value: Any, parameter: str, known: Sequence[Any]) -> Any:
    """Give the value if it is one of the known ones."""
    if isinstance(value, str | None) and value in known:
        return value
    raise ValueError(f"{parameter} must be one of {', '.join(map(repr, known))}. Got {value!r}.")


_MOST = 5


def listed(names: Any) -> str:
    """Write the first few of some names, text in quotes.

    Args:
        names: a list or an index of them.

    Example:
        >>> listed(["a", "b"]), listed(list("abcdefg"))
        ("'a', 'b'", "'a', 'b', 'c', 'd', 'e', ...")
    """
    shown = (f"'{name}'" if isinstance(name, str) else str(name) for name in names[:_MOST])
    return ", ".join(shown) + (", ..." if len(names) > _MOST else "")
