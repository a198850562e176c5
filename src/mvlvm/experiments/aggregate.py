"""What of the results a figure or a table shows: one point of an axis, a line along it, and who saw fewer rows.

Figures that several experiments have in common.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from mvlvm import plots
from mvlvm.experiments.cells import Coordinate
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable, best_of, theirs_of

Line = tuple[list[float], list[float], list[float]]
_LARGEST_PIXEL = 255.0


def at_point(found: ExperimentResults, at: Mapping[str, Coordinate]) -> ExperimentResults:
    """Give what was found at a point; methods that have nothing to do with an axis belong to all of its points."""
    records = [r for r in found.records if all(dict(r.cell.at).get(axis, v) == v for axis, v in at.items())]
    return replace(found, records=records)


def lines_along(found: ExperimentResults, number: str, data: str, axis: str, *, times: float = 1.0) -> dict[str, Line]:
    """Give a number along an axis, method -> (coordinates, means, standard deviations), as curves are drawn.

    A method that has nothing to do with the axis has the same number all along it.
    """
    lines: dict[str, Line] = {}
    points = sorted(found.coordinates(axis), key=float)
    for method in found.methods:
        spreads = [(float(x), at_point(found, {axis: x}).spread(number, data, method)) for x in points]
        there = [(x, times * s.mean, times * s.std) for x, s in spreads if s is not None]
        if there:
            xs, means, stds = (list(column) for column in zip(*there, strict=True))
            lines[method] = xs, means, stds
    return lines


def bars_of(
    found: ExperimentResults, measures: Sequence[Measure], data: str
) -> dict[str, dict[str, tuple[float, float]]]:
    """Give numbers as groups of bars are drawn, method -> measure -> (mean, standard deviation)."""
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    for method in found.methods:
        for measure in measures:
            spread = found.spread(measure.number, data, method)
            if spread is not None:
                groups.setdefault(method, {})[measure.column] = measure.times * spread.mean, measure.times * spread.std
    return groups


def table_along(
    found: ExperimentResults, measure: Measure, data: str, axis: str, *, title: str, mark_best: bool = True
) -> ResultTable:  # fmt: skip
    """Give a table with a row for every method, and a column for every point of an axis where there is a number."""
    columns: dict[str, dict[str, str]] = {}
    for point in sorted(found.coordinates(axis), key=float):
        here = at_point(found, {axis: point})
        spreads = {method: here.spread(measure.number, data, method) for method in found.methods}
        best = best_of(spreads, higher=measure.higher_is_better)
        if best:
            texts = {m: "-" if s is None else measure.text(s) for m, s in spreads.items()}
            columns[f"{axis} = {point}"] = {m: f"**{t}**" if mark_best and m in best else t for m, t in texts.items()}
    rows = [[method, *(column[method] for column in columns.values())] for method in found.methods]
    shown = [row for row in rows if any(cell != "-" for cell in row[1:])]
    words = "-".join(f"{found.experiment} {data} {measure.number} by {axis}".lower().split())
    return ResultTable(words, title, [["method", *columns], *shown])


def note_on_rows(found: ExperimentResults) -> str:
    """Say how many rows methods were given, and which of them were given fewer than others."""
    notes = []
    for data in found.data:
        rows = {m: s.mean for m in found.methods if (s := found.spread("rows", data, m)) is not None}
        most = max(rows.values(), default=0.0)
        fewer = [f"{method} {n:,.0f}" for method, n in rows.items() if n < most]
        notes += [f"{data} {most:,.0f}" + (f" ({', '.join(fewer)}, for what they cost)" if fewer else "")] * bool(rows)
    return f"Rows that were fitted: {'; '.join(notes)}." if notes else ""


def unit_pixels(views: Mapping[str, Any]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Give images whose pixels run from 0 to 1 instead of 0 to 255."""
    return {name: np.asarray(Y, dtype=np.float32) / _LARGEST_PIXEL for name, Y in views.items()}


def mean_squared_error(truth: Any, rebuilt: Any) -> float:
    """Give the mean squared difference of two matrices' entries."""
    return float(np.mean(np.square(np.asarray(truth, dtype=np.float64) - np.asarray(rebuilt, dtype=np.float64))))


if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy_bars(found: ExperimentResults, measure: Measure, *, y: str, paper_table: str | None = None) -> "Figure":
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
        None
        if paper_table is None
        else {m: _printed_means(paper_table, m, measure, list(row)) for m, row in values.items()}
    )
    return plots.plot_bars(values, y=y, paper=paper)


def _printed_means(table: str, method: str, measure: Measure, data: Sequence[str]) -> dict[str, float]:
    found = {name: theirs_of(table, method, name, measure) for name in data}
    return {name: number.mean for name, number in found.items() if number is not None}
