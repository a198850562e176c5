"""Plots of kernel matrices, and of synthetic data: the ground truth next to the learned latents and kernels."""

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from mvlvm.errors import ViewError
from mvlvm.plots.latent_scatter import name_row, point_size
from mvlvm.plots.style import SEQUENTIAL, new_figure, remove_ticks

_PANEL = (1.75, 1.75)  # inches
_PIXELS = 600  # rows from which on pixels of a matrix are averaged
_TITLE_LINE = 22  # characters in one line of a panel's title


def plot_kernels(
    truth: Mapping[str, Float[np.ndarray, "N N"]], learned: Mapping[str, Float[np.ndarray, "N N"]]
) -> Figure:
    """Plot the true and the learned kernel matrix of every view side by side, with independent colour scales.

    Args:
        truth: view name -> true kernel matrix, shape (N, N).
        learned: view name -> learned kernel matrix, shape (N, N), rows in the same order.

    Returns:
        The figure, with one row of two panels per view.
    """
    figure, axes = new_figure(len(truth), 2, panel=(3.9, 3.3))
    for row, (name, K) in zip(axes, truth.items(), strict=True):
        for panel, kind, matrix in zip(row, ("true", "learned"), (K, learned[name]), strict=True):
            image = panel.imshow(matrix, cmap=SEQUENTIAL, interpolation="nearest")
            panel.set(title=f"{name}: {kind} kernel", xlabel="sample", ylabel="sample")
            remove_ticks(panel)
            figure.colorbar(image, ax=panel, shrink=0.85)
    return figure


def plot_kernel_matrix(K: Float[np.ndarray, "N N"], *, title: str = "", axes: Axes | None = None) -> Axes:
    """Plot one kernel matrix.

    Args:
        K: the matrix.
        title: above it.
        axes: to draw into; None makes a new figure.

    Returns:
        The axes.
    """
    panel = new_figure(1, 1, panel=(5.0, 4.3))[1][0][0] if axes is None else axes
    image = panel.imshow(K, cmap=SEQUENTIAL, interpolation="nearest" if len(K) < _PIXELS else "antialiased")
    panel.set(title=title, xlabel="row", ylabel="row")
    remove_ticks(panel)
    panel.figure.colorbar(image, ax=panel, shrink=0.85, label="kernel")
    return panel


