"""Pictures of kernel matrices.

A picture of made data: the truth beside what was learned.
"""

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
from mvlvm.plots.style import SEQUENTIAL, bare, new_figure


def plot_kernels(
    truth: Mapping[str, Float[np.ndarray, "N N"]], learned: Mapping[str, Float[np.ndarray, "N N"]]
) -> Figure:
    """Show the true kernel matrix of every view beside the learned one, each on a colour scale of its own.

    Args:
        truth: view name -> true kernel matrix.
        learned: view name -> learned kernel matrix, rows in the same order.
    """
    figure, axes = new_figure(len(truth), 2, panel=(3.9, 3.3))
    for row, (name, K) in zip(axes, truth.items(), strict=True):
        for panel, kind, matrix in zip(row, ("true", "learned"), (K, learned[name]), strict=True):
            image = panel.imshow(matrix, cmap=SEQUENTIAL, interpolation="nearest")
            panel.set(title=f"{name}: {kind} kernel", xlabel="sample", ylabel="sample")
            bare(panel)
            figure.colorbar(image, ax=panel, shrink=0.85)
    return figure


_PANEL = (1.75, 1.75)  # inches
_LONGEST_NAME = 22  # characters in one line above a panel


def plot_toy_comparison(
    latents: Mapping[str, Any],
    grams: Mapping[str, Mapping[str, Any]],
    *,
    position: Any = None,
    r2: Mapping[str, Any] | None = None,
    correlations: Mapping[str, Mapping[str, Any]] | None = None,
) -> Figure:
    """Show latents and kernel matrices of the truth and of methods, a row for each, the truth first.

    Latents are drawn as they come, within the same limits: align them before. Every matrix has a scale of its own, from
    its smallest to its largest value, since methods share no units; give samples in an order that shows structure.

    Args:
        latents: source -> latents in two columns; sources are the truth and methods.
        grams: source -> view -> kernel matrix. Where a source has none, a dash stands.
        position: a number for every sample, by which latents are coloured.
        r2: source -> R² of its latents, written above them.
        correlations: source -> view -> correlation of its matrix with the true one, written above it.

    Raises:
        ViewError: there are no latents, they are not two-dimensional, or a matrix is not one of the same samples.
    """
    if not latents:
        raise ViewError("There is nothing to show: no latents were given. Give those of the truth, at least.")
    points = {source: _as_points(source, X) for source, X in latents.items()}
    views = list(dict.fromkeys(view for by_view in grams.values() for view in by_view))
    figure, axes = new_figure(len(points), 1 + len(views), panel=_PANEL)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + 0.3, height + 0.7)  # for names and the scale
    lowest, highest = _limits(list(points.values()))
    for (panel, *others), (source, X) in zip(axes, points.items(), strict=True):
        colours = np.zeros(len(X)) if position is None else _as_position(position, source, len(X))
        panel.scatter(*X.T, c=colours, cmap=SEQUENTIAL, s=point_size(len(X)), linewidths=0, rasterized=True)
        panel.set(xlim=(lowest[0], highest[0]), ylim=(lowest[1], highest[1]))
        panel.set_title(_score("R²", (r2 or {}).get(source)), fontsize="small")
        name_row(panel, source, inches=_PANEL[1])
        for other, view in zip(others, views, strict=True):
            K = grams.get(source, {}).get(view)
            if K is None:
                other.text(0.5, 0.5, "\N{EN DASH}", transform=other.transAxes, ha="center", va="center", color="0.5")
                continue
            other.imshow(_as_gram(source, view, K, len(X)), cmap=SEQUENTIAL, interpolation="nearest", aspect="auto")
            other.set_title(_score("correlation", (correlations or {}).get(source, {}).get(view)), fontsize="small")
    for panel, name in zip(axes[0], ["latents", *(f"kernel matrix, {view}" for view in views)], strict=True):
        score = panel.get_title()
        panel.set_title(textwrap.fill(name, _LONGEST_NAME) + (f"\n{score}" if score else ""), fontsize="small")
    for panel in (panel for row in axes for panel in row):
        bare(panel)
        panel.spines[:].set_color("0.75")
    if position is not None:
        axes[-1][0].set_xlabel("one colour, one sample", fontsize="small")
    if views:
        _add_scale(figure, [panel for row in axes for panel in row[1:]])
    return figure


def _add_scale(figure: Figure, panels: list[Axes]) -> None:
    bar = figure.colorbar(
        ScalarMappable(cmap=SEQUENTIAL), ax=panels, location="bottom", aspect=30, shrink=0.7, pad=0.02
    )
    bar.set_ticks([0, 1], labels=["smallest", "largest"])
    bar.set_label("kernel value, in each matrix", fontsize="small", labelpad=-6)
    bar.ax.tick_params(labelsize="small")


def _score(name: str, value: Any) -> str:
    return "" if value is None else f"{name} {value:.3f}"


def _limits(points: list[Float[np.ndarray, "_ 2"]]) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    """Give the lower left and the upper right corner of a box around all points, with some room."""
    together = np.concatenate(points)
    low, high = together.min(axis=0), together.max(axis=0)
    room = 0.06 * np.maximum(high - low, 1e-12)
    return low - room, high + room


def _as_points(source: str, given: Any) -> Float[np.ndarray, "N 2"]:
    X = np.asarray(given)
    if X.ndim != 2 or X.shape[1] != 2 or X.dtype.kind not in "iuf" or not np.isfinite(X).all():
        raise ViewError(
            f"Latents of '{source}' must be finite numbers in two columns. Got {X.dtype} of shape {X.shape}. "
            "Choose two dimensions to show."
        )
    return X.astype(np.float64)


def _as_position(given: Any, source: str, n_samples: int) -> Float[np.ndarray, " N"]:
    position = np.asarray(given, dtype=np.float64)
    if position.shape != (n_samples,):
        raise ViewError(
            f"position must be a number for every sample. Got the shape {position.shape} for {n_samples} latents of "
            f"'{source}'. Give the samples in the same order everywhere."
        )
    return position


def _as_gram(source: str, view: str, given: Any, n_samples: int) -> Float[np.ndarray, "N N"]:
    K = np.asarray(given, dtype=np.float64)
    if K.shape != (n_samples, n_samples):
        raise ViewError(
            f"The kernel matrix of '{source}' for '{view}' must have a row and a column for every sample, {n_samples}. "
            f"Got the shape {K.shape}. Give the matrix at the latents that are shown."
        )
    return K
