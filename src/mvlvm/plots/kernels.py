"""Pictures of kernel matrices."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

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
