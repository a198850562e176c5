"""Grouped bar charts of tables of results, with error bars and one bar per method."""

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
from mvlvm.plots.style import legend_below, new_figure, set_wrapped_title

_MAX_WIDTH = 6.6  # inches of bars in one panel; further groups are drawn in panels below
_MIN_BAR, _MAX_BAR = 0.095, 0.3  # inches, the width of a bar
_MIN_WIDTH, _HEIGHT = 4.2, 2.3  # inches
_SPACING = 1.6  # distance between groups, in bar widths
_PAPER: dict[str, Any] = {"marker": "D", "color": "none", "markerfacecolor": "white", "markeredgecolor": "black"}

Numbers = Mapping[str, Mapping[str, Any]]


def plot_bars(values: Numbers, *, y: str, paper: Numbers | None = None, x: str = "", title: str = "") -> Figure:
    """Plot a table as a grouped bar chart, with error bars of one standard deviation.

    The bar of a method without a value for a group, or with NaN, is left out. Groups that do not fit into one panel
    continue in panels below, on the same scale.

    Args:
        values: method -> group -> mean or (mean, std).
        y: label of the vertical axis, with the unit.
        paper: method -> group -> published value, drawn as a diamond.
        x: label of the horizontal axis.
        title: title of the figure.

    Returns:
        The figure, with one panel per line of groups.

    Raises:
        ViewError: no value is given, or a value is neither a mean nor a pair of mean and standard deviation.
    """
    table = {m: {g: _mean_and_std(m, g, given) for g, given in row.items()} for m, row in values.items()}
    groups = _ordered_groups(table)
    if not any(np.isfinite(mean) for row in table.values() for mean, _ in row.values()):
        raise ViewError("There is nothing to plot: no value was given. Pass at least one method with one group.")
    published = _published_values(table, groups, paper or {})
    styles = method_looks(table)
    lines, width = _split_groups(groups, len(table))
    figure, rows = new_figure(len(lines), 1, panel=(width, _HEIGHT))
    lowest, highest = _limits(table, published)
    for (panel,), line in zip(rows, lines, strict=True):
        _draw_bars(panel, line, table, styles, published)
        n_slots = len(lines[0]) * (len(table) + _SPACING)
        panel.set(ylabel=textwrap.fill(y, 26), ylim=(lowest, highest), xlim=(-_SPACING / 2, n_slots - _SPACING / 2))
    rows[-1][0].set_xlabel(x)
    set_wrapped_title(rows[0][0], title, inches=width - 1.0)
    handles: dict[str, Artist] = {method: _patch(style) for method, style in styles.items()}
    if published:
        handles["paper"] = Line2D([], [], markersize=4.5, **_PAPER)
    legend_below(figure, handles)
    return figure


def _draw_bars(
    panel: Axes,
    groups: list[str],
    table: Mapping[str, Mapping[str, tuple[float, float]]],
    styles: Mapping[str, MethodStyle],
    published: Mapping[tuple[str, str], float],
) -> None:
    starts = np.arange(len(groups)) * (len(table) + _SPACING)
    for k, method in enumerate(table):
        given = [(start + k, g) for start, g in zip(starts, groups, strict=True) if g in table[method]]
        positions = np.array([position for position, _ in given])
        numbers = np.array([table[method][g] for _, g in given]).reshape(-1, 2)
        style = styles[method]
        panel.bar(
            positions, numbers[:, 0], width=0.92, color=style.colour, hatch=style.hatch, label=method, linewidth=0,
            edgecolor="white",
        )  # fmt: skip
        noisy = numbers[:, 1] > 0
        panel.errorbar(
            positions[noisy],
            numbers[noisy, 0],
            numbers[noisy, 1],
            linestyle="none",
            color="0.25",
            linewidth=0.8,
            capsize=1.5,
        )  # fmt: skip
        bars = zip(starts + k, groups, strict=True)
        marks = [(position, published[method, g]) for position, g in bars if (method, g) in published]
        if marks:
            panel.plot(*zip(*marks, strict=True), linestyle="none", markersize=3.5, markeredgewidth=0.8, **_PAPER)
    panel.axhline(0.0, color="0.3", linewidth=0.8)
    panel.set_xticks(starts + (len(table) - 1) / 2, [textwrap.fill(g, 18) for g in groups])
    panel.tick_params(axis="x", length=0, labelsize="small")
    panel.tick_params(axis="y", labelsize="small")
    panel.grid(axis="y", alpha=0.3, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "bottom"]].set_visible(False)


def _patch(style: MethodStyle) -> Patch:
    return Patch(facecolor=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0)


def _split_groups(groups: list[str], n_methods: int) -> tuple[list[list[str]], float]:
    """Split groups into lines in which bars are wide enough to be visible; also return the panel width in inches."""
    slots = n_methods + _SPACING
    n_lines = -(-len(groups) // max(1, int(_MAX_WIDTH / (slots * _MIN_BAR))))
    per_line = -(-len(groups) // n_lines)
    width = min(_MAX_WIDTH, per_line * slots * _MAX_BAR) + 0.8
    lines = [groups[k : k + per_line] for k in range(0, len(groups), per_line)]
    return lines, max(_MIN_WIDTH, width)


def _limits(
    table: Mapping[str, Mapping[str, tuple[float, float]]], published: Mapping[tuple[str, str], float]
) -> tuple[float, float]:
    """Return axis limits that include zero, all error bars and all marks."""
    pairs = np.array([pair for row in table.values() for pair in row.values() if np.isfinite(pair[0])])
    ends = np.concatenate([pairs[:, 0] - pairs[:, 1], pairs.sum(axis=1), list(published.values()), [0.0]])
    margin = 0.05 * float(np.ptp(ends)) or 1.0
    return float(ends.min()) - (margin if ends.min() < 0 else 0.0), float(ends.max()) + margin


def _ordered_groups(table: Numbers) -> list[str]:
    """Return all groups in an order that agrees with the order of every method, if there is one."""
    sorter = TopologicalSorter[str](dict.fromkeys((group for row in table.values() for group in row), ()))
    for row in table.values():
        for before, after in pairwise(row):
            sorter.add(after, before)
    try:
        return list(sorter.static_order())
    except CycleError:  # the orders of two methods contradict each other
        return list(dict.fromkeys(group for row in table.values() for group in row))


def _published_values(table: Numbers, groups: list[str], paper: Numbers) -> dict[tuple[str, str], float]:
    unknown = [method for method in paper if method not in table]
    if unknown:
        raise ViewError(f"paper must name methods in values. Got {unknown[0]!r}; the methods are: {', '.join(table)}.")
    return {(m, g): float(v) for m, row in paper.items() for g, v in row.items() if g in groups and np.isfinite(v)}


def _mean_and_std(method: str, group: str, given: Any) -> tuple[float, float]:
    try:
        mean, std = (float(given), 0.0) if np.ndim(given) == 0 else (float(part) for part in given)
    except (TypeError, ValueError):
        raise ViewError(
            f"The value of '{method}' for '{group}' must be a mean, or (mean, std). Got {given!r}. "
            "Pass one or two numbers."
        ) from None
    if std < 0 or np.isinf(mean) or np.isinf(std):
        raise ViewError(
            f"The value of '{method}' for '{group}' must be finite, with a non-negative standard deviation. "
            f"Got {mean:g} and {std:g}. Omit the group if there is no value."
        )
    return mean, 0.0 if np.isnan(std) else std
