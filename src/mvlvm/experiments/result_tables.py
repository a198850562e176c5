"""Results of an experiment aggregated over seeds, and tables that compare them with the values printed in the paper."""

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

# The paper averages over five runs; smaller numbers of seeds are shown in parentheses.
_ENOUGH_SEEDS = 5
_NO_COORDINATES: Mapping[str, Coordinate] = MappingProxyType({})


class Printed(NamedTuple):
    """Mean and standard deviation over five runs as printed in the paper; accuracies in percent."""

    mean: float
    std: float


def printed(table: str, method: str, column: str) -> Printed | None:
    """Return the value printed in the paper, or None if it prints none.

    Args:
        table: "multi-view", "single-view", "challenging" or "reconstruction".
        method: row of the table.
        column: data set, followed by the classifier if there are several: "MNIST KNN".

    Example:
        >>> printed("multi-view", "NG-MVLVM", "BRIDGES KNN")
        Printed(mean=85.31, std=1.47)
    """
    numbers = _tables().get(table, {}).get(method, {}).get(column)
    return None if numbers is None else Printed(*numbers)


@cache
def _tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    return json.loads((files("mvlvm.experiments") / "paper.json").read_text())


class Spread(NamedTuple):
    """Mean and standard deviation over seeds, and the number of seeds."""

    mean: float
    std: float
    n_seeds: int


@dataclass(frozen=True)
class ExperimentResults:
    """The records of an experiment, all of one effort and one version.

    Attributes:
        experiment: name of the experiment.
        effort: size of the run.
        all_data: data sets of the experiment, in order.
        all_methods: methods of the experiment, in order.
        records: records of its cells, including failures.
        store: store with the arrays of the cells.
    """

    experiment: str
    effort: Effort
    all_data: Sequence[str]
    all_methods: Sequence[str]
    records: Sequence[CellRecord]
    store: CellStore

    @property
    def done(self) -> list[CellRecord]:
        """Records with measured values."""
        return [record for record in self.records if record.status == DONE]

    @property
    def data(self) -> list[str]:
        """Data sets with results, in the order of the experiment."""
        there = {record.cell.data for record in self.done}
        return [name for name in self.all_data if name in there]

    @property
    def methods(self) -> list[str]:
        """Methods with results, in the order of the experiment."""
        there = {record.cell.method for record in self.done}
        return [name for name in self.all_methods if name in there]

    def select(
        self, data: str | None = None, method: str | None = None, at: Mapping[str, Coordinate] = _NO_COORDINATES
    ) -> list[CellRecord]:
        """Return the finished records of a data set, a method and a grid point; None selects all."""
        return [
            record
            for record in self.done
            if data in (None, record.cell.data)
            and method in (None, record.cell.method)
            and all(record.cell.coordinate(axis) == value for axis, value in at.items())
        ]

    def spread(
        self, number: str, data: str, method: str, at: Mapping[str, Coordinate] = _NO_COORDINATES
    ) -> Spread | None:
        """Return mean and standard deviation of a number over seeds, or None without results."""
        values = [r.numbers[number] for r in self.select(data, method, at) if number in r.numbers]
        if not values:
            return None
        return Spread(float(np.mean(values)), float(np.std(values)), len(values))

    def coordinates(self, axis: str) -> list[Coordinate]:
        """Return the coordinates along an axis with results, in order of appearance."""
        return list(dict.fromkeys(dict(record.cell.at)[axis] for record in self.done if axis in dict(record.cell.at)))

    def arrays(self, cell: Cell) -> dict[str, np.ndarray]:
        """Return the arrays that a cell saved for figures, by name."""
        return self.store.arrays(cell)


