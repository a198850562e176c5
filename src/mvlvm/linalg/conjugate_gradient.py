"""Many positive definite systems at once, each with its own right-hand side, known only by their products."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

_TOLERANCE = 1e-10
_MOST_STEPS = 500


def batched_conjugate_gradient(
    apply: Callable[[Float[Tensor, "F M"]], Float[Tensor, "F M"]],
    C: Float[Tensor, "F M"],
    *,
    preconditioner: Float[Tensor, "F F"],
) -> Float[Tensor, "F M"]:
    """Solve A_m b_m = c_m for every column m by preconditioned conjugate gradients.

    Args:
        apply: gives A_m b_m for all columns.
        C: the right-hand sides.
        preconditioner: roughly the inverse of every A_m, positive definite.
    """
    B = preconditioner @ C
    R = C - apply(B)
    Z = preconditioner @ R
    D, strength = Z, (R * Z).sum(dim=0)
    small = _TOLERANCE**2 * (C * (preconditioner @ C)).sum(dim=0)
    for _ in range(_MOST_STEPS):
        if bool((strength <= small).all()):
            break
        AD = apply(D)
        step = _ratio(strength, (D * AD).sum(dim=0))
        B, R = B + step * D, R - step * AD
        Z = preconditioner @ R
        before, strength = strength, (R * Z).sum(dim=0)
        D = Z + _ratio(strength, before) * D
    return B


def _ratio(above: Float[Tensor, " M"], below: Float[Tensor, " M"]) -> Float[Tensor, " M"]:
    """Divide, with zero where a column is solved and nothing is left to divide by."""
    return torch.where(below > 0, above / torch.where(below > 0, below, 1.0), 0.0)
