"""Files of JSON lines that only grow, so that an interrupted run goes on where it stopped.

Which machine a number was measured on, in words that mean something to others.

Tables and paragraphs of pages that are written by programs.
"""

import json
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

# Measurements are keyed by this version instead of the library's, which changes with every commit. Stored measurements
# of other versions are ignored; change it together with any change of numerical results.
RESULTS_VERSION = "0.1.0"

Record = TypeVar("Record")


def read_lines(path: Path, make: Callable[[dict[str, Any]], Record]) -> list[Record]:
    """Give what stands in a file, which need not exist; lines that make no record are named and do not count.

    Args:
        path: of the file.
        make: turns what a line says into a record, and raises a TypeError or KeyError where it cannot.
    """
    records = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        try:
            records.append(make(json.loads(line)))
        except (json.JSONDecodeError, TypeError, KeyError):
            print(f"{path}: line {number} is no cell and does not count", file=sys.stderr)
    return records


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Add a line; one that an interruption cut short is closed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _text(path)
    closing = "\n" if text and not text.endswith("\n") else ""
    with path.open("a") as file:
        file.write(f"{closing}{json.dumps(record, allow_nan=False)}\n")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


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


_WIDTH = 120


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Give a table; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def filled(text: str) -> str:
    """Break the lines of every paragraph anew."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return "\n\n".join(textwrap.fill(paragraph, _WIDTH, break_on_hyphens=False) for paragraph in paragraphs)


def duration(seconds: float | int) -> str:
    """Give seconds as people read them.

    Example:
        >>> [duration(s) for s in (0.00042, 0.0341, 0.3, 3.21, 4210)]
        ['0.42 ms', '34.1 ms', '300 ms', '3.21 s', '4,210 s']
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def size(n_bytes: float | int) -> str:
    """Give bytes as people read them.

    Example:
        >>> [size(b) for b in (3_200_000, 1_240_000_000)]
        ['3.2 MB', '1.24 GB']
    """
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
