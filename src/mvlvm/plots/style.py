"""The look of every figure.

Ticks that can be read: plain numbers, and where something was measured.

Legends beside or below a figure's panels, never over them, and the figure grown to hold them.
"""

import math
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from mvlvm.plots.palette import is_ours

DPI = 150
SEQUENTIAL = "viridis"
QUALITATIVE = "tab10"
# Far apart in hue and in lightness, so that they differ for colour-blind readers and in print.
OBSERVED = "#a9cbe6"
MISSING = "#d55e00"
_TITLE_CHARACTER = 0.09  # inches
# What keeps formats from saying when they were written.
_NO_DATE = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def new_figure(n_rows: int, n_columns: int, *, panel: tuple[float, float]) -> tuple[Figure, list[list[Axes]]]:
    """Make a grid of panels, each `panel` inches wide and high, without touching pyplot's global state."""
    figure = Figure(figsize=(panel[0] * n_columns, panel[1] * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, [list(row) for row in axes]


def write(figure: Figure, path: Path, *, trimmed: bool = False) -> Path:
    """Save a figure, as PNG, SVG or PDF by the ending of its name, and give its path. The same figure, the same file.

    Args:
        figure: what to save.
        path: where.
        trimmed: margins are cut to what is drawn.
    """
    with rc_context({"svg.hashsalt": "mvlvm"}):
        figure.savefig(
            path, dpi=DPI, bbox_inches="tight" if trimmed else None, metadata=_NO_DATE.get(path.suffix.lower())
        )
    return path


def bare(axes: Axes) -> None:
    """Take away ticks that carry no meaning, as in a latent space of arbitrary units."""
    axes.set_xticks([])
    axes.set_yticks([])


def put_title(panel: Axes, title: str, *, inches: float) -> None:
    """Write a title in lines that are no longer than `inches`; the layout does not see that it is cut off."""
    panel.set_title(textwrap.fill(title, max(12, int(inches / _TITLE_CHARACTER))), fontsize="medium")


def fit_panel(figure: Figure, panel: Axes, *, inches: tuple[float, float]) -> None:
    """Make the only panel of a figure so wide and high at the resolution of files, and the figure to fit."""
    usual = figure.dpi
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    box = panel.get_window_extent()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + inches[0] - box.width / DPI, height + inches[1] - box.height / DPI)
    figure.set_dpi(usual)


_PLAIN = (1e-3, 1e6)  # numbers outside are written as powers
_MOST = 12
_LEAST_DECADES = 0.3  # below which a logarithmic axis looks like any other
# decades, at most -> where in each of them
_PLACES = {1.3: (1.0, 2.0, 3.0, 5.0, 7.0), 5.0: (1.0, 3.0), math.inf: (1.0,)}
_CHARACTER = 0.068  # inches that a digit takes in a tick's label
_GAP = 0.08  # inches between labels


class _RoundNumbers(LogLocator):
    """Ticks at powers of ten where there are many of them, at 1, 3, 10, 30 where there are some, else more."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((abs(vmin), abs(vmax)))
        decades = math.log10(high / low) if low > 0 else math.inf
        if decades < _LEAST_DECADES:
            return MaxNLocator(4).tick_values(vmin, vmax)
        places = next(places for most, places in _PLACES.items() if decades <= most)
        return LogLocator(subs=places, numticks=9).tick_values(vmin, vmax)


def plain_log_ticks(axis: Axis) -> None:
    """Write 10, 30, 100 and not powers, and few enough to be read."""
    axis.set_major_locator(_RoundNumbers())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(float(value))))


def plain_number(value: float) -> str:
    r"""Write a number with as many digits as it has, and very large or small ones with a power of ten.

    Example:
        >>> plain_number(30000.0), plain_number(3e-5)
        ('30,000', '$3\\times10^{-5}$')
    """
    size = abs(value)
    if size == 0 or _PLAIN[0] <= size < _PLAIN[1]:
        return f"{value:,.10g}"
    power = math.floor(math.log10(size) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else f"${factor}\\times10^{{{power}}}$"


def ticks_where_measured(axis: Axis, values: Iterable[float], *, inches: float) -> None:
    """Put ticks at the values themselves where these are few, leaving out those whose labels would touch.

    Args:
        axis: whose limits and scale are set.
        values: where something was measured.
        inches: how long the axis is.
    """
    wanted = sorted(set(values))
    if len(wanted) > _MOST:
        return
    low, high = axis.get_transform().transform(axis.get_view_interval())
    kept: list[float] = []
    end = -math.inf
    for value in wanted:
        middle = inches * (float(axis.get_transform().transform([value])[0]) - low) / (high - low)
        text = plain_number(value)
        half = _CHARACTER * (len(text) - 0.5 * text.count(",")) / 2
        if middle - half >= end + _GAP:
            kept.append(value)
            end = middle + half
    axis.set_major_locator(FixedLocator(kept))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(float(value))))


_LONGEST_LINE = 26  # characters of a name in one line
_MARGIN = 0.15  # inches

Place = Literal["outside right upper", "outside lower center", "center"]


def legend_beside(figure: Figure, handles: Mapping[str, Artist], *, title: str = "") -> None:
    """Put a legend to the right of the panels, and make the figure wider by as much."""
    width, height = _inches(handles, 1, title)
    figure.set_figwidth(figure.get_figwidth() + width)
    figure.set_figheight(max(figure.get_figheight(), height + 2 * _MARGIN))
    _add_legend(figure, handles, "outside right upper", 1, title)


def legend_below(figure: Figure, handles: Mapping[str, Artist], *, title: str = "") -> None:
    """Put a legend below the panels, in as many columns as fit, and make the figure higher by as much."""
    most = next(n for n in range(len(handles), 0, -1) if n == 1 or _inches(handles, n, title)[0] < _room(figure))
    n_columns = -(-len(handles) // -(-len(handles) // most))  # as many lines, as evenly filled as can be
    figure.set_figheight(figure.get_figheight() + _inches(handles, n_columns, title)[1])
    _add_legend(figure, handles, "outside lower center", n_columns, title)


def _room(figure: Figure) -> float:
    return figure.get_figwidth() - 2 * _MARGIN


def _add_legend(figure: Figure, handles: Mapping[str, Artist], place: Place, n_columns: int, title: str) -> Legend:
    names = [textwrap.fill(name, _LONGEST_LINE) for name in handles]
    legend = figure.legend(
        list(handles.values()), names, loc=place, ncols=n_columns, title=title or None, frameon=False,
        fontsize="small", title_fontsize="small", handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), handles, strict=True):
        if is_ours(name):
            text.set_fontweight("bold")
    return legend


def _inches(handles: Mapping[str, Artist], n_columns: int, title: str) -> tuple[float, float]:
    """Measure a legend in a figure of its own, at the resolution of files."""
    scratch = Figure(dpi=DPI)
    legend = _add_legend(scratch, handles, "center", n_columns, title)
    scratch.draw_without_rendering()
    box = legend.get_window_extent()
    return box.width / DPI, box.height / DPI
