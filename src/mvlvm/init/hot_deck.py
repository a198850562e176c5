"""Views that rows lack, lent by rows that have them.

A start that keeps neighbours together must not take rows for alike because they lack the same view. So a row that lacks
a view is given, for the start alone, that of the row which is nearest to it in the views that both have. One lender and
not the mean of several: means vary less than rows do, and would lie together again.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.init.knn_graph import DISTANCES_PER_BLOCK, MAX_COMPONENTS, squared_distances
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix


def hot_deck_impute(filled: ConcatenatedMatrix, present: Bool[Tensor, "N V"]) -> ConcatenatedMatrix:
    """Give views in which rows do not lie apart from others by what they lack, each divided by its norm.

    A row keeps what it was filled with where no row that has the view has another in common with it. A view of which
    a row has a single entry is one that it has.

    Args:
        filled: views of equal norm, their gaps filled somehow.
        present: which rows have an entry in which views.
    """
    scores = [_scores(Y, factor) for Y, factor in zip(filled.parts, filled.factors, strict=True)]
    parts = list(filled.parts)
    for view, has in enumerate(present.T):
        if has.any() and not has.all():
            borrowers, lenders = (~has).nonzero().flatten(), has.nonzero().flatten()
            nearest, is_near = _nearest_lenders(scores, present, borrowers, lenders)
            parts[view] = parts[view].clone()
            parts[view][borrowers[is_near]] = filled.parts[view][nearest[is_near]]
    return ConcatenatedMatrix(parts, [1 / float(torch.linalg.matrix_norm(Y)) for Y in parts])


def _scores(Y: Float[Tensor, "N M"], factor: float) -> Float[Tensor, "N d"]:
    left, singular_values = ConcatenatedMatrix([Y], [factor]).left_singular_vectors(MAX_COMPONENTS)
    return (left * singular_values).float()


def _nearest_lenders(
    scores: list[Float[Tensor, "N _"]],
    present: Bool[Tensor, "N V"],
    borrowers: Int[Tensor, " B"],
    lenders: Int[Tensor, " L"],
) -> tuple[Int[Tensor, " B"], Bool[Tensor, " B"]]:
    """Give every borrower the lender that is nearest in the views both have, and whether there is any."""
    nearest, is_near = [], []
    for rows in borrowers.split(max(1, DISTANCES_PER_BLOCK // max(1, len(lenders)))):
        total = torch.zeros((len(rows), len(lenders)), device=rows.device)
        shared = torch.zeros_like(total)
        for Z, has in zip(scores, present.T, strict=True):
            both = has[rows, None] & has[lenders]
            total += torch.where(both, squared_distances(Z[rows], Z[lenders]), 0.0)
            shared += both
        least, place = (total / shared).nan_to_num(nan=torch.inf).min(dim=1)
        nearest.append(lenders[place])
        is_near.append(least.isfinite())
    return torch.cat(nearest), torch.cat(is_near)
