"""Finished cells of a benchmark, one JSON line each, so that an interrupted run can resume."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mvlvm.records import append_line, read_lines

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Cell:
    """Result of one method on one seed of one experiment.

    Attributes:
        experiment: name of the experiment.
        method: name of the method.
        seed: seed of the split or of the missing entries, and of the fit.
        version: version of the library; cells of other versions are ignored.
        seconds: total run time.
        numbers: name -> measured value; a reliability curve is a list.
        machine: description of the machine; empty in older cells.
    """

    experiment: str
    method: str
    seed: int
    version: str
    seconds: float
    numbers: Mapping[str, Any]
    machine: str = ""

    @property
    def key(self) -> Key:
        """Key that is unique among the cells of a version."""
        return self.experiment, self.method, self.seed


@dataclass(frozen=True)
class CellFile:
    """An append-only file of cells. If a cell was run several times, the last one counts.

    Attributes:
        path: path of the file, which need not exist.
        version: version of the library.
    """

    path: Path
    version: str

    def read(self) -> dict[Key, Cell]:
        """Return the finished cells of this version by key."""
        cells = read_lines(self.path, lambda fields: Cell(**fields))
        return {cell.key: cell for cell in cells if cell.version == self.version}

    def append(self, cell: Cell) -> None:
        """Append a finished cell, after terminating a truncated line."""
        append_line(self.path, asdict(cell))

    def merge(self, others: Sequence[Path]) -> int:
        """Copy finished cells of this version from other files, and return the number of new cells.

        If both files have a cell, that of the other file counts.
        """
        known = self.read()
        theirs = {key: cell for path in others for key, cell in CellFile(path, self.version).read().items()}
        new = [cell for key, cell in theirs.items() if known.get(key) != cell]
        for cell in new:
            self.append(cell)
        return len(new)


def whole_seeds(cells: Mapping[Key, Cell], experiment: str, methods: list[str]) -> dict[int, dict[str, Cell]]:
    """Return the cells of the seeds on which every method has finished, by seed and method.

    A table must not compare a mean over five seeds with one over three.
    """
    by_seed: dict[int, dict[str, Cell]] = {}
    for cell in cells.values():
        if cell.experiment == experiment and cell.method in methods:
            by_seed.setdefault(cell.seed, {})[cell.method] = cell
    whole = sorted(seed for seed, found in by_seed.items() if len(found) == len(methods))
    return {seed: {method: by_seed[seed][method] for method in methods} for seed in whole}
