"""A picture of a table: every cell in a colour, with its number."""

import textwrap
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from mvlvm.errors import ViewError
from mvlvm.plots.style import SEQUENTIAL, new_figure, plain_number

_CELL = 0.42  # inches, the height; a cell is as wide as its number
_CHARACTER = 0.075  # inches
_NOT_THERE = "0.9"
_DARKEST_FOR_BLACK = 0.18  # of relative luminance: black and white are equally far from it, by the contrast of WCAG 2


def plot_heat_map(
    values: Any,
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    label: str,
    names: tuple[str, str] = ("", ""),
    std: Any = None,
    digits: str = ".2f",
    log: bool = False,
) -> Figure:
    """Show a matrix of numbers, each written into its cell.

    Args:
        values: rows by columns; NaN where there is none.
        rows: their names, from top to bottom.
        columns: their names, from left to right.
        label: what the numbers are, with their unit.
        names: what the rows are, and what the columns are.
        std: standard deviations, written below the numbers.
        digits: how numbers are written, as in Python's format.
        log: whether colours go by the logarithm.

    Raises:
        ViewError: the numbers are no matrix with a name for every row and column, or not positive if `log`.
    """
    matrix = _as_matrix(values, rows, columns, "values")
    spread = None if std is None else _as_matrix(std, rows, columns, "std")
    _check_numbers(matrix, log)
    texts = [
        [_written(value, None if spread is None else spread[r, c], digits) for c, value in enumerate(line)]
        for r, line in enumerate(matrix)
    ]
    row_names, column_names = [str(name) for name in rows], [textwrap.fill(str(name), 12) for name in columns]
    widest = max(len(part) for text in (*chain(*texts), *column_names) for part in text.split("\n"))
    cell = (max(0.5, 0.16 + _CHARACTER * widest), _CELL if spread is None else 1.4 * _CELL)
    beside = 1.5 + _CHARACTER * max(map(len, row_names))
    above = 0.75 + 0.15 * max(name.count("\n") for name in column_names)
    figure, ((panel,),) = new_figure(
        1, 1, panel=(cell[0] * len(columns) + beside, max(1.6, cell[1] * len(rows) + above))
    )
    low, high = _range(matrix)
    norm = LogNorm(low, high) if log else Normalize(low, high)
    palette = colormaps[SEQUENTIAL].with_extremes(bad=_NOT_THERE)
    image = panel.imshow(matrix, cmap=palette, norm=norm, aspect="auto", interpolation="nearest")
    _write(panel, texts, image.to_rgba(np.ma.masked_invalid(matrix)))
    panel.set_xticks(range(len(columns)), column_names)
    panel.set_yticks(range(len(rows)), row_names)
    panel.set(ylabel=names[0], xlabel=names[1])
    _separate(panel, matrix.shape)
    form = FuncFormatter(lambda value, _: plain_number(float(value))) if log else None
    bar = figure.colorbar(image, ax=panel, label=textwrap.fill(label, max(14, 9 * len(rows))), format=form)
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def _write(panel: Axes, texts: list[list[str]], colours: Float[np.ndarray, "R C 4"]) -> None:
    for (r, c), luminance in np.ndenumerate(relative_luminance(colours[..., :3])):
        ink = "black" if luminance > _DARKEST_FOR_BLACK else "white"
        panel.text(c, r, texts[r][c], ha="center", va="center", color=ink, fontsize="small", linespacing=1.1)


def relative_luminance(colours: Float[np.ndarray, "*S 3"]) -> Float[np.ndarray, "*S"]:
    """Give how bright colours are to the eye, from 0 to 1, as WCAG 2 has it."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def _separate(panel: Axes, shape: tuple[int, int]) -> None:
    """Draw white lines between cells, and no ticks."""
    panel.set_yticks(np.arange(0.5, shape[0] - 1), minor=True)
    panel.set_xticks(np.arange(0.5, shape[1] - 1), minor=True)
    panel.grid(which="minor", color="white", linewidth=1.5)
    panel.tick_params(which="both", length=0)
    panel.tick_params(labelsize="small")
    panel.spines[:].set_visible(False)


def _written(value: float, std: float | None, digits: str) -> str:
    if np.isnan(value):
        return "\N{EN DASH}"
    number = format(value, digits)
    return number if std is None or np.isnan(std) else f"{number}\n± {std:{digits}}"


def _range(matrix: Float[np.ndarray, "R C"]) -> tuple[float, float]:
    low, high = float(np.nanmin(matrix)), float(np.nanmax(matrix))
    return (low, high) if high > low else (low - abs(low) / 2, low + abs(low) / 2 or 1.0)


def _as_matrix(given: Any, rows: Sequence[Any], columns: Sequence[Any], argument: str) -> Float[np.ndarray, "R C"]:
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ViewError(
            f"{argument} must be a matrix of numbers. Got {type(given).__name__}. Write NaN where there is none."
        ) from None
    if matrix.ndim != 2 or matrix.shape != (len(rows), len(columns)) or matrix.size == 0:
        raise ViewError(
            f"{argument} must have a row for each of {len(rows)} names and a column for each of {len(columns)}. "
            f"Got the shape {matrix.shape}. Give as many names as there are rows and columns, at least one."
        )
    return matrix


def _check_numbers(matrix: Float[np.ndarray, "R C"], log: bool) -> None:
    there = matrix[~np.isnan(matrix)]
    if not len(there) or not np.isfinite(there).all():
        raise ViewError(
            "values must hold finite numbers, at least one. Got none, or inf. Write NaN where there is none."
        )
    if log and there.min() <= 0:
        raise ViewError(f"values must be positive if log is True. Got {there.min():g}. Write NaN, or set log=False.")
