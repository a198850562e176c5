"""Cells of an experiment and their storage.

A cell is one method on one data set with one seed. Its record holds the measured values; records are stored one JSON
line each, and the arrays needed for figures as NumPy archives next to them.
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

from mvlvm.records import RESULTS_VERSION, append_line, read_lines

Coordinate = int | float | str
DONE, FAILED, NOT_INSTALLED, STOPPED = "done", "failed", "not installed", "stopped"
CELLS, ARRAYS = "cells.jsonl", "arrays"
# Methods and arrays that stored cells may contain under an earlier name.
_RENAMED_METHODS = {
    "NG-MVLVM (gaps as zeros)": "NG-MVLVM (missing as zeros)",
    "principal components in rounds": "iterative PCA",
    "means of columns": "column means",
    "mean of every pixel": "mean image",
    "NG-MVLVM (views weighed alike)": "NG-MVLVM (balanced view weights)",
}
_RENAMED_ARRAYS = {"with gaps": "observed"}


class Effort(StrEnum):
    """Size of a run: minutes for everything on two cores, or the sizes of the paper."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method on one data set with one seed, at one point of a table or figure.

    Attributes:
        experiment: name of the experiment.
        data: data set, by its name in the paper.
        method: method, by its name in the paper.
        seed: seed of the data and of the fit.
        effort: size of the run.
        at: coordinates along the axes of the figure by name, such as latent dimension or number of rows.
        revision: revision of the experiment. Cells of different revisions measure different quantities.
    """

    experiment: str
    data: str
    method: str
    seed: int
    effort: Effort
    at: tuple[tuple[str, Coordinate], ...] = ()
    revision: int = 1

    def coordinate(self, axis: str) -> Any:
        """Return the coordinate along an axis."""
        return dict(self.at)[axis]

    @property
    def description(self) -> str:
        """One-line description for progress output and lists of failures."""
        points = "".join(f", {name} = {value}" for name, value in self.at)
        return f"{self.experiment}: {self.method} on {self.data}{points}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON-serialisable values."""
        return {
            "experiment": self.experiment, "data": self.data, "method": self.method, "seed": self.seed,
            "effort": str(self.effort), "at": [list(pair) for pair in self.at],
            **({"revision": self.revision} if self.revision > 1 else {}),
        }  # fmt: skip

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Cell":
        """Return the cell with the fields written by `as_json`."""
        at = tuple((name, value) for name, value in fields["at"])
        method = _RENAMED_METHODS.get(fields["method"], fields["method"])
        return cls(**{**fields, "method": method, "effort": Effort(fields["effort"]), "at": at})


@dataclass(frozen=True)
class Measurement:
    """Values measured in a cell.

    Attributes:
        numbers: scalars by name; accuracies are between 0 and 1.
        arrays: arrays needed for figures, by name.
    """

    numbers: Mapping[str, float]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """The product of data sets, methods and coordinates.

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


def versions() -> dict[str, str]:
    """Return the versions that a result depends on, by package."""
    return {"mvlvm": RESULTS_VERSION, "torch": torch.__version__.split("+")[0], "python": platform.python_version()}


@dataclass(frozen=True, kw_only=True)
class CellRecord:
    """Outcome of running a cell.

    Attributes:
        cell: the cell.
        status: "done", "failed", "stopped" (time limit) or "not installed".
        seconds: wall time, including loading of data and evaluation.
        machine: description of the machine.
        versions: versions of mvlvm, PyTorch and Python.
        numbers: measured values.
        note: error message if the cell is not done.
    """

    cell: Cell
    status: str
    seconds: float
    machine: str
    versions: Mapping[str, str]
    numbers: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON-serialisable values."""
        return {**vars(self), "cell": self.cell.as_json(), "numbers": dict(self.numbers)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "CellRecord":
        """Return the record with the fields written by `as_json`."""
        return cls(**{**fields, "cell": Cell.from_json(fields["cell"])})


class CellStore:
    """A folder of cell records. If a cell was run several times, its last record counts.

    Args:
        folder: need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = threading.Lock()

    @property
    def path(self) -> Path:
        """File of the records."""
        return self.folder / CELLS

    def read(self) -> dict[Cell, CellRecord]:
        """Return the records written by this version of the library, by cell; other versions are ignored."""
        records = read_lines(self.path, CellRecord.from_json)
        return {record.cell: record for record in records if record.versions["mvlvm"] == RESULTS_VERSION}

    def append(self, record: CellRecord) -> None:
        """Append a record."""
        with self._writing:
            append_line(self.path, record.as_json())

    def merge(self, others: Iterable[Path]) -> int:
        """Copy records and arrays from other folders, and return the number of new records."""
        known, new = self.read(), 0
        for folder in others:
            for cell, record in CellStore(folder).read().items():
                if known.get(cell) != record:
                    self.append(record)
                    self.save_arrays(cell, CellStore(folder).arrays(cell))
                    new += 1
        return new

    def save_arrays(self, cell: Cell, arrays: Mapping[str, np.ndarray]) -> None:
        """Save the arrays of a cell atomically."""
        if not arrays:
            return
        path = self._array_path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part-{path.name}")
        np.savez_compressed(part, allow_pickle=False, **arrays)
        part.replace(path)

    def arrays(self, cell: Cell) -> dict[str, np.ndarray]:
        """Return the saved arrays of a cell by name; empty if there are none."""
        path = self._array_path(cell)
        if not path.exists():
            return {}
        with np.load(path, allow_pickle=False) as archive:
            return {_RENAMED_ARRAYS.get(str(name), str(name)): archive[name] for name in archive.files}

    def _array_path(self, cell: Cell) -> Path:
        name = hashlib.sha256(json.dumps([cell.as_json(), RESULTS_VERSION], sort_keys=True).encode()).hexdigest()[:16]
        return self.folder / ARRAYS / f"{cell.experiment}-{name}.npz"
