"""What was found in the cells of one experiment, as tables and figures ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mvlvm.experiments.spec import Cell, Coordinate, Effort
from mvlvm.experiments.store import DONE, Record, Store

_ANYWHERE: Mapping[str, Coordinate] = MappingProxyType({})


class Spread(NamedTuple):
    """The mean over seeds, their standard deviation, and how many there were."""

    mean: float
    std: float
    n_seeds: int


@dataclass(frozen=True)
class Found:
    """The finished cells of an experiment, all of one effort and one version.

    Attributes:
        experiment: its name.
        effort: of all cells.
        all_data: the data sets of the experiment, in order.
        all_methods: its methods, in order.
        records: of its cells, failed ones included.
        store: has their arrays.
    """

    experiment: str
    effort: Effort
    all_data: Sequence[str]
    all_methods: Sequence[str]
    records: Sequence[Record]
    store: Store

    @property
    def done(self) -> list[Record]:
        """The records that have numbers."""
        return [record for record in self.records if record.status == DONE]

    @property
    def data(self) -> list[str]:
        """The data sets there are numbers of, in the experiment's order."""
        there = {record.cell.data for record in self.done}
        return [name for name in self.all_data if name in there]

    @property
    def methods(self) -> list[str]:
        """The methods there are numbers of, in the experiment's order."""
        there = {record.cell.method for record in self.done}
        return [name for name in self.all_methods if name in there]

    def select(
        self, data: str | None = None, method: str | None = None, at: Mapping[str, Coordinate] = _ANYWHERE
    ) -> list[Record]:
        """Give the records of a data set, a method and a point, or of all."""
        return [
            record
            for record in self.done
            if data in (None, record.cell.data)
            and method in (None, record.cell.method)
            and all(record.cell.where(axis) == value for axis, value in at.items())
        ]

    def spread(self, number: str, data: str, method: str, at: Mapping[str, Coordinate] = _ANYWHERE) -> Spread | None:
        """Give a number's mean over seeds; None if there is none."""
        values = [r.numbers[number] for r in self.select(data, method, at) if number in r.numbers]
        if not values:
            return None
        return Spread(float(np.mean(values)), float(np.std(values)), len(values))

    def coordinates(self, axis: str) -> list[Coordinate]:
        """Give the coordinates along an axis that there are numbers at, in order."""
        return list(dict.fromkeys(dict(record.cell.at)[axis] for record in self.done if axis in dict(record.cell.at)))

    def arrays(self, cell: Cell) -> dict[str, np.ndarray]:
        """Give what a cell kept for figures."""
        return self.store.arrays(cell)
