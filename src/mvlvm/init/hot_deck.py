"""Hot-deck imputation of missing views, for initial latents that preserve neighbourhoods.

Rows must not become neighbours because the same view is missing in both. So a row without a view (the recipient) gets,
for the initialisation only, this view from its nearest row (the donor) in the views that both have. A single donor is
used rather than a mean of several: means vary less than rows do, so that imputed rows would cluster again.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.init.knn_graph import DISTANCES_PER_BLOCK, MAX_COMPONENTS, squared_distances
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix


def hot_deck_impute(
    completed: ConcatenatedMatrix, present: Bool[Tensor, "N V"], norms: Sequence[float] | None = None
) -> ConcatenatedMatrix:
    """Return views in which missing views of rows are imputed by those of their nearest donors, rescaled to norms.

    A row keeps its completed entries if no row that has the view shares another view with it. A view with a single
    observed entry in a row counts as present in this row.

    Args:
        completed: normalised views, their missing entries already completed by any method.
        present: which rows have an observed entry in which views.
        norms: Frobenius norms to scale the views to; None stands for ones.
    """
    scores = [_scores(Y, factor) for Y, factor in zip(completed.parts, completed.factors, strict=True)]
    parts = list(completed.parts)
    for view, has in enumerate(present.T):
        if has.any() and not has.all():
            recipients, donors = (~has).nonzero().flatten(), has.nonzero().flatten()
            nearest, found = _nearest_donors(scores, present, recipients, donors)
            parts[view] = parts[view].clone()
            parts[view][recipients[found]] = completed.parts[view][nearest[found]]
    norms = norms or [1.0] * len(parts)
    factors = [norm / float(torch.linalg.matrix_norm(Y)) for Y, norm in zip(parts, norms, strict=True)]
    return ConcatenatedMatrix(parts, factors)


def _scores(Y: Float[Tensor, "N M"], factor: float) -> Float[Tensor, "N d"]:
    """Return the principal component scores of one view."""
    left, singular_values = ConcatenatedMatrix([Y], [factor]).left_singular_vectors(MAX_COMPONENTS)
    return (left * singular_values).float()


def _nearest_donors(
    scores: list[Float[Tensor, "N _"]],
    present: Bool[Tensor, "N V"],
    recipients: Int[Tensor, " B"],
    donors: Int[Tensor, " L"],
) -> tuple[Int[Tensor, " B"], Bool[Tensor, " B"]]:
    """Return the nearest donor of every recipient, (B,), and whether any donor shares a view with it, (B,).

    Distances are means over the shared views of squared distances, so that pairs with different numbers of shared views
    are comparable.
    """
    nearest, found = [], []
    for rows in recipients.split(max(1, DISTANCES_PER_BLOCK // max(1, len(donors)))):
        total = torch.zeros((len(rows), len(donors)), device=rows.device)
        n_shared = torch.zeros_like(total)
        for Z, has in zip(scores, present.T, strict=True):
            both = has[rows, None] & has[donors]
            total += torch.where(both, squared_distances(Z[rows], Z[donors]), 0.0)
            n_shared += both
        least, index = (total / n_shared).nan_to_num(nan=torch.inf).min(dim=1)
        nearest.append(donors[index])
        found.append(least.isfinite())
    return torch.cat(nearest), torch.cat(found)
