"""Files of JSON lines that only grow, so that an interrupted run goes on where it stopped."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

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