@dataclass(frozen=True)
class ResultTable:
    """A table of text cells whose first row is the header.

    Attributes:
        name: file name without suffix.
        title: heading of the table.
        rows: cells, which may contain Markdown.
    """

    name: str
    title: str
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table as Markdown with its heading."""
        return f"## {self.title}\n\n{markdown(self.rows)}"

    def write_csv(self, path: Path) -> None:
        """Write the table as CSV without Markdown emphasis."""
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [cell.replace("**", "") for cell in row] for row in self.rows
            )


@dataclass(frozen=True)
class Measure:
    """A column of a table.

    Attributes:
        number: name of the value in the cells.
        column: name of the column in the paper's tables, after the data set; empty if it has none.
        scale: factor applied to the value; 100 for percent.
        digits: number of decimals.
        higher_is_better: whether the largest value is the best.
    """

    number: str
    column: str
    scale: float = 100.0
    digits: int = 1
    higher_is_better: bool = True

    def text(self, ours: Spread) -> str:
        """Return our mean and standard deviation, and the number of seeds if there are fewer than five."""
        spread = "" if ours.n_seeds == 1 else f" ± {self.scale * ours.std:.{self.digits}f}"
        seeds = f" ({ours.n_seeds})" if ours.n_seeds < _ENOUGH_SEEDS else ""
        return f"{self.scale * ours.mean:.{self.digits}f}{spread}{seeds}"

    def printed_text(self, theirs: Printed) -> str:
        """Return the paper's mean and standard deviation."""
        return f"{theirs.mean:.{self.digits}f} ± {theirs.std:.{self.digits}f}"


def comparison(
    results: ExperimentResults,
    data: str,
    measures: Sequence[Measure],
    *,
    paper_table: str | None = None,
    title: str | None = None,
) -> ResultTable:
    """Return the table of one data set, with a row for every method.

    Every measure has one column, or three (paper, ours, difference) if the paper prints a table.

    Args:
        results: results of the experiment.
        data: the data set.
        measures: measures to show.
        paper_table: table of the paper with its values; None if there is none.
        title: heading; None for the name of the data set.
    """
    head, columns = ["method"], []
    shown_of_each = ["paper", "ours", "difference"] if paper_table else [""]
    for measure in measures:
        ours = {method: results.spread(measure.number, data, method) for method in results.methods}
        theirs = {method: printed_value(paper_table, method, data, measure) for method in results.methods}
        head += [f"{measure.column} {what}".strip() for what in shown_of_each]
        columns += _columns(measure, ours, theirs, with_paper=paper_table is not None)
    rows = [[method, *(column[method] for column in columns)] for method in results.methods]
    shown = [row for row in rows if any(cell not in ("", "-") for cell in row[1:])]
    return ResultTable(f"{results.experiment}-{data.lower()}", title or data, [head, *shown])


def printed_value(table: str | None, method: str, data: str, measure: Measure) -> Printed | None:
    """Return the value that the paper prints for a method, or None if there is no such value or table."""
    return None if table is None else printed(table, method, f"{data} {measure.column}".strip())


def _columns(
    measure: Measure, ours: Mapping[str, Spread | None], theirs: Mapping[str, Printed | None], *, with_paper: bool
) -> list[dict[str, str]]:
    best = best_methods(ours, higher=measure.higher_is_better)
    of_ours = {m: _bold(measure.text(v), m in best) if v else "-" for m, v in ours.items()}
    if not with_paper:
        return [of_ours]
    of_paper = {m: measure.printed_text(v) if v else "-" for m, v in theirs.items()}
    return [of_paper, of_ours, {m: _difference(measure, ours[m], theirs[m]) for m in ours}]


def best_methods(values: Mapping[str, Spread | None], *, higher: bool = True) -> list[str]:
    """Return the names with the best mean; several if they are equal."""
    means = {name: value.mean for name, value in values.items() if value is not None}
    choose: Callable[..., float] = max if higher else min
    return [name for name, mean in means.items() if mean == choose(means.values())] if means else []


def _bold(text: str, strong: bool) -> str:
    return f"**{text}**" if strong else text


def _difference(measure: Measure, ours: Spread | None, theirs: Printed | None) -> str:
    if ours is None or theirs is None:
        return "-"
    return f"{measure.scale * ours.mean - theirs.mean:+.{measure.digits}f}"
