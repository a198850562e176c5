"""Selection and aggregation of results for figures and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from mvlvm import plots
from mvlvm.experiments.cells import Coordinate
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable, best_methods, printed_value

Line = tuple[list[float], list[float], list[float]]
_LARGEST_PIXEL = 255.0


def at_point(results: ExperimentResults, at: Mapping[str, Coordinate]) -> ExperimentResults:
    """Return the results at a grid point; methods without one of the axes belong to all of its points."""
    records = [r for r in results.records if all(dict(r.cell.at).get(axis, v) == v for axis, v in at.items())]
    return replace(results, records=records)


def curves_along(
    results: ExperimentResults, number: str, data: str, axis: str, *, scale: float = 1.0
) -> dict[str, Line]:
    """Return a number along an axis: method -> (coordinates, means, standard deviations).

    A method that does not depend on the axis is constant along it.
    """
    lines: dict[str, Line] = {}
    points = sorted(results.coordinates(axis), key=float)
    for method in results.methods:
        spreads = [(float(x), at_point(results, {axis: x}).spread(number, data, method)) for x in points]
        there = [(x, scale * s.mean, scale * s.std) for x, s in spreads if s is not None]
        if there:
            xs, means, stds = (list(column) for column in zip(*there, strict=True))
            lines[method] = xs, means, stds
    return lines


def bar_groups(
    results: ExperimentResults, measures: Sequence[Measure], data: str
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return values for grouped bars: method -> measure -> (mean, standard deviation)."""
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    for method in results.methods:
        for measure in measures:
            spread = results.spread(measure.number, data, method)
            if spread is not None:
                groups.setdefault(method, {})[measure.column] = measure.scale * spread.mean, measure.scale * spread.std
    return groups


def table_along(
    results: ExperimentResults, measure: Measure, data: str, axis: str, *, title: str, mark_best: bool = True
) -> ResultTable:  # fmt: skip
    """Return a table with a row for every method and a column for every coordinate with results."""
    columns: dict[str, dict[str, str]] = {}
    for point in sorted(results.coordinates(axis), key=float):
        here = at_point(results, {axis: point})
        spreads = {method: here.spread(measure.number, data, method) for method in results.methods}
        best = best_methods(spreads, higher=measure.higher_is_better)
        if best:
            texts = {m: "-" if s is None else measure.text(s) for m, s in spreads.items()}
            columns[f"{axis} = {point}"] = {m: f"**{t}**" if mark_best and m in best else t for m, t in texts.items()}
    rows = [[method, *(column[method] for column in columns.values())] for method in results.methods]
    shown = [row for row in rows if any(cell != "-" for cell in row[1:])]
    slug = "-".join(f"{results.experiment} {data} {measure.number} by {axis}".lower().split())
    return ResultTable(slug, title, [["method", *columns], *shown])


def row_count_note(results: ExperimentResults) -> str:
    """Return a sentence with the number of rows fitted, naming the methods that were given fewer."""
    notes = []
    for data in results.data:
        rows = {m: s.mean for m in results.methods if (s := results.spread("rows", data, m)) is not None}
        most = max(rows.values(), default=0.0)
        fewer = [f"{method} {n:,.0f}" for method, n in rows.items() if n < most]
        notes += [f"{data} {most:,.0f}" + (f" ({', '.join(fewer)}, limited by cost)" if fewer else "")] * bool(rows)
    return f"Number of rows fitted: {'; '.join(notes)}." if notes else ""


def unit_pixels(views: Mapping[str, Any]) -> dict[str, Float[np.ndarray, "N _"]]:
    """Scale images (N x M) from [0, 255] to [0, 1]."""
    return {name: np.asarray(Y, dtype=np.float32) / _LARGEST_PIXEL for name, Y in views.items()}


def mean_squared_error(truth: Any, rebuilt: Any) -> float:
    """Return the mean squared difference of the entries of two matrices."""
    return float(np.mean(np.square(np.asarray(truth, dtype=np.float64) - np.asarray(rebuilt, dtype=np.float64))))


if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy_bars(results: ExperimentResults, measure: Measure, *, y: str, paper_table: str | None = None) -> "Figure":
    """Plot a measure for all methods and data sets, with the paper's values where it prints them.

    Args:
        results: results of the experiment.
        measure: the measure to plot.
        y: label of the vertical axis.
        paper_table: table of the paper with its values; None if there is none.
    """
    spreads = {m: {d: results.spread(measure.number, d, m) for d in results.data} for m in results.methods}
    values = {
        method: {data: (measure.scale * s.mean, measure.scale * s.std) for data, s in row.items() if s is not None}
        for method, row in spreads.items()
    }
    paper = (
        None
        if paper_table is None
        else {m: _printed_means(paper_table, m, measure, list(row)) for m, row in values.items()}
    )
    return plots.plot_bars(values, y=y, paper=paper)


def _printed_means(table: str, method: str, measure: Measure, data: Sequence[str]) -> dict[str, float]:
    values = {name: printed_value(table, method, name, measure) for name in data}
    return {name: value.mean for name, value in values.items() if value is not None}
