"""The look of every figure."""

import textwrap
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
