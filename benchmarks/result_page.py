"""What pages of results share: tables and verdicts from finished cells, between hand-written text."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from cells import Cell

_NOTHING = "-"
_WIDTH = 120
TRIAL = """
**A trial of the script with hardly any training. The numbers mean nothing.**
"""


@dataclass(frozen=True)
class Results:
    """The cells of one experiment, of those seeds on which every method has finished."""

    cells: Mapping[int, Mapping[str, Cell]]

    def values(self, method: str, number: str) -> list[float]:
        """Give a number of a method on all seeds; none if the method does not have it."""
        found = [by_method[method].numbers.get(number) for by_method in self.cells.values()]
        return [value for value in found if value is not None]

    def mean(self, method: str, number: str) -> float:
        """Give the mean over seeds."""
        return float(np.mean(self.values(method, number)))

    def best(self, start: str, number: str) -> float:
        """Give the lowest mean among the methods whose names start alike: the rival at its best setting."""
        methods = next(iter(self.cells.values()))
        return min(self.mean(method, number) for method in methods if method.startswith(start))


@dataclass(frozen=True)
class Section:
    """One experiment on the page.

    Attributes:
        experiment: its name.
        title: the heading.
        task: what was done.
        columns: number -> the head of its column.
        reading: how to read the table.
        digits: after the point.
        curve: what the figure calls it, if it has error bars.
    """

    experiment: str
    title: str
    task: str
    columns: Mapping[str, str]
    reading: str
    digits: int = 3
    curve: str = ""


@dataclass(frozen=True)
class Claim:
    """Something that is asked for, and can be measured.

    Attributes:
        experiment: where.
        asked: in words.
        measure: gives the number out of the experiment's results.
        lowest: the number must not be below it.
        highest: the number must not be above it.
        digits: after the point.
    """

    experiment: str
    asked: str
    measure: Callable[[Results], float]
    lowest: float = -inf
    highest: float = inf
    digits: int = 3


def section_text(section: Section, results: Results) -> str:
    """Give a heading, what was done, the table, and how to read it."""
    if not results.cells:
        return f"## {section.title}\n\n{filled(section.task)}\n\nNot run yet."
    n_seeds = len(results.cells)
    seeds = "One seed." if n_seeds == 1 else f"Mean and standard deviation over {n_seeds} seeds."
    head = f"## {section.title}\n\n{filled(section.task)}\n\n{seeds}"
    return f"{head}\n\n{table(section, results)}\n\n{filled(section.reading)}"


def filled(text: str) -> str:
    """Break the lines of every paragraph anew."""
    paragraphs = [paragraph.strip() for paragraph in text.split("\n\n")]
    return "\n\n".join(textwrap.fill(paragraph, _WIDTH, break_on_hyphens=False) for paragraph in paragraphs)


def table(section: Section, results: Results) -> str:
    """Give a row for every method and a column for every number, and the time it took."""
    rows = [["method", *section.columns.values(), "seconds in all"]]
    for method in next(iter(results.cells.values())):
        seconds = np.mean([by_method[method].seconds for by_method in results.cells.values()])
        numbers = [spread(results.values(method, number), section.digits) for number in section.columns]
        rows.append([method, *numbers, f"{seconds:,.0f}" if seconds >= 1 else "< 1"])
    return markdown(rows)


def spread(values: Sequence[float], digits: int) -> str:
    """Give mean and standard deviation in as many digits as mean something."""
    if not values:
        return _NOTHING
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def verdicts(claims: Sequence[Claim], results: Mapping[str, Results]) -> str:
    """Give what was asked for beside what was measured."""
    rows = [["data", "asked for", "measured", "holds"]]
    for claim in claims:
        found = results[claim.experiment]
        if found.cells:
            value = claim.measure(found)
            holds = "yes" if claim.lowest <= value <= claim.highest else "**no**"
            rows.append([claim.experiment, claim.asked, f"{value:.{claim.digits}f}", holds])
        else:
            rows.append([claim.experiment, claim.asked, _NOTHING, "not run yet"])
    return f"## In short\n\n{markdown(rows)}"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Give a table; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
