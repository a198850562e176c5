"""The page docs/results/views.md: tables, verdicts and a figure from finished cells, between hand-written text."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cells import Cell, CellFile, whole_seeds
from experiment import Experiment
from mvlvm.plots import plot_reliability, write
from views_text import CLAIMS, FIGURE, INTRODUCTION, SECTIONS, TRIAL, Section

FIGURE_NAME = "views_reliability.png"
_NOTHING = "-"
_WIDTH = 120


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


def write_page(experiments: Sequence[Experiment], file: CellFile, out: Path, *, trial: bool = False) -> Path:
    """Write the page and its figure, and give the page's path; a trial says that it is one."""
    cells = file.read()
    results = {e.name: Results(whole_seeds(cells, e.name, list(e.methods))) for e in experiments}
    parts = [filled(INTRODUCTION.format(version=file.version)), *([filled(TRIAL)] if trial else []), verdicts(results)]
    parts += [section_text(section, results[section.experiment]) for section in SECTIONS]
    out.mkdir(parents=True, exist_ok=True)
    curves = reliability_curves(results)
    if curves:
        write(plot_reliability(curves), out / FIGURE_NAME)
        parts.append(filled(FIGURE.format(name=FIGURE_NAME)))
    page = out / "views.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


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


def verdicts(results: Mapping[str, Results]) -> str:
    """Give what was asked for beside what was measured."""
    rows = [["data", "asked for", "measured", "holds"]]
    for claim in CLAIMS:
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


def reliability_curves(results: Mapping[str, Results]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give the shares inside intervals over all entries of all seeds, for experiments with error bars."""
    curves = {}
    for section in SECTIONS:
        ours = [by_method["ours"].numbers for by_method in results[section.experiment].cells.values() if section.curve]
        if ours:
            observed = np.average([n["observed"] for n in ours], axis=0, weights=[n["entries"] for n in ours])
            curves[section.curve] = (np.array(ours[0]["expected"]), observed)
    return curves
