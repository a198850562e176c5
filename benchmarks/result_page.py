"""What pages of results share: tables and verdicts from finished cells, between hand-written text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from cells import Cell
from mvlvm.records import filled, markdown

_NOTHING = "-"
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

    def largest(self, method: str, number: str) -> float:
        """Give the largest value on any seed, without its sign."""
        return float(np.abs(self.values(method, number)).max())

    def smallest(self, method: str, number: str) -> float:
        """Give the smallest value on any seed, without its sign."""
        return float(np.abs(self.values(method, number)).min())

    def best(self, start: str, number: str) -> float:
        """Give the lowest mean among the methods whose names start alike: the rival at its best setting."""
        methods = next(iter(self.cells.values()))
        return min(self.mean(method, number) for method in methods if method.startswith(start))

    def highest(self, part: str, number: str) -> float:
        """Give the highest mean among the methods whose names have this part, where more is better."""
        methods = next(iter(self.cells.values()))
        return max(self.mean(method, number) for method in methods if part in method)

    def machines(self) -> list[str]:
        """Give the machines that the cells ran on, as far as they say."""
        found = {cell.machine for by_method in self.cells.values() for cell in by_method.values()}
        return sorted(found - {""})


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
        each: numbers of which every seed's value is shown.
        notation: "f", or "e" for very small numbers.
    """

    experiment: str
    title: str
    task: str
    columns: Mapping[str, str]
    reading: str
    digits: int = 3
    curve: str = ""
    each: Sequence[str] = ()
    notation: str = "f"


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
        notation: "f", or "e" for very small numbers.
    """

    experiment: str
    asked: str
    measure: Callable[[Results], float]
    lowest: float = -inf
    highest: float = inf
    digits: int = 3
    notation: str = "f"

    def value(self, results: Results) -> str:
        """Give the number as it is printed."""
        return f"{self.measure(results):.{self.digits}{self.notation}}"

    def holds(self, results: Results) -> bool:
        """Tell whether the number is what was asked for."""
        return self.lowest <= self.measure(results) <= self.highest


def section_text(section: Section, results: Results, claims: Sequence[Claim] = ()) -> str:
    """Give a heading, what was done, the tables, how to read them, and what was asked for and not reached."""
    if not results.cells:
        return f"## {section.title}\n\n{filled(section.task)}\n\nNot run yet."
    n_seeds = len(results.cells)
    seeds = "One seed." if n_seeds == 1 else f"Mean and standard deviation over {n_seeds} seeds."
    machines = results.machines()
    where = f" Machine: {'; '.join(machines)}." if machines else ""
    parts = [f"## {section.title}", filled(section.task), f"{seeds}{where}", table(section, results)]
    if section.each:
        parts += ["Every seed:", seed_table(section, results)]
    parts.append(filled(section.reading))
    missed = [c for c in claims if c.experiment == section.experiment and not c.holds(results)]
    parts += [filled(f"**Not reached.** Asked for: {claim.asked}. It is {claim.value(results)}.") for claim in missed]
    return "\n\n".join(parts)


def table(section: Section, results: Results) -> str:
    """Give a row for every method and a column for every number, and the time it took."""
    rows = [["method", *section.columns.values(), "seconds in all"]]
    for method in next(iter(results.cells.values())):
        seconds = np.mean([by_method[method].seconds for by_method in results.cells.values()])
        numbers = [
            spread(results.values(method, number), section.digits, section.notation) for number in section.columns
        ]
        rows.append([method, *numbers, f"{seconds:,.0f}" if seconds >= 1 else "< 1"])
    return markdown(rows)


def seed_table(section: Section, results: Results) -> str:
    """Give the values on every seed of those numbers that are worth it."""
    rows = [["method", "number", *(f"seed {seed}" for seed in results.cells)]]
    for number in section.each:
        for method in next(iter(results.cells.values())):
            values = [f"{value:.{section.digits}{section.notation}}" for value in results.values(method, number)]
            if values:
                rows.append([method, section.columns[number], *values])
    return markdown(rows)


def spread(values: Sequence[float], digits: int, notation: str = "f") -> str:
    """Give mean and standard deviation in as many digits as mean something."""
    if not values:
        return _NOTHING
    form = f".{digits}{notation}"
    mean = f"{np.mean(values):{form}}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):{form}}"


def verdicts(claims: Sequence[Claim], results: Mapping[str, Results]) -> str:
    """Give what was asked for beside what was measured."""
    rows = [["data", "asked for", "measured", "holds"]]
    for claim in claims:
        found = results[claim.experiment]
        if found.cells:
            holds = "yes" if claim.holds(found) else "**no**"
            rows.append([claim.experiment, claim.asked, claim.value(found), holds])
        else:
            rows.append([claim.experiment, claim.asked, _NOTHING, "not run yet"])
    return f"## In short\n\n{markdown(rows)}"
