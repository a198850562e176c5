"""The cells of an experiment: one method on one data set with one seed, and what is measured of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any

import numpy as np

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
class Measured:
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
