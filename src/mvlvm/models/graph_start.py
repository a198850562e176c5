"""Where the latent means start if rows that are alike are to lie together: starts from a graph of neighbours."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.leading import JoinedColumns
from mvlvm.models.lent_views import lend_views
from mvlvm.models.nearest_rows import MOST_DIRECTIONS
from mvlvm.models.neighbour_graph import neighbour_graph
from mvlvm.models.neighbour_start import neighbour_start
from mvlvm.models.spectral_start import spectral_start
from mvlvm.models.starting import of_unit_norm, principal_scores, uncorrelated


def graph_starts(
    kinds: Sequence[str], Ys: Sequence[Float[Tensor, "N _"]], n_components: int, generator: torch.Generator
) -> dict[str, Float[Tensor, "N D"]]:
    """Give starts that keep neighbours together, each component scaled to unit variance.

    Neighbours are those in all views side by side, each divided by its norm, so that all weigh the same. A row that
    lacks a view is compared by those both have. Rows without an entry in any view are no one's neighbours, and start at
    zero.

    Args:
        kinds: which starts, "spectral" or "neighbors".
        Ys: centred views; NaN is missing.
        n_components: D.
        generator: of all draws; on the CPU, so that they are the same on every device.

    Raises:
        ViewError: the views together have fewer than D directions, or too few rows.
    """
    present = ~torch.stack([Y.isnan().all(dim=1) for Y in Ys], dim=1)
    known = present.any(dim=1)
    filled = of_unit_norm(Ys, n_components)
    if not present.all():
        filled = lend_views(filled, present)
    if not known.all():
        filled = JoinedColumns([Y[known] for Y in filled.parts], filled.factors)
    scores = principal_scores(filled, n_components, at_most=max(MOST_DIRECTIONS, n_components))
    Z = scores.float()
    # a layout that begins at the eigenmap is not torn where a curve is bent, and has the better bound
    layouts = {"spectral": spectral_start(Z, n_components, generator)}
    if "neighbors" in kinds:
        first = uncorrelated(layouts["spectral"].to(scores), filled)
        layouts["neighbors"] = neighbour_start(neighbour_graph(Z, generator), first, generator)
    starts = {kind: scores.new_zeros((len(known), n_components)) for kind in kinds}
    for kind in kinds:
        starts[kind][known] = uncorrelated(layouts[kind].to(scores), filled)
    return starts
