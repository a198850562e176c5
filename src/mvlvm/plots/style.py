"""The common style of all figures: colours, figure and panel sizes, tick labels, legends outside the panels."""

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

from mvlvm.io.atomic import open_atomically
from mvlvm.plots.palette import is_ours

DPI = 150
SEQUENTIAL = "viridis"
QUALITATIVE = "tab10"
# These two differ in hue and in lightness, so that colour-blind readers and greyscale prints distinguish them.
OBSERVED = "#a9cbe6"
MISSING = "#d55e00"
# Metadata without the creation date, so that saving a figure twice writes identical files.
_NO_DATE = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}

_TITLE_CHARACTER = 0.09  # inches, the mean width of a character in a title
_TICK_CHARACTER = 0.068  # inches, the width of a digit in a tick label
_TICK_SPACING = 0.08  # inches between tick labels
_MAX_MEASURED_TICKS = 12
_PLAIN_RANGE = (1e-3, 1e6)  # numbers outside this range are written with a power of ten
_MIN_DECADES = 0.3  # a logarithmic axis that spans less gets the ticks of a linear one
# maximal number of decades -> tick positions within each decade
_TICKS_PER_DECADE = {1.3: (1.0, 2.0, 3.0, 5.0, 7.0), 5.0: (1.0, 3.0), math.inf: (1.0,)}

_LEGEND_LINE = 26  # characters in one line of a legend entry
_LEGEND_MARGIN = 0.15  # inches
LegendLocation = Literal["outside right upper", "outside lower center", "center"]


def new_figure(n_rows: int, n_columns: int, *, panel: tuple[float, float]) -> tuple[Figure, list[list[Axes]]]:
    """Create a figure with a grid of panels, without touching pyplot's global state.

    Args:
        n_rows: number of rows of the grid.
        n_columns: number of columns of the grid.
        panel: width and height of one panel, in inches.

    Returns:
        The figure, and its axes as a list of rows.
    """
    figure = Figure(figsize=(panel[0] * n_columns, panel[1] * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, [list(row) for row in axes]


def write(figure: Figure, path: Path, *, trimmed: bool = False) -> Path:
    """Save a figure atomically as PNG, SVG or PDF, depending on the file extension.

    The output is deterministic: equal figures are written as identical files.

    Args:
        figure: the figure to save.
        path: the file to write.
        trimmed: whether to crop the margins to the drawn content.

    Returns:
        `path`.
    """
    extension = path.suffix.lower()
    with open_atomically(path) as file, rc_context({"svg.hashsalt": "mvlvm"}):
        figure.savefig(
            file, dpi=DPI, bbox_inches="tight" if trimmed else None, metadata=_NO_DATE.get(extension),
            format=extension.removeprefix("."),
        )  # fmt: skip
    return path


def remove_ticks(axes: Axes) -> None:
    """Remove the ticks of an axes without units, such as that of a latent space."""
    axes.set_xticks([])
    axes.set_yticks([])


def set_wrapped_title(panel: Axes, title: str, *, inches: float) -> None:
    """Set a title wrapped to lines of at most `inches`: constrained layout does not reserve width for titles."""
    panel.set_title(textwrap.fill(title, max(12, int(inches / _TITLE_CHARACTER))), fontsize="medium")


def fit_panel(figure: Figure, panel: Axes, *, inches: tuple[float, float]) -> None:
    """Resize a figure such that its only panel has the given width and height at the resolution of saved files."""
    original_dpi = figure.dpi
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    box = panel.get_window_extent()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + inches[0] - box.width / DPI, height + inches[1] - box.height / DPI)
    figure.set_dpi(original_dpi)


class _RoundNumberLocator(LogLocator):
    """Place ticks at powers of ten on a long axis, at 1, 3, 10, 30 on a shorter one, and at more on a short one."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((abs(vmin), abs(vmax)))
        decades = math.log10(high / low) if low > 0 else math.inf
        if decades < _MIN_DECADES:
            return MaxNLocator(4).tick_values(vmin, vmax)
        positions = next(positions for most, positions in _TICKS_PER_DECADE.items() if decades <= most)
        return LogLocator(subs=positions, numticks=9).tick_values(vmin, vmax)


def plain_log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis with a few plain numbers such as 10, 30, 100 instead of powers."""
    axis.set_major_locator(_RoundNumberLocator())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(float(value))))


