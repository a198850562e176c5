r"""Turning the start of the latents so that its axes are those of the views.

Principal components of several views side by side find the right plane, but not the right axes in it: two factors of
equal strength, each seen by one view alone, come out mixed. With orthonormal components U, view v lies along the unit
vector r with the strength

    g_v(r) = r' G_v r,        G_v = U' Y_v Y_v' U / |Y_v|^2        (D x D)

and however U is turned, the strengths along its axes have the same sum in every view. The sum of their square roots is
smallest where as many as possible are zero, and so that sum, over views and axes, is made small: pair by pair, each
turned to its best angle, until no pair wants to be turned.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

# An axis with less than this share of a view's strongest is one that the view does not use.
_UNUSED = 0.1
_MOST_SWEEPS = 30
# Half a degree: a start need not be exact.
_N_ANGLES = 180


def turn_towards_views(U: Float[Tensor, "N D"], Ys: Sequence[Float[Tensor, "N _"]]) -> Float[Tensor, "N D"]:
    """Turn components so that each belongs to as few views as possible, if some then belong to some views alone.

    Where all views use the same axes, the components stay as they are.

    Args:
        U: orthonormal components.
        Ys: the views, without gaps.
    """
    W = [(U.to(Y).T @ Y).double() / torch.linalg.matrix_norm(Y).double() for Y in Ys]
    G = torch.stack([w @ w.T for w in W])
    if len(G) == 1:  # one view has no one to tell itself from
        return U
    R = sparsest_rotation(G)
    return U @ R.to(U) if _n_left_to_others(R.T @ G @ R) >= max(1, _n_left_to_others(G)) else U


def sparsest_rotation(G: Float[Tensor, "V D D"]) -> Float[Tensor, "D D"]:
    """Give the rotation R for which the square roots of the diagonals of all R' G_v R have a small sum."""
    D = G.shape[1]
    R = torch.eye(D, dtype=G.dtype, device=G.device)
    for _ in range(_MOST_SWEEPS):
        turned = False
        for p in range(D - 1):
            for q in range(p + 1, D):
                angle = _best_angle(R.T @ G @ R, p, q)
                turned = turned or angle > 0
                cos, sin = math.cos(angle), math.sin(angle)
                R[:, [p, q]] = R[:, [p, q]] @ R.new_tensor([[cos, -sin], [sin, cos]])
        if not turned:
            break
    return R


def _best_angle(G: Float[Tensor, "V D D"], p: int, q: int) -> float:
    """Give the angle, from zero to a right one, by which to turn one pair of axes; zero if no other is better."""
    angles = torch.arange(_N_ANGLES, dtype=G.dtype, device=G.device) * (0.5 * math.pi / _N_ANGLES)
    mean, half, off = 0.5 * (G[:, p, p] + G[:, q, q]), 0.5 * (G[:, p, p] - G[:, q, q]), G[:, p, q]
    swing = half[:, None] * (2 * angles).cos() + off[:, None] * (2 * angles).sin()
    along = torch.stack([mean[:, None] + swing, mean[:, None] - swing]).clamp_min(0)
    return float(angles[along.sqrt().sum(dim=(0, 1)).argmin()])


def _n_left_to_others(G: Float[Tensor, "V D D"]) -> int:
    """Count the pairs of a view and an axis that it does not use while another view does."""
    strength = G.diagonal(dim1=1, dim2=2)
    unused = strength < _UNUSED * strength.max(dim=1, keepdim=True).values
    return int((unused & ~unused.all(dim=0)).sum())
