"""Pictures of latent spaces."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mvlvm.plots.style import QUALITATIVE, SEQUENTIAL, bare, new_figure


def plot_latents_along_curve(
    panels: Mapping[str, Float[np.ndarray, "N 2"]], position: Float[np.ndarray, " N"], label: str
) -> Figure:
    """Show embeddings of the same rows side by side, coloured by a known quantity.

    Args:
        panels: title -> embedding.
        position: the quantity.
        label: its name.
    """
    figure, (axes,) = new_figure(1, len(panels), panel=(3.4, 3.3))
    for panel, (title, X) in zip(axes, panels.items(), strict=True):
        points = panel.scatter(X[:, 0], X[:, 1], c=position, cmap=SEQUENTIAL, s=10)
        panel.set(title=title, xlabel="latent dimension 1", ylabel="latent dimension 2")
        bare(panel)
    figure.colorbar(points, ax=axes, label=label)  # pyright: ignore[reportPossiblyUnboundVariable]
    return figure


def plot_labelled_latents(
    mean: Float[np.ndarray, "N 2"], std: Float[np.ndarray, "N 2"], labels: Int[np.ndarray, " N"], *, title: str
) -> Figure:
    """Show a labelled embedding, every row as an ellipse of one posterior standard deviation around its mean.

    Args:
        mean: posterior means.
        std: posterior standard deviations.
        labels: classes, numbered from zero.
        title: of the figure.
    """
    figure, ((panel,),) = new_figure(1, 1, panel=(7.2, 6.2))
    palette = colormaps[QUALITATIVE]
    colours = palette(labels % palette.N)
    panel.add_collection(
        EllipseCollection(
            2 * std[:, 0], 2 * std[:, 1], np.zeros(len(mean)), units="xy", offsets=mean,
            offset_transform=panel.transData, facecolors=colours, edgecolors="none", alpha=0.25,
        )
    )  # fmt: skip
    panel.scatter(mean[:, 0], mean[:, 1], c=colours, s=5, linewidths=0)
    panel.set(title=title, xlabel="latent dimension 1", ylabel="latent dimension 2")
    panel.set_aspect("equal", adjustable="datalim")
    handles = [
        Line2D([], [], marker="o", linestyle="", color=palette(label % palette.N), label=str(label))
        for label in np.unique(labels)
    ]
    figure.legend(handles=handles, title="class", loc="outside right center", frameon=False)
    return figure
