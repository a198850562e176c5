"""Scatter plots of two-dimensional latents: coloured by position or class, and grids of methods by data sets."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mvlvm.errors import ViewError
from mvlvm.plots.embedding import plot_embedding
from mvlvm.plots.palette import is_ours
from mvlvm.plots.style import QUALITATIVE, SEQUENTIAL, legend_below, new_figure, remove_ticks, set_wrapped_title

_MAX_WIDTH = 6.4  # inches of panels, unless there are many
_SIDES = (1.2, 2.4)  # inches, the side of the smallest and of the largest panel
_CHARACTER = 0.073  # inches, the mean width of a character
_N_COLOURS = 10
_MARKERS = "o^sPXDv"  # one per ten classes
_LABELLED_WIDTH = 5.0  # inches, of the title of a labelled embedding
_MAX_INK = 1200.0  # square points covered by all points of a panel


class PointColours(NamedTuple):
    """The meaning of the colours of points.

    Attributes:
        of_column: column of the grid -> class or value of every sample.
        classes: all classes; empty for a continuous scale.
        scale: the continuous scale; None for classes.
    """

    of_column: Mapping[str, Shaped[np.ndarray, " _"]]
    classes: list[int]
    scale: Normalize | None


def plot_latents_along_curve(
    panels: Mapping[str, Float[np.ndarray, "N 2"]], position: Float[np.ndarray, " N"], label: str
) -> Figure:
    """Plot several embeddings of the same rows side by side, coloured by a known quantity.

    Args:
        panels: title -> embedding of shape (N, 2).
        position: the quantity, shape (N,).
        label: label of the colour bar.

    Returns:
        The figure, with one panel per embedding.
    """
    figure, (axes,) = new_figure(1, len(panels), panel=(3.4, 3.3))
    for panel, (title, X) in zip(axes, panels.items(), strict=True):
        points = panel.scatter(X[:, 0], X[:, 1], c=position, cmap=SEQUENTIAL, s=10)
        panel.set(title=title, xlabel="latent dimension 1", ylabel="latent dimension 2")
        remove_ticks(panel)
    figure.colorbar(points, ax=axes, label=label)  # pyright: ignore[reportPossiblyUnboundVariable]
    return figure


def plot_labelled_latents(mean: Any, std: Any, labels: Any, *, title: str) -> Figure:
    """Plot a labelled embedding, with an ellipse of one posterior standard deviation around every mean.

    Args:
        mean: posterior means, shape (N, D).
        std: posterior standard deviations, shape (N, D).
        labels: classes or values of the rows, as in `plot_embedding`.
        title: title of the figure.

    Returns:
        The figure, with a legend of the classes.
    """
    axes = plot_embedding(mean, labels, std=std, label="class")
    first = axes[0] if isinstance(axes, list) else axes
    set_wrapped_title(first, title, inches=_LABELLED_WIDTH)
    figure = first.get_figure(root=True)
    assert figure is not None
    return figure


def plot_latent_gallery(
    latents: Mapping[str, Mapping[str, Any]],
    colours: Any,
    *,
    label: str = "class",
    label_names: Sequence[str] | None = None,
    notes: Mapping[str, Mapping[str, str]] | None = None,
) -> Figure:
    """Plot two-dimensional latents in a grid of small panels with common colours.

    Integers are classes, floating-point numbers are values on a continuous scale. A latent space has no units, so the
    panels have no ticks and independent limits. An en dash marks a panel without latents.

    Args:
        latents: row -> column -> latents of shape (N, 2).
        colours: the class or value of every sample: one array for all columns, or column -> array.
        label: title of the legend or label of the colour bar, with the unit.
        label_names: names of the classes 0, 1, ...
        notes: row -> column -> text below the panel, for example the accuracy.

    Returns:
        The figure, with one panel per row and column.

    Raises:
        ViewError: no latents are given, they are not two-dimensional, or a sample has no colour.
    """
    columns = list(dict.fromkeys(column for row in latents.values() for column in row))
    if not columns:
        raise ViewError("There is nothing to plot: no latents were given. Pass at least one row with one column.")
    shared = _as_colours(colours, columns, label_names)
    side = float(np.clip(_MAX_WIDTH / len(columns), *_SIDES))
    figure, axes = new_figure(len(latents), len(columns), panel=(side, side + (0.2 if notes else 0.0)))
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + 0.4, height + 0.3)  # for the names of the rows and columns
    for panels, (row, by_column) in zip(axes, latents.items(), strict=True):
        for panel, column in zip(panels, columns, strict=True):
            remove_ticks(panel)
            panel.spines[:].set_color("0.75")
            panel.set_xlabel((notes or {}).get(row, {}).get(column, ""), fontsize="small", labelpad=2)
            if column in by_column:
                _scatter(panel, _as_points(by_column[column], row, column, shared), shared, column)
            else:
                panel.text(0.5, 0.5, "\N{EN DASH}", transform=panel.transAxes, ha="center", va="center", color="0.5")
        name_row(panels[0], row, inches=side)
    for panel, column in zip(axes[0], columns, strict=True):
        panel.set_title(textwrap.fill(column, int(side / _CHARACTER)), fontsize="small")
    _add_colour_key(figure, [panel for row in axes for panel in row], shared, label, label_names)
    return figure


def _add_colour_key(
    figure: Figure, panels: list[Axes], colours: PointColours, label: str, label_names: Sequence[str] | None
) -> None:
    """Add the legend or colour bar that all panels share."""
    if colours.scale is None:
        legend_below(figure, _class_handles(colours.classes, label_names), title=label)
        return
    figure.set_figheight(figure.get_figheight() + 0.6)
    points = ScalarMappable(colours.scale, SEQUENTIAL)
    bar = figure.colorbar(points, ax=panels, location="bottom", aspect=40, shrink=0.8, pad=0.02)
    bar.set_label(label, fontsize="small")
    bar.ax.tick_params(labelsize="small")


def name_row(panel: Axes, name: str, *, inches: float) -> None:
    """Label a row of panels at its first panel of height `inches`; NG-MVLVM is set in bold."""
    weight = "bold" if is_ours(name) else "normal"
    panel.set_ylabel(textwrap.fill(name, int(inches / _CHARACTER)), fontsize="small", fontweight=weight)


def point_size(n_points: int) -> float:
    """Return a marker area, in square points, at which many points stay separate and few stay visible."""
    return float(np.clip(_MAX_INK / n_points, 1.0, 9.0))


def _scatter(panel: Axes, X: Float[np.ndarray, "N 2"], colours: PointColours, column: str) -> None:
    values, size = colours.of_column[column], point_size(len(X))
    if colours.scale is not None:
        panel.scatter(*X.T, c=values, cmap=SEQUENTIAL, norm=colours.scale, s=size, linewidths=0, rasterized=True)
        return
    order = np.random.default_rng(0).permutation(len(X))  # random drawing order, so that no class covers the others
    shapes = values // _N_COLOURS % len(_MARKERS)
    for shape in np.unique(shapes):
        some = order[shapes[order] == shape]
        panel.scatter(
            *X[some].T,
            color=_class_colours(values[some]),
            marker=_MARKERS[shape],
            s=size,
            linewidths=0,
            rasterized=True,
        )


def _class_colours(classes: Shaped[np.ndarray, " K"]) -> Float[np.ndarray, "K 4"]:
    return colormaps[QUALITATIVE](classes % _N_COLOURS)


def _class_handles(classes: list[int], names: Sequence[str] | None) -> dict[str, Line2D]:
    return {
        names[k] if names else str(k): Line2D(
            [], [], linestyle="none", marker=_MARKERS[k // _N_COLOURS % len(_MARKERS)], markersize=5,
            color=_class_colours(np.array([k]))[0],
        )
        for k in classes
    }  # fmt: skip


def _as_colours(given: Any, columns: Sequence[str], names: Sequence[str] | None) -> PointColours:
    by_column = given if isinstance(given, Mapping) else dict.fromkeys(columns, given)
    missing = [column for column in columns if column not in by_column]
    if missing:
        raise ViewError(f"colours must have an array for every column. Got none for {missing[0]!r}. Add it.")
    arrays = {column: np.asarray(by_column[column]) for column in columns}
    for column, array in arrays.items():
        if array.ndim != 1 or array.dtype.kind not in "iufb":
            raise ViewError(
                f"colours of '{column}' must be one number per sample. Got {array.dtype} of shape {array.shape}. "
                "Number the classes from zero."
            )
    together = np.concatenate(list(arrays.values()))
    if any(array.dtype.kind == "f" for array in arrays.values()):
        return PointColours(arrays, [], Normalize(float(np.nanmin(together)), float(np.nanmax(together))))
    arrays = {column: array.astype(np.int64) for column, array in arrays.items()}
    classes = [int(k) for k in np.unique(together)]
    if classes[0] < 0 or (names and classes[-1] >= len(names)):
        raise ViewError(
            f"colours must be classes numbered from zero, each with a name in label_names. Got {classes[0]} to "
            f"{classes[-1]} for {len(names or ())} names. Number the classes from zero and name all of them."
        )
    return PointColours(arrays, classes, None)


def _as_points(given: Any, row: str, column: str, colours: PointColours) -> Float[np.ndarray, "N 2"]:
    X, n_colours = np.asarray(given), len(colours.of_column[column])
    if X.ndim != 2 or X.shape[1] != 2 or X.dtype.kind not in "iuf":
        raise ViewError(
            f"Latents of '{row}' for '{column}' must be numbers in two columns. Got {X.dtype} of shape {X.shape}. "
            "Select two dimensions to plot."
        )
    if len(X) != n_colours:
        raise ViewError(
            f"Latents of '{row}' for '{column}' must have one row per colour. Got {len(X)} rows and {n_colours} "
            "colours. Pass the colours of the samples in the plot."
        )
    return X.astype(np.float64)
