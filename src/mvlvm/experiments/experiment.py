"""What an experiment is: cells to run, what is measured in one, and the page made of all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mvlvm.experiments.found import Found
from mvlvm.experiments.pages import Page
from mvlvm.experiments.spec import Cell, Coordinate, Effort, Grid, Measured
from mvlvm.experiments.store import Store
from mvlvm.experiments.tables import Measure


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure.

    Attributes:
        name: what users call it.
        title: what it shows.
        source: where it stands in the paper, or that it does not.
        grids: effort -> the cells it consists of, seeds left open.
        measure: gives the numbers of a cell.
        write: makes its page of what was found.
        most_seeds: seeds that make sense; figures of single fits need one.
        printed: data set -> measures that the paper prints in its table of this name.
        printed_at: where along the axes the paper's table is.
        revision: raised whenever its cells come to measure something else, so that older ones no longer count.
    """

    name: str
    title: str
    source: str
    grids: Mapping[Effort, Sequence[Grid]]
    measure: Callable[[Cell], Measured]
    write: Callable[[Found], Page]
    most_seeds: int | None = None
    printed: Mapping[str, Sequence[Measure]] = field(default_factory=dict)
    printed_at: Mapping[str, Coordinate] = field(default_factory=dict)
    revision: int = 1

    def cells(self, effort: Effort, seeds: Sequence[int]) -> list[Cell]:
        """Give all cells, seed by seed, so that a run that is stopped has whole tables of fewer seeds."""
        return [
            self.cell(data, method, seed, effort, at)
            for seed in seeds[: self.most_seeds]
            for grid in self.grids[effort]
            for data, method, at in grid
        ]

    def cell(self, data: str, method: str, seed: int, effort: Effort, at: Mapping[str, Coordinate]) -> Cell:
        """Give one cell."""
        return Cell(
            experiment=self.name, data=data, method=method, seed=seed, effort=effort, at=tuple(at.items()),
            revision=self.revision,
        )  # fmt: skip

    def found(self, effort: Effort, store: Store) -> Found:
        """Give what has been found so far."""
        wanted = self.name, effort, self.revision
        records = [r for r in store.read().values() if (r.cell.experiment, r.cell.effort, r.cell.revision) == wanted]
        return Found(self.name, effort, self.data, self.methods, records, store)

    @property
    def data(self) -> list[str]:
        """The data sets, in order."""
        return self._all(lambda grid: grid.data)

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return self._all(lambda grid: grid.methods)

    def _all(self, names: Callable[[Grid], Sequence[str]]) -> list[str]:
        return list(dict.fromkeys(name for grids in self.grids.values() for grid in grids for name in names(grid)))
