"""The cells of an experiment: one method on one data set with one seed, and what is measured of it.

Finished cells, one JSON line each, with the arrays that figures need beside them.
"""

import hashlib
import json
import platform
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mvlvm import __version__
from mvlvm.records import append_line, read_lines

Coordinate = int | float | str


class Effort(StrEnum):
    """How much work a cell may be: minutes for everything on two cores, or the paper's sizes."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method on one data set with one seed, at one point of a table or figure.

    Attributes:
        experiment: whose cell it is.
        data: the data set, by the paper's name.
        method: by the paper's name.
        seed: of the data's draws and of the fit.
        effort: how much work it may be.
        at: where along the figure's axes, by name: latent dimension, number of rows and so on.
        revision: of the experiment. A cell of another one measured something else, and is another cell.
    """

    experiment: str
    data: str
    method: str
    seed: int
    effort: Effort
    at: tuple[tuple[str, Coordinate], ...] = ()
    revision: int = 1

    def where(self, axis: str) -> Any:
        """Give the coordinate along an axis."""
        return dict(self.at)[axis]

    @property
    def words(self) -> str:
        """The cell as a reader would name it."""
        points = "".join(f", {name} = {value}" for name, value in self.at)
        return f"{self.experiment}: {self.method} on {self.data}{points}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON takes it."""
        return {
            "experiment": self.experiment, "data": self.data, "method": self.method, "seed": self.seed,
            "effort": str(self.effort), "at": [list(pair) for pair in self.at],
            **({"revision": self.revision} if self.revision > 1 else {}),
        }  # fmt: skip

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Cell":
        """Read what `as_json` gave."""
        at = tuple((name, value) for name, value in fields["at"])
        return cls(**{**fields, "effort": Effort(fields["effort"]), "at": at})


@dataclass(frozen=True)
class Measurement:
    """What was measured in a cell.

    Attributes:
        numbers: by name; accuracies from 0 to 1.
        arrays: what a figure needs beyond numbers, by name.
    """

    numbers: Mapping[str, float]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """Every method on every data set at every point.

    Attributes:
        data: names of data sets.
        methods: names of methods.
        axes: axis -> coordinates along it.
    """

    data: Sequence[str]
    methods: Sequence[str]
    axes: Mapping[str, Sequence[Coordinate]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, str, dict[str, Coordinate]]]:
        for data, method in product(self.data, self.methods):
            for at in product(*self.axes.values()):
                yield data, method, dict(zip(self.axes, at, strict=True))


DONE, FAILED, NOT_INSTALLED, STOPPED = "done", "failed", "not installed", "stopped"
CELLS, ARRAYS = "cells.jsonl", "arrays"


def versions() -> dict[str, str]:
    """Give the versions that a result depends on."""
    return {"mvlvm": __version__, "torch": torch.__version__.split("+")[0], "python": platform.python_version()}


@dataclass(frozen=True, kw_only=True)
class CellRecord:
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
    def from_json(cls, fields: Mapping[str, Any]) -> "CellRecord":
        """Read what `as_json` gave."""
        return cls(**{**fields, "cell": Cell.from_json(fields["cell"])})


class CellStore:
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

    def read(self) -> dict[Cell, CellRecord]:
        """Give the records of this version of the library; those of others are never mixed with them."""
        records = read_lines(self.path, CellRecord.from_json)
        return {record.cell: record for record in records if record.versions["mvlvm"] == __version__}

    def append(self, record: CellRecord) -> None:
        """Keep a record."""
        with self._writing:
            append_line(self.path, record.as_json())

    def merge(self, others: Iterable[Path]) -> int:
        """Take over what other folders have, arrays included, and give how many records are new."""
        known, new = self.read(), 0
        for folder in others:
            for cell, record in CellStore(folder).read().items():
                if known.get(cell) != record:
                    self.append(record)
                    self.keep_arrays(cell, CellStore(folder).arrays(cell))
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
