"""Pictures of tables: groups of bars with error bars, one bar for every method."""

import textwrap
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mvlvm.errors import ViewError
from mvlvm.plots.palette import MethodStyle, method_looks
from mvlvm.plots.style import legend_below, new_figure, put_title

_WIDEST = 6.6  # inches that the bars of one line may take; other groups go to the next line
_NARROWEST_BAR, _WIDEST_BAR = 0.095, 0.3  # inches
_LEAST_WIDTH, _HEIGHT = 4.2, 2.3  # inches
_GAP = 1.6  # bars' widths between groups
_PAPER: dict[str, Any] = {"marker": "D", "color": "none", "markerfacecolor": "white", "markeredgecolor": "black"}

Numbers = Mapping[str, Mapping[str, Any]]


def plot_bars(values: Numbers, *, y: str, paper: Numbers | None = None, x: str = "", title: str = "") -> Figure:
    """Show a table as groups of bars, with error bars of one standard deviation.

    Where a method has no number for a group, or NaN, there is a gap in its place. Groups that do not fit in one line go
    on below, on the same scale.

    Args:
        values: method -> group -> mean or (mean, std).
        y: what the numbers are, with their unit.
        paper: method -> group -> the number that was published, drawn as a diamond.
        x: what the groups are.
        title: of the figure.

    Raises:
        ViewError: there are no numbers, or they are neither means nor means with standard deviations.
    """
    table = {m: {g: _mean_and_std(m, g, given) for g, given in row.items()} for m, row in values.items()}
    groups = _in_order(table)
    if not any(np.isfinite(mean) for row in table.values() for mean, _ in row.values()):
        raise ViewError("There is nothing to show: no number was given. Give at least one method with one group.")
    published = _published(table, groups, paper or {})
    looks = method_looks(table)
    lines, width = _lines(groups, len(table))
    figure, rows = new_figure(len(lines), 1, panel=(width, _HEIGHT))
    lowest, highest = _limits(table, published)
    for (panel,), line in zip(rows, lines, strict=True):
        _draw(panel, line, table, looks, published)
        n_slots = len(lines[0]) * (len(table) + _GAP)
        panel.set(ylabel=textwrap.fill(y, 26), ylim=(lowest, highest), xlim=(-_GAP / 2, n_slots - _GAP / 2))
    rows[-1][0].set_xlabel(x)
    put_title(rows[0][0], title, inches=width - 1.0)
    handles: dict[str, Artist] = {method: _patch(look) for method, look in looks.items()}
    if published:
        handles["paper"] = Line2D([], [], markersize=4.5, **_PAPER)
    legend_below(figure, handles)
    return figure


def _draw(
    panel: Axes,
    groups: list[str],
    table: Mapping[str, Mapping[str, tuple[float, float]]],
    looks: Mapping[str, MethodStyle],
    published: Mapping[tuple[str, str], float],
) -> None:
    starts = np.arange(len(groups)) * (len(table) + _GAP)
    for k, method in enumerate(table):
        there = [(start + k, g) for start, g in zip(starts, groups, strict=True) if g in table[method]]
        places = np.array([place for place, _ in there])
        numbers = np.array([table[method][g] for _, g in there]).reshape(-1, 2)
        look = looks[method]
        panel.bar(
            places, numbers[:, 0], width=0.92, color=look.colour, hatch=look.hatch, label=method, linewidth=0,
            edgecolor="white",
        )  # fmt: skip
        noisy = numbers[:, 1] > 0
        panel.errorbar(
            places[noisy],
            numbers[noisy, 0],
            numbers[noisy, 1],
            linestyle="none",
            color="0.25",
            linewidth=0.8,
            capsize=1.5,
        )  # fmt: skip
        spots = zip(starts + k, groups, strict=True)
        marks = [(place, published[method, g]) for place, g in spots if (method, g) in published]
        if marks:
            panel.plot(*zip(*marks, strict=True), linestyle="none", markersize=3.5, markeredgewidth=0.8, **_PAPER)
    panel.axhline(0.0, color="0.3", linewidth=0.8)
    panel.set_xticks(starts + (len(table) - 1) / 2, [textwrap.fill(g, 18) for g in groups])
    panel.tick_params(axis="x", length=0, labelsize="small")
    panel.tick_params(axis="y", labelsize="small")
    panel.grid(axis="y", alpha=0.3, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "bottom"]].set_visible(False)


def _patch(look: MethodStyle) -> Patch:
    return Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0)


def _lines(groups: list[str], n_methods: int) -> tuple[list[list[str]], float]:
    """Cut groups into lines of bars that are wide enough to be seen, and give the width of the figure."""
    slots = n_methods + _GAP
    n_lines = -(-len(groups) // max(1, int(_WIDEST / (slots * _NARROWEST_BAR))))
    per_line = -(-len(groups) // n_lines)
    width = min(_WIDEST, per_line * slots * _WIDEST_BAR) + 0.8
    lines = [groups[k : k + per_line] for k in range(0, len(groups), per_line)]
    return lines, max(_LEAST_WIDTH, width)


def _limits(
    table: Mapping[str, Mapping[str, tuple[float, float]]], published: Mapping[tuple[str, str], float]
) -> tuple[float, float]:
    """Give limits that hold zero, all error bars and all marks."""
    pairs = np.array([pair for row in table.values() for pair in row.values() if np.isfinite(pair[0])])
    ends = np.concatenate([pairs[:, 0] - pairs[:, 1], pairs.sum(axis=1), list(published.values()), [0.0]])
    room = 0.05 * float(np.ptp(ends)) or 1.0
    return float(ends.min()) - (room if ends.min() < 0 else 0.0), float(ends.max()) + room


def _in_order(table: Numbers) -> list[str]:
    """Give all groups; one that a method lacks stands where the other methods have it."""
    sorter = TopologicalSorter[str](dict.fromkeys((group for row in table.values() for group in row), ()))
    for row in table.values():
        for before, after in pairwise(row):
            sorter.add(after, before)
    try:
        return list(sorter.static_order())
    except CycleError:  # methods have them in different orders
        return list(dict.fromkeys(group for row in table.values() for group in row))


def _published(table: Numbers, groups: list[str], paper: Numbers) -> dict[tuple[str, str], float]:
    strangers = [method for method in paper if method not in table]
    if strangers:
        raise ViewError(
            f"paper must name methods that have bars. Got {strangers[0]!r}; the methods are: {', '.join(table)}."
        )
    return {(m, g): float(v) for m, row in paper.items() for g, v in row.items() if g in groups and np.isfinite(v)}


def _mean_and_std(method: str, group: str, given: Any) -> tuple[float, float]:
    try:
        mean, std = (float(given), 0.0) if np.ndim(given) == 0 else (float(part) for part in given)
    except (TypeError, ValueError):
        raise ViewError(
            f"The bar of '{method}' for '{group}' must be a mean, or (mean, std). Got {given!r}. "
            "Give one or two numbers."
        ) from None
    if std < 0 or np.isinf(mean) or np.isinf(std):
        raise ViewError(
            f"The bar of '{method}' for '{group}' must be finite, with a standard deviation of at least zero. "
            f"Got {mean:g} and {std:g}. Leave it out where there is none."
        )
    return mean, 0.0 if np.isnan(std) else std
