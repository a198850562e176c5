"""Finished cells of a benchmark, one JSON line each, so that an interrupted run goes on where it stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mvlvm.records import append_line, read_lines

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Cell:
    """What one method reached on one seed of one experiment.

    Attributes:
        experiment: which experiment.
        method: which method.
        seed: of the split or the gaps, and of the fit.
        version: the library's version; cells of other versions do not count.
        seconds: how long it took, fit and all.
        numbers: name -> what was measured; a reliability curve is a list.
        machine: in words; older cells do not say.
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
        """What tells this cell from the others of its version."""
        return self.experiment, self.method, self.seed


@dataclass(frozen=True)
class CellFile:
    """A file of cells. It only grows: a cell that was run again is there twice, and the last one counts.

    Attributes:
        path: of the file, which need not exist.
        version: the library's version.
    """

    path: Path
    version: str

    def read(self) -> dict[Key, Cell]:
        """Give the finished cells of this version."""
        cells = read_lines(self.path, lambda fields: Cell(**fields))
        return {cell.key: cell for cell in cells if cell.version == self.version}

    def append(self, cell: Cell) -> None:
        """Add a finished cell; a line that an interruption cut short is closed first."""
        append_line(self.path, asdict(cell))

    def merge(self, others: Sequence[Path]) -> int:
        """Take over the cells that other files have finished for this version, and give how many of them are new.

        The last one counts: a cell that both files have is then that of the other.
        """
        known = self.read()
        theirs = {key: cell for path in others for key, cell in CellFile(path, self.version).read().items()}
        new = [cell for key, cell in theirs.items() if known.get(key) != cell]
        for cell in new:
            self.append(cell)
        return len(new)


def whole_seeds(cells: Mapping[Key, Cell], experiment: str, methods: list[str]) -> dict[int, dict[str, Cell]]:
    """Give the cells of those seeds on which every method has finished, by seed and method.

    A table must not compare a mean over five seeds with one over three.
    """
    by_seed: dict[int, dict[str, Cell]] = {}
    for cell in cells.values():
        if cell.experiment == experiment and cell.method in methods:
            by_seed.setdefault(cell.seed, {})[cell.method] = cell
    whole = sorted(seed for seed, found in by_seed.items() if len(found) == len(methods))
    return {seed: {method: by_seed[seed][method] for method in methods} for seed in whole}