def plain_number(value: float) -> str:
    r"""Format a number in full, or with a power of ten if it is very large or very small.

    Example:
        >>> plain_number(30000.0), plain_number(3e-5)
        ('30,000', '$3\\times10^{-5}$')
    """
    size = abs(value)
    if size == 0 or _PLAIN_RANGE[0] <= size < _PLAIN_RANGE[1]:
        return f"{value:,.10g}"
    power = math.floor(math.log10(size) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else f"${factor}\\times10^{{{power}}}$"


def set_ticks_at_values(axis: Axis, values: Iterable[float], *, inches: float) -> None:
    """Place ticks at the measured values, unless there are more than 12; skip ticks whose labels would overlap.

    Args:
        axis: the axis, with its limits and scale already set.
        values: the positions of the measurements.
        inches: the length of the axis.
    """
    wanted = sorted(set(values))
    if len(wanted) > _MAX_MEASURED_TICKS:
        return
    low, high = axis.get_transform().transform(axis.get_view_interval())
    kept: list[float] = []
    end = -math.inf
    for value in wanted:
        middle = inches * (float(axis.get_transform().transform([value])[0]) - low) / (high - low)
        text = plain_number(value)
        half = _TICK_CHARACTER * (len(text) - 0.5 * text.count(",")) / 2
        if middle - half >= end + _TICK_SPACING:
            kept.append(value)
            end = middle + half
    axis.set_major_locator(FixedLocator(kept))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(float(value))))


def legend_beside(figure: Figure, handles: Mapping[str, Artist], *, title: str = "") -> None:
    """Add a legend to the right of the panels and widen the figure by its width."""
    width, height = _legend_size(handles, 1, title)
    figure.set_figwidth(figure.get_figwidth() + width)
    figure.set_figheight(max(figure.get_figheight(), height + 2 * _LEGEND_MARGIN))
    _add_legend(figure, handles, "outside right upper", 1, title)


def legend_below(figure: Figure, handles: Mapping[str, Artist], *, title: str = "") -> None:
    """Add a legend below the panels, in as many columns as fit, and increase the figure height accordingly."""
    available = figure.get_figwidth() - 2 * _LEGEND_MARGIN
    most = next(n for n in range(len(handles), 0, -1) if n == 1 or _legend_size(handles, n, title)[0] < available)
    n_columns = -(-len(handles) // -(-len(handles) // most))  # the same number of lines, filled evenly
    figure.set_figheight(figure.get_figheight() + _legend_size(handles, n_columns, title)[1])
    _add_legend(figure, handles, "outside lower center", n_columns, title)


def _add_legend(
    figure: Figure, handles: Mapping[str, Artist], loc: LegendLocation, n_columns: int, title: str
) -> Legend:
    names = [textwrap.fill(name, _LEGEND_LINE) for name in handles]
    legend = figure.legend(
        list(handles.values()), names, loc=loc, ncols=n_columns, title=title or None, frameon=False,
        fontsize="small", title_fontsize="small", handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), handles, strict=True):
        if is_ours(name):
            text.set_fontweight("bold")
    return legend


def _legend_size(handles: Mapping[str, Artist], n_columns: int, title: str) -> tuple[float, float]:
    """Return the width and height of a legend in inches, measured in a scratch figure at the resolution of files."""
    scratch = Figure(dpi=DPI)
    legend = _add_legend(scratch, handles, "center", n_columns, title)
    scratch.draw_without_rendering()
    box = legend.get_window_extent()
    return box.width / DPI, box.height / DPI
