"""Checks of constructor parameters: one sentence for every wrong value, made when `fit` is called."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import torch

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


def check_choice(value: Any, parameter: str, known: Sequence[Any]) -> Any:
    """Give the value if it is one of the known ones."""
    if isinstance(value, str | None) and value in known:
        return value
    raise ValueError(f"{parameter} must be one of {', '.join(map(repr, known))}. Got {value!r}.")


def check_device(value: Any) -> torch.device:
    """Give the device to compute on; "auto" is the GPU where there is one."""
    if isinstance(value, str) and value == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda'. Got {value!r}.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={value!r} needs a CUDA GPU, and torch finds none here. Give device='cpu' or 'auto'.")
    return device


def check_dtype(value: Any) -> torch.dtype:
    """Give the precision of the features; products and solves are float64 in either case."""
    return {"auto": torch.float32, "float64": torch.float64}[check_choice(value, "dtype", ("auto", "float64"))]
