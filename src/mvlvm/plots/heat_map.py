"""Heat maps of tables, with the value written into every cell."""

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

_CELL = 0.42  # inches, the height of a cell; its width follows from the longest text
_CHARACTER = 0.075  # inches, the mean width of a character
_MISSING_CELL = "0.9"  # light grey
_BLACK_TEXT_LUMINANCE = 0.18  # relative luminance at which black and white text have equal contrast (WCAG 2)


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
    """Plot a matrix as a heat map, with every value written into its cell.

    Args:
        values: matrix of shape (rows, columns); NaN marks missing values.
        rows: names of the rows, from top to bottom.
        columns: names of the columns, from left to right.
        label: label of the colour bar, with the unit.
        names: labels of the vertical and of the horizontal axis.
        std: standard deviations, written below the values; same shape as `values`.
        digits: format specification of the values, for example ".2f".
        log: whether the colour scale is logarithmic.

    Returns:
        The figure, with one panel and its colour bar.

    Raises:
        ViewError: values is not a matrix with a name for every row and column, or not positive if `log` is True.
    """
    matrix = _as_matrix(values, rows, columns, "values")
    spread = None if std is None else _as_matrix(std, rows, columns, "std")
    _check_numbers(matrix, log)
    texts = [
        [_cell_text(value, None if spread is None else spread[r, c], digits) for c, value in enumerate(line)]
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
    palette = colormaps[SEQUENTIAL].with_extremes(bad=_MISSING_CELL)
    image = panel.imshow(matrix, cmap=palette, norm=norm, aspect="auto", interpolation="nearest")
    _write_values(panel, texts, image.to_rgba(np.ma.masked_invalid(matrix)))
    panel.set_xticks(range(len(columns)), column_names)
    panel.set_yticks(range(len(rows)), row_names)
    panel.set(ylabel=names[0], xlabel=names[1])
    _draw_grid(panel, matrix.shape)
    form = FuncFormatter(lambda value, _: plain_number(float(value))) if log else None
    bar = figure.colorbar(image, ax=panel, label=textwrap.fill(label, max(14, 9 * len(rows))), format=form)
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def _write_values(panel: Axes, texts: list[list[str]], colours: Float[np.ndarray, "R C 4"]) -> None:
    for (r, c), luminance in np.ndenumerate(relative_luminance(colours[..., :3])):
        ink = "black" if luminance > _BLACK_TEXT_LUMINANCE else "white"
        panel.text(c, r, texts[r][c], ha="center", va="center", color=ink, fontsize="small", linespacing=1.1)


def relative_luminance(colours: Float[np.ndarray, "*S 3"]) -> Float[np.ndarray, "*S"]:
    """Return the relative luminance of sRGB colours, from 0 to 1, as defined by WCAG 2; shape (*S,)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def _draw_grid(panel: Axes, shape: tuple[int, int]) -> None:
    """Draw white lines between cells and remove the tick marks."""
    panel.set_yticks(np.arange(0.5, shape[0] - 1), minor=True)
    panel.set_xticks(np.arange(0.5, shape[1] - 1), minor=True)
    panel.grid(which="minor", color="white", linewidth=1.5)
    panel.tick_params(which="both", length=0)
    panel.tick_params(labelsize="small")
    panel.spines[:].set_visible(False)


def _cell_text(value: float, std: float | None, digits: str) -> str:
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
            f"{argument} must be a matrix of numbers. Got {type(given).__name__}. Use NaN for missing values."
        ) from None
    if matrix.ndim != 2 or matrix.shape != (len(rows), len(columns)) or matrix.size == 0:
        raise ViewError(
            f"{argument} must have a row for each of {len(rows)} names and a column for each of {len(columns)}. "
            f"Got shape {matrix.shape}. Pass one name per row and column, at least one of each."
        )
    return matrix


def _check_numbers(matrix: Float[np.ndarray, "R C"], log: bool) -> None:
    observed = matrix[~np.isnan(matrix)]
    if not len(observed) or not np.isfinite(observed).all():
        raise ViewError(
            "values must contain at least one number, and no infinity. Got no number, or inf. "
            "Use NaN for missing values."
        )
    if log and observed.min() <= 0:
        raise ViewError(f"values must be positive if log is True. Got {observed.min():g}. Use NaN, or set log=False.")
