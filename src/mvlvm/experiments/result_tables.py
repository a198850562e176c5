"""The paper's own numbers, as printed.

What was found in the cells of one experiment, as tables and figures ask for it.

Tables of results: the paper's number, ours, and the difference.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mvlvm.experiments.cells import DONE, Cell, CellRecord, CellStore, Coordinate, Effort
from mvlvm.records import markdown


class Printed(NamedTuple):
    """A mean and a standard deviation over five runs; accuracies in percent."""

    mean: float
    std: float


def printed(table: str, method: str, column: str) -> Printed | None:
    """Give what the paper prints; None where it prints nothing.

    Args:
        table: "multi-view", "single-view", "challenging" or "reconstruction".
        method: the row.
        column: a data set, and a classifier where there are several: "MNIST KNN".

    Example:
        >>> printed("multi-view", "NG-MVLVM", "BRIDGES KNN")
        Printed(mean=85.31, std=1.47)
    """
    numbers = _tables().get(table, {}).get(method, {}).get(column)
    return None if numbers is None else Printed(*numbers)


@cache
def _tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    return json.loads((files("mvlvm.experiments") / "paper.json").read_text())


_ANYWHERE: Mapping[str, Coordinate] = MappingProxyType({})


class Spread(NamedTuple):
    """The mean over seeds, their standard deviation, and how many there were."""

    mean: float
    std: float
    n_seeds: int


@dataclass(frozen=True)
class ExperimentResults:
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
    records: Sequence[CellRecord]
    store: CellStore

    @property
    def done(self) -> list[CellRecord]:
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
    ) -> list[CellRecord]:
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


# Fewer seeds than the paper's five are named beside a number.
_ENOUGH_SEEDS = 5


@dataclass(frozen=True)
class ResultTable:
    """Rows of text, the first of which is the head.

    Attributes:
        name: of its file.
        title: above it.
        rows: cells, Markdown allowed.
    """

    name: str
    title: str
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Give it as Markdown."""
        return f"## {self.title}\n\n{markdown(self.rows)}"

    def write_csv(self, path: Path) -> None:
        """Write it as CSV, without the marks of Markdown."""
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [cell.replace("**", "") for cell in row] for row in self.rows
            )


@dataclass(frozen=True)
class Measure:
    """A number of a table.

    Attributes:
        number: its name in the cells.
        column: its name in the paper's tables, after the data set; empty where that has no name of its own.
        times: 100 for percent.
        digits: after the point.
        higher_is_better: what is best.
    """

    number: str
    column: str
    times: float = 100.0
    digits: int = 1
    higher_is_better: bool = True

    def text(self, ours: Spread) -> str:
        """Give our mean with its standard deviation, and the number of seeds where there are fewer than the paper's."""
        spread = "" if ours.n_seeds == 1 else f" ± {self.times * ours.std:.{self.digits}f}"
        seeds = f" ({ours.n_seeds})" if ours.n_seeds < _ENOUGH_SEEDS else ""
        return f"{self.times * ours.mean:.{self.digits}f}{spread}{seeds}"

    def printed_text(self, theirs: Printed) -> str:
        """Give the paper's mean with its standard deviation."""
        return f"{theirs.mean:.{self.digits}f} ± {theirs.std:.{self.digits}f}"


def comparison(
    found: ExperimentResults,
    data: str,
    measures: Sequence[Measure],
    *,
    paper_table: str | None = None,
    title: str | None = None,
) -> ResultTable:
    """Give the table of one data set: a row for every method, three columns for every measure.

    Args:
        found: the results.
        data: the data set.
        measures: what to show.
        paper_table: where the paper's numbers are; None if it has none.
        title: above it; None for the data set's name.
    """
    head, columns = ["method"], []
    shown_of_each = ["paper", "ours", "difference"] if paper_table else [""]
    for measure in measures:
        ours = {method: found.spread(measure.number, data, method) for method in found.methods}
        theirs = {method: theirs_of(paper_table, method, data, measure) for method in found.methods}
        head += [f"{measure.column} {what}".strip() for what in shown_of_each]
        columns += _columns(measure, ours, theirs, with_paper=paper_table is not None)
    rows = [[method, *(column[method] for column in columns)] for method in found.methods]
    shown = [row for row in rows if any(cell not in ("", "-") for cell in row[1:])]
    return ResultTable(f"{found.experiment}-{data.lower()}", title or data, [head, *shown])


def theirs_of(table: str | None, method: str, data: str, measure: Measure) -> Printed | None:
    """Give what the paper prints of a method; None where it prints nothing, or there is no such table."""
    return None if table is None else printed(table, method, f"{data} {measure.column}".strip())


def _columns(
    measure: Measure, ours: Mapping[str, Spread | None], theirs: Mapping[str, Printed | None], *, with_paper: bool
) -> list[dict[str, str]]:
    best = best_of(ours, higher=measure.higher_is_better)
    of_ours = {m: _bold(measure.text(v), m in best) if v else "-" for m, v in ours.items()}
    if not with_paper:
        return [of_ours]
    of_paper = {m: measure.printed_text(v) if v else "-" for m, v in theirs.items()}
    return [of_paper, of_ours, {m: _difference(measure, ours[m], theirs[m]) for m in ours}]


def best_of(values: Mapping[str, Spread | None], *, higher: bool = True) -> list[str]:
    """Give who has the best mean."""
    means = {name: value.mean for name, value in values.items() if value is not None}
    choose: Callable[..., float] = max if higher else min
    return [name for name, mean in means.items() if mean == choose(means.values())] if means else []


def _bold(text: str, strong: bool) -> str:
    return f"**{text}**" if strong else text


def _difference(measure: Measure, ours: Spread | None, theirs: Printed | None) -> str:
    if ours is None or theirs is None:
        return "-"
    return f"{measure.times * ours.mean - theirs.mean:+.{measure.digits}f}"
