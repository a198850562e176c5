"""Preconditioned conjugate gradients for a batch of positive definite systems that are known by their products only."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

# Iterations end when r' P r, with residual r and preconditioner P, is below _TOLERANCE^2 times c' P c in every system.
_TOLERANCE = 1e-10
_MAX_ITER = 500


def batched_conjugate_gradient(
    apply: Callable[[Float[Tensor, "F M"]], Float[Tensor, "F M"]],
    C: Float[Tensor, "F M"],
    *,
    preconditioner: Float[Tensor, "F F"],
) -> Float[Tensor, "F M"]:
    """Solve A_m b_m = c_m for every column m by preconditioned conjugate gradients.

    All systems iterate together; a system that has converged takes steps of length zero.

    Args:
        apply: maps the columns b_m to the columns A_m b_m.
        C: the right-hand sides c_m.
        preconditioner: a positive definite approximation of all A_m^-1.

    Returns:
        The solutions b_m as columns, F x M.
    """
    B = preconditioner @ C
    R = C - apply(B)
    Z = preconditioner @ R
    D, r_dot_z = Z, (R * Z).sum(dim=0)
    threshold = _TOLERANCE**2 * (C * (preconditioner @ C)).sum(dim=0)
    for _ in range(_MAX_ITER):
        if bool((r_dot_z <= threshold).all()):
            break
        AD = apply(D)
        step = _ratio(r_dot_z, (D * AD).sum(dim=0))
        B, R = B + step * D, R - step * AD
        Z = preconditioner @ R
        previous, r_dot_z = r_dot_z, (R * Z).sum(dim=0)
        D = Z + _ratio(r_dot_z, previous) * D
    return B


def _ratio(numerator: Float[Tensor, " M"], denominator: Float[Tensor, " M"]) -> Float[Tensor, " M"]:
    """Divide; return zero for systems that have converged, whose denominator is zero."""
    return torch.where(denominator > 0, numerator / torch.where(denominator > 0, denominator, 1.0), 0.0)
