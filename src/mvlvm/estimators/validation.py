"""Checks of the parameters that say where and how precisely to compute."""

from typing import Any

import torch

from mvlvm.checks import check_choice


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
