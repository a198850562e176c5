"""Which machine a number was measured on, in words that mean something to others."""

import os
import platform
from pathlib import Path

import torch

_CPU_INFO = Path("/proc/cpuinfo")


def choose_device(asked: str) -> str:
    """Give "cpu" or "cuda" for what was asked for.

    Raises:
        ValueError: the device has another name, or there is no GPU.
    """
    if asked not in ("auto", "cpu", "cuda"):
        raise ValueError(f"The device must be 'auto', 'cpu' or 'cuda'. Got {asked!r}.")
    if asked == "cuda" and not torch.cuda.is_available():
        raise ValueError("The device 'cuda' needs a GPU that torch can use. There is none. Give 'cpu' or 'auto'.")
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return asked


def describe_machine(device: str) -> str:
    """Give the GPU, or the processor and how many of its cores are used, and torch's version."""
    version = torch.__version__.split("+")[0]
    if device == "cuda":
        return f"{torch.cuda.get_device_name(0)}, torch {version}"
    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    used = f"{cores} cores" if threads == cores else f"{threads} of {cores} cores"
    return f"{_processor()}, {used}, torch {version}"


def wait_for(device: str) -> None:
    """Wait until a GPU has done all that it was asked to do."""
    if device == "cuda":
        torch.cuda.synchronize()


def _processor() -> str:
    """Give the processor's name where the system tells it, or its kind."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
