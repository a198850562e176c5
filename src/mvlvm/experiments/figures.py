"""Figures that several experiments have in common."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mvlvm import plots
from mvlvm.experiments.found import Found
from mvlvm.experiments.tables import Measure, theirs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy_bars(found: Found, measure: Measure, *, y: str, paper_table: str | None = None) -> "Figure":
    """Draw a number of all methods on all data sets, with the paper's beside where it has one.

    Args:
        found: the results.
        measure: the number.
        y: what the axis says.
        paper_table: where the paper's numbers are; None if it has none.
    """
    spreads = {m: {d: found.spread(measure.number, d, m) for d in found.data} for m in found.methods}
    values = {
        method: {data: (measure.times * s.mean, measure.times * s.std) for data, s in row.items() if s is not None}
        for method, row in spreads.items()
    }
    paper = (
        None if paper_table is None else {m: _printed(paper_table, m, measure, list(row)) for m, row in values.items()}
    )
    return plots.plot_bars(values, y=y, paper=paper)


def _printed(table: str, method: str, measure: Measure, data: Sequence[str]) -> dict[str, float]:
    found = {name: theirs_of(table, method, name, measure) for name in data}
    return {name: number.mean for name, number in found.items() if number is not None}