def plot_toy_comparison(
    latents: Mapping[str, Any],
    grams: Mapping[str, Mapping[str, Any]],
    *,
    position: Any = None,
    r2: Mapping[str, Any] | None = None,
    correlations: Mapping[str, Mapping[str, Any]] | None = None,
) -> Figure:
    """Plot latents and kernel matrices of the ground truth and of methods, one row of panels for each.

    Latents are drawn without alignment, within common limits, so align them before. Every matrix has its own colour
    scale from its smallest to its largest value, because methods differ in units. Sort the samples such that the
    matrices show structure.

    Args:
        latents: source -> latents of shape (N, 2); the sources are the ground truth and the methods.
        grams: source -> view -> kernel matrix of shape (N, N). An en dash marks a missing matrix.
        position: one number per sample that determines the colour of its latent.
        r2: source -> R² of the latents, written above them.
        correlations: source -> view -> correlation with the true matrix, written above the matrix.

    Returns:
        The figure, with one row per source: the latents, then one kernel matrix per view.

    Raises:
        ViewError: no latents are given, they are not two-dimensional, or a matrix has another number of samples.
    """
    if not latents:
        raise ViewError("There is nothing to plot: no latents were given. Pass at least those of the ground truth.")
    points = {source: _as_points(source, X) for source, X in latents.items()}
    views = list(dict.fromkeys(view for by_view in grams.values() for view in by_view))
    figure, axes = new_figure(len(points), 1 + len(views), panel=_PANEL)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + 0.3, height + 0.7)  # for row names and the colour bar
    lowest, highest = _limits(list(points.values()))
    for (panel, *others), (source, X) in zip(axes, points.items(), strict=True):
        colours = np.zeros(len(X)) if position is None else _as_position(position, source, len(X))
        panel.scatter(*X.T, c=colours, cmap=SEQUENTIAL, s=point_size(len(X)), linewidths=0, rasterized=True)
        panel.set(xlim=(lowest[0], highest[0]), ylim=(lowest[1], highest[1]))
        panel.set_title(_format_score("R²", (r2 or {}).get(source)), fontsize="small")
        name_row(panel, source, inches=_PANEL[1])
        for other, view in zip(others, views, strict=True):
            K = grams.get(source, {}).get(view)
            if K is None:
                other.text(0.5, 0.5, "\N{EN DASH}", transform=other.transAxes, ha="center", va="center", color="0.5")
                continue
            other.imshow(_as_gram(source, view, K, len(X)), cmap=SEQUENTIAL, interpolation="nearest", aspect="auto")
            other.set_title(
                _format_score("correlation", (correlations or {}).get(source, {}).get(view)), fontsize="small"
            )
    for panel, name in zip(axes[0], ["latents", *(f"kernel matrix, {view}" for view in views)], strict=True):
        score = panel.get_title()
        panel.set_title(textwrap.fill(name, _TITLE_LINE) + (f"\n{score}" if score else ""), fontsize="small")
    for panel in (panel for row in axes for panel in row):
        remove_ticks(panel)
        panel.spines[:].set_color("0.75")
    if position is not None:
        axes[-1][0].set_xlabel("one colour, one sample", fontsize="small")
    if views:
        _add_colour_bar(figure, [panel for row in axes for panel in row[1:]])
    return figure


def _add_colour_bar(figure: Figure, panels: list[Axes]) -> None:
    bar = figure.colorbar(
        ScalarMappable(cmap=SEQUENTIAL), ax=panels, location="bottom", aspect=30, shrink=0.7, pad=0.02
    )
    bar.set_ticks([0, 1], labels=["smallest", "largest"])
    bar.set_label("kernel value, in each matrix", fontsize="small", labelpad=-6)
    bar.ax.tick_params(labelsize="small")


def _format_score(name: str, value: Any) -> str:
    return "" if value is None else f"{name} {value:.3f}"


def _limits(points: list[Float[np.ndarray, "_ 2"]]) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    """Return the lower left and the upper right corner of a box around all points, with a margin."""
    together = np.concatenate(points)
    low, high = together.min(axis=0), together.max(axis=0)
    margin = 0.06 * np.maximum(high - low, 1e-12)
    return low - margin, high + margin


def _as_points(source: str, given: Any) -> Float[np.ndarray, "N 2"]:
    X = np.asarray(given)
    if X.ndim != 2 or X.shape[1] != 2 or X.dtype.kind not in "iuf" or not np.isfinite(X).all():
        raise ViewError(
            f"Latents of '{source}' must be finite numbers in two columns. Got {X.dtype} of shape {X.shape}. "
            "Select two dimensions to plot."
        )
    return X.astype(np.float64)


def _as_position(given: Any, source: str, n_samples: int) -> Float[np.ndarray, " N"]:
    position = np.asarray(given, dtype=np.float64)
    if position.shape != (n_samples,):
        raise ViewError(
            f"position must be one number per sample. Got shape {position.shape} for {n_samples} latents of "
            f"'{source}'. Pass the same samples in the same order everywhere."
        )
    return position


def _as_gram(source: str, view: str, given: Any, n_samples: int) -> Float[np.ndarray, "N N"]:
    K = np.asarray(given, dtype=np.float64)
    if K.shape != (n_samples, n_samples):
        raise ViewError(
            f"The kernel matrix of '{source}' for '{view}' must have shape ({n_samples}, {n_samples}). "
            f"Got shape {K.shape}. Pass the kernel matrix at the latents in the plot."
        )
    return K
