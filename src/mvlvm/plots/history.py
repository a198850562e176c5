"""Pictures of a fit's course."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from mvlvm.plots.style import new_figure

# The steep climb of the first steps would press the rest of the curve flat against the top.
_SHARE_NOT_SHOWN = 0.05


def plot_bounds(histories: Mapping[str, Mapping[str, Float[np.ndarray, " T"]]]) -> Figure:
    """Show the bound over time, one panel per fit.

    Args:
        histories: title -> an estimator's `history_`.
    """
    figure, (axes,) = new_figure(1, len(histories), panel=(4.6, 3.2))
    for panel, (title, history) in zip(axes, histories.items(), strict=True):
        shown = int(_SHARE_NOT_SHOWN * len(history["elbo"]))
        panel.plot(history["seconds"], history["elbo"] / 1000, linewidth=0.8)
        low, high = history["elbo"][shown:].min() / 1000, history["elbo"].max() / 1000
        panel.set_ylim(low, high + 0.05 * (high - low))
        panel.set(title=title, xlabel="seconds", ylabel="evidence lower bound (1,000 nats)")
        panel.grid(alpha=0.3)
    return figure
