"""Common parts of result pages: tables and verdicts from finished cells, and written text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from cells import Cell
from mvlvm.records import filled, markdown

_NOTHING = "-"
TRIAL = """
**A trial of the script with almost no training. The numbers are meaningless.**
"""


@dataclass(frozen=True)
class Results:
    """Cells of one experiment, for the seeds on which every method has finished."""

    cells: Mapping[int, Mapping[str, Cell]]

    def values(self, method: str, number: str) -> list[float]:
        """Return a number of a method on all seeds; empty if the method does not have it."""
        found = [by_method[method].numbers.get(number) for by_method in self.cells.values()]
        return [value for value in found if value is not None]

    def mean(self, method: str, number: str) -> float:
        """Return the mean over seeds."""
        return float(np.mean(self.values(method, number)))

    def largest(self, method: str, number: str) -> float:
        """Return the largest absolute value over seeds."""
        return float(np.abs(self.values(method, number)).max())

    def smallest(self, method: str, number: str) -> float:
        """Return the smallest absolute value over seeds."""
        return float(np.abs(self.values(method, number)).min())

    def best(self, start: str, number: str) -> float:
        """Return the lowest mean among methods whose names start with `start`: the rival at its best setting."""
        methods = next(iter(self.cells.values()))
        return min(self.mean(method, number) for method in methods if method.startswith(start))

    def highest(self, part: str, number: str) -> float:
        """Return the highest mean among methods whose names contain `part`."""
        methods = next(iter(self.cells.values()))
        return max(self.mean(method, number) for method in methods if part in method)

    def machines(self) -> list[str]:
        """Return the machines of the cells, as far as they are recorded."""
        found = {cell.machine for by_method in self.cells.values() for cell in by_method.values()}
        return sorted(found - {""})


@dataclass(frozen=True)
class Section:
    """One experiment on the page.

    Attributes:
        experiment: name of the experiment.
        title: heading.
        task: description of the task.
        columns: number -> column heading.
        reading: interpretation of the table.
        digits: number of decimals.
        curve: label in the calibration figure, if there are error bars.
        each: numbers whose values are shown for every seed.
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
    """A measurable target.

    Attributes:
        experiment: name of the experiment.
        asked: description of the target.
        measure: returns the number from the results of the experiment.
        lowest: lower limit of the number.
        highest: upper limit of the number.
        digits: number of decimals.
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
        """Return the number as printed."""
        return f"{self.measure(results):.{self.digits}{self.notation}}"

    def holds(self, results: Results) -> bool:
        """Return whether the number is within the limits."""
        return self.lowest <= self.measure(results) <= self.highest


def section_text(section: Section, results: Results, claims: Sequence[Claim] = ()) -> str:
    """Return heading, task, tables, interpretation, and the targets that were missed."""
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
    parts += [filled(f"**Not reached.** Target: {claim.asked}. Measured: {claim.value(results)}.") for claim in missed]
    return "\n\n".join(parts)


def table(section: Section, results: Results) -> str:
    """Return a table with a row for every method, and columns for every number and the total time."""
    rows = [["method", *section.columns.values(), "total seconds"]]
    for method in next(iter(results.cells.values())):
        seconds = np.mean([by_method[method].seconds for by_method in results.cells.values()])
        numbers = [
            spread(results.values(method, number), section.digits, section.notation) for number in section.columns
        ]
        rows.append([method, *numbers, f"{seconds:,.0f}" if seconds >= 1 else "< 1"])
    return markdown(rows)


def seed_table(section: Section, results: Results) -> str:
    """Return a table of selected numbers for every seed."""
    rows = [["method", "number", *(f"seed {seed}" for seed in results.cells)]]
    for number in section.each:
        for method in next(iter(results.cells.values())):
            values = [f"{value:.{section.digits}{section.notation}}" for value in results.values(method, number)]
            if values:
                rows.append([method, section.columns[number], *values])
    return markdown(rows)


def spread(values: Sequence[float], digits: int, notation: str = "f") -> str:
    """Return mean and standard deviation as text."""
    if not values:
        return _NOTHING
    form = f".{digits}{notation}"
    mean = f"{np.mean(values):{form}}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):{form}}"


def verdicts(claims: Sequence[Claim], results: Mapping[str, Results]) -> str:
    """Return a table of targets and measured values."""
    rows = [["data", "target", "measured", "reached"]]
    for claim in claims:
        found = results[claim.experiment]
        if found.cells:
            holds = "yes" if claim.holds(found) else "**no**"
            rows.append([claim.experiment, claim.asked, claim.value(found), holds])
        else:
            rows.append([claim.experiment, claim.asked, _NOTHING, "not run yet"])
    return f"## Summary\n\n{markdown(rows)}"
