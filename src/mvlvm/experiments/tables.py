"""Tables of results: the paper's number, ours, and the difference."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvlvm.experiments.found import Found, Spread
from mvlvm.experiments.paper import Printed, printed
from mvlvm.records import markdown

# Fewer seeds than the paper's five are named beside a number.
_ENOUGH_SEEDS = 5


@dataclass(frozen=True)
class Table:
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
    found: Found, data: str, measures: Sequence[Measure], *, paper_table: str | None = None, title: str | None = None
) -> Table:
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
    return Table(f"{found.experiment}-{data.lower()}", title or data, [head, *shown])


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
