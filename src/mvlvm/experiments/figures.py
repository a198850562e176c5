"""Figures that several experiments have in common."""

from typing import TYPE_CHECKING

from mvlvm import plots
from mvlvm.experiments.found import Found
from mvlvm.experiments.paper import printed
from mvlvm.experiments.tables import Measure

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
    paper = None
    if paper_table is not None:
        columns = {data: f"{data} {measure.column}".strip() for data in found.data}
        theirs = {m: {d: printed(paper_table, m, column) for d, column in columns.items()} for m in values}
        paper = {
            m: {d: p.mean for d, p in row.items() if p is not None and d in values[m]} for m, row in theirs.items()
        }
    return plots.plot_bars(values, y=y, paper=paper)
