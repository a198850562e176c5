"""Finished cells, one JSON line each, with the arrays that figures need beside them."""

import hashlib
import json
import platform
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mvlvm import __version__
from mvlvm.experiments.spec import Cell
from mvlvm.records import append_line, read_lines

DONE, FAILED, ABSENT, STOPPED = "done", "failed", "not installed", "stopped"
CELLS, ARRAYS = "cells.jsonl", "arrays"


def versions() -> dict[str, str]:
    """Give the versions that a result depends on."""
    return {"mvlvm": __version__, "torch": torch.__version__.split("+")[0], "python": platform.python_version()}


@dataclass(frozen=True, kw_only=True)
class Record:
    """What came of a cell.

    Attributes:
        cell: the cell.
        status: "done", "failed", "stopped" at its limit, or "not installed".
        seconds: it took, data and judging included.
        machine: in words.
        versions: of what it ran with.
        numbers: what was measured.
        note: in words, what is wrong.
    """

    cell: Cell
    status: str
    seconds: float
    machine: str
    versions: Mapping[str, str]
    numbers: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON takes it."""
        return {**vars(self), "cell": self.cell.as_json(), "numbers": dict(self.numbers)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Record":
        """Read what `as_json` gave."""
        return cls(**{**fields, "cell": Cell.from_json(fields["cell"])})


class Store:
    """A folder of finished cells. Of a cell that was run again the last record counts.

    Args:
        folder: need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = threading.Lock()

    @property
    def path(self) -> Path:
        """The file of records."""
        return self.folder / CELLS

    def read(self) -> dict[Cell, Record]:
        """Give the records of this version of the library; those of others are never mixed with them."""
        records = read_lines(self.path, Record.from_json)
        return {record.cell: record for record in records if record.versions["mvlvm"] == __version__}

    def append(self, record: Record) -> None:
        """Keep a record."""
        with self._writing:
            append_line(self.path, record.as_json())

    def merge(self, others: Iterable[Path]) -> int:
        """Take over what other folders have, arrays included, and give how many records are new."""
        known, new = self.read(), 0
        for folder in others:
            for cell, record in Store(folder).read().items():
                if known.get(cell) != record:
                    self.append(record)
                    self.keep_arrays(cell, Store(folder).arrays(cell))
                    new += 1
        return new

    def keep_arrays(self, cell: Cell, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep what figures need of a cell; whole or not at all."""
        if not arrays:
            return
        path = self._array_path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part-{path.name}")
        np.savez_compressed(part, allow_pickle=False, **arrays)
        part.replace(path)

    def arrays(self, cell: Cell) -> dict[str, np.ndarray]:
        """Give what was kept for figures; empty if there is nothing."""
        path = self._array_path(cell)
        if not path.exists():
            return {}
        with np.load(path, allow_pickle=False) as kept:
            return dict(kept)

    def _array_path(self, cell: Cell) -> Path:
        name = hashlib.sha256(json.dumps([cell.as_json(), __version__], sort_keys=True).encode()).hexdigest()[:16]
        return self.folder / ARRAYS / f"{cell.experiment}-{name}.npz"
