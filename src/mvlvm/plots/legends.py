"""Legends beside or below a figure's panels, never over them, and the figure grown to hold them."""

import textwrap
from collections.abc import Mapping
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from mvlvm.plots.looks import is_ours
from mvlvm.plots.style import DPI

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
