"""Records of measurements: JSON-lines files, descriptions of the machine, Markdown tables and paragraphs."""

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
    """Read the records of a JSON-lines file; invalid lines are reported on standard error and skipped.

    Args:
        path: the file; a missing file is empty.
        make: converts the value of a line to a record; raises TypeError or KeyError if it cannot.

    Returns:
        The records in the order of the file.
    """
    records = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        try:
            records.append(make(json.loads(line)))
        except (json.JSONDecodeError, TypeError, KeyError):
            print(f"{path}: line {number} is not a valid record and was skipped", file=sys.stderr)
    return records


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Append a record as a line; an incomplete last line of an interrupted run is terminated first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _text(path)
    closing = "\n" if text and not text.endswith("\n") else ""
    with path.open("a") as file:
        file.write(f"{closing}{json.dumps(record, allow_nan=False)}\n")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


_CPU_INFO = Path("/proc/cpuinfo")


def choose_device(asked: str) -> str:
    """Return "cpu" or "cuda" for a requested device.

    Raises:
        ValueError: the name is unknown, or no GPU is available.
    """
    if asked not in ("auto", "cpu", "cuda"):
        raise ValueError(f"The device must be 'auto', 'cpu' or 'cuda'. Got {asked!r}.")
    if asked == "cuda" and not torch.cuda.is_available():
        raise ValueError("The device 'cuda' needs a GPU that torch can use, but none was found. Use 'cpu' or 'auto'.")
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return asked


def describe_machine(device: str) -> str:
    """Return the name of the GPU, or of the CPU with the number of cores in use, and the version of torch."""
    version = torch.__version__.split("+")[0]
    if device == "cuda":
        return f"{torch.cuda.get_device_name(0)}, torch {version}"
    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    used = f"{cores} cores" if threads == cores else f"{threads} of {cores} cores"
    return f"{_processor()}, {used}, torch {version}"


def wait_for(device: str) -> None:
    """Wait until a GPU has finished all queued work."""
    if device == "cuda":
        torch.cuda.synchronize()


def _processor() -> str:
    """Return the model name of the CPU if available, else its architecture."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


_WIDTH = 120


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is the header."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def filled(text: str) -> str:
    """Wrap the lines of every paragraph."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return "\n\n".join(textwrap.fill(paragraph, _WIDTH, break_on_hyphens=False) for paragraph in paragraphs)


def duration(seconds: float | int) -> str:
    """Format a duration with a suitable unit.

    Example:
        >>> [duration(s) for s in (0.00042, 0.0341, 0.3, 3.21, 4210)]
        ['0.42 ms', '34.1 ms', '300 ms', '3.21 s', '4,210 s']
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def size(n_bytes: float | int) -> str:
    """Format a number of bytes with a suitable unit.

    Example:
        >>> [size(b) for b in (3_200_000, 1_240_000_000)]
        ['3.2 MB', '1.24 GB']
    """
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
