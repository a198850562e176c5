"""Views that rows lack, lent by rows that have them.

A start that keeps neighbours together must not take rows for alike because they lack the same view. So a row that lacks
a view is given, for the start alone, the mean of it over the rows that are nearest in the views it has.
"""

from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.linalg.leading import JoinedColumns
from mvlvm.models.nearest_rows import nearest_among

# Rows are compared by at most this many principal components of what they have.
_MOST_DIRECTIONS = 50
_N_LENDERS = 5


def lend_views(filled: JoinedColumns, has: Bool[Tensor, "N V"]) -> JoinedColumns:
    """Give views in which no row differs from others by what it lacks.

    A view that no row with the same other views has stays as it is.

    Args:
        filled: views of equal norm, their gaps filled somehow.
        has: which rows have an entry in which views.
    """
    parts = [Y if has_it.all() else Y.clone() for Y, has_it in zip(filled.parts, has.T, strict=True)]
    for held in has.cpu().unique(dim=0).to(has.device):
        if held.all() or not held.any():
            continue
        rows, scores = (has == held).all(dim=1), _scores(filled, held)
        for view in (~held).nonzero().flatten().tolist():
            lenders = has[:, held].all(dim=1) & has[:, view]
            if lenders.any():
                near = nearest_among(scores[rows], scores[lenders], min(_N_LENDERS, int(lenders.sum())))
                parts[view][rows] = filled.parts[view][lenders][near.rows].mean(dim=1)
    return JoinedColumns(parts, filled.factors)


def _scores(filled: JoinedColumns, held: Bool[Tensor, " V"]) -> Float[Tensor, "N d"]:
    """Give all rows by the leading principal components of some views."""
    which = held.nonzero().flatten().tolist()
    some = JoinedColumns([filled.parts[v] for v in which], [filled.factors[v] for v in which])
    left, singular_values = some.leading_left_vectors(_MOST_DIRECTIONS)
    return left * singular_values
