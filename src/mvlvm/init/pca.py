r"""Turning the start of the latents so that its axes are those of the views.

Principal components of several views side by side find the right plane, but not the right axes in it: two factors of
equal strength, each seen by one view alone, come out mixed. With orthonormal components U, view v lies along the unit
vector r with the strength

    g_v(r) = r' G_v r,        G_v = U' Y_v Y_v' U / |Y_v|^2        (D x D)

and however U is turned, the strengths along its axes have the same sum in every view. The sum of their square roots is
smallest where as many as possible are zero, and so that sum, over views and axes, is made small: pair by pair, each
turned to its best angle, until no pair wants to be turned.

Where the latent means start.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import ViewError
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix
from mvlvm.row_blocks import row_blocks

# An axis with less than this share of a view's strongest is one that the view does not use.
_UNUSED = 0.1
_MOST_SWEEPS = 30
# Half a degree: a start need not be exact.
_N_ANGLES = 180


def rotate_to_simple_structure(U: Float[Tensor, "N D"], Ys: Sequence[Float[Tensor, "N _"]]) -> Float[Tensor, "N D"]:
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
    R = simple_structure_rotation(G)
    return U @ R.to(U) if _n_left_to_others(R.T @ G @ R) >= max(1, _n_left_to_others(G)) else U


def simple_structure_rotation(G: Float[Tensor, "V D D"]) -> Float[Tensor, "D D"]:
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


# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-6
# A start need not be exact: gaps are filled until they change by less than a hundredth, and not for ever.
_COMPLETION_ROUNDS = 50
_COMPLETION_TOLERANCE = 1e-2
# What estimators offer whose start can be chosen.
_OR_ELSE = ", or pass an array as init"
# Two dimensions are a picture, which shows the same however it is turned; more are read axis by axis.
_MOST_TO_LOOK_AT = 2


def values_for_init(Y: Float[Tensor, "N M"], likelihood: AbstractLikelihood) -> Float[Tensor, "N M"]:
    """Give a view as a start takes it: centred, and counts by their logarithms."""
    if likelihood.real_valued:
        return Y
    values = (1 + Y).log() if likelihood.log_link else Y
    return values - values.nanmean(dim=0)


def pca_init(Ys: Sequence[Float[Tensor, "N _"]], n_components: int) -> Float[Tensor, "N D"]:
    """Give the leading principal components of all views side by side, each scaled to unit variance.

    Every view is first divided by its Frobenius norm, so that all weigh the same. The sign of a component is chosen
    so that its entry of largest magnitude is positive. Missing entries are those of the components themselves, found by
    turns.

    Args:
        Ys: centred views; NaN is missing.
        n_components: D.

    Raises:
        ViewError: the views together have fewer than D directions.
    """
    return scale_to_unit_variance(_components(normalise_views(Ys, n_components), n_components, or_else=""))


def rotated_pca_init(Ys: Sequence[Float[Tensor, "N _"]], n_components: int) -> Float[Tensor, "N D"]:
    """Give the start of `pca_init`, turned where that makes some components belong to some views alone.

    How, and when not, says `init/pca.py`. One or two components are never turned.
    """
    filled = normalise_views(Ys, n_components)
    return _turned(_components(filled, n_components), filled)


def principal_scores(filled: ConcatenatedMatrix, n_components: int, *, at_most: int) -> Float[Tensor, "N d"]:
    """Give rows by their coordinates along the leading principal components of all views.

    Args:
        filled: views of equal norm, without gaps.
        n_components: how many of them are needed.
        at_most: how many there may be.

    Raises:
        ViewError: there are fewer than are needed.
    """
    left, singular_values = filled.left_singular_vectors(at_most)
    _check_rank(singular_values, n_components)
    return (left * singular_values)[:, singular_values > RANK_TOLERANCE * singular_values[0]]


def whiten(X: Float[Tensor, "N D"], filled: ConcatenatedMatrix) -> Float[Tensor, "N D"]:
    """Scale the columns of any start to unit variance, each without what it shares with those before it.

    They are turned where `rotated_pca_init` would turn them.

    Args:
        X: the start; all its directions are in use.
        filled: the views, without gaps.
    """
    return _turned(torch.linalg.qr(X - X.mean(dim=0)).Q, filled)


def _turned(left: Float[Tensor, "N D"], filled: ConcatenatedMatrix) -> Float[Tensor, "N D"]:
    return scale_to_unit_variance(
        rotate_to_simple_structure(left, filled.parts) if left.shape[1] > _MOST_TO_LOOK_AT else left
    )


def numerical_rank(Ys: Sequence[Float[Tensor, "N _"]], at_most: int) -> int:
    """Give how many directions there are to start from, counted no further than `at_most`."""
    _, singular_values = normalise_views(Ys, at_most).left_singular_vectors(at_most)
    return int((singular_values > RANK_TOLERANCE * singular_values[0]).sum())


def _components(filled: ConcatenatedMatrix, n_components: int, *, or_else: str = _OR_ELSE) -> Float[Tensor, "N D"]:
    left, singular_values = filled.left_singular_vectors(n_components)
    _check_rank(singular_values, n_components, or_else)
    return left


def _check_rank(singular_values: Float[Tensor, " n"], n_components: int, or_else: str = _OR_ELSE) -> None:
    rank = int((singular_values > RANK_TOLERANCE * singular_values[0]).sum())
    if rank < n_components:
        raise ViewError(
            f"n_components={n_components} is too large for the PCA start: the centred views together have rank {rank}, "
            f"not counting directions below {RANK_TOLERANCE:g} of the largest. "
            f"Give n_components <= {rank}{or_else}."
        )


def scale_to_unit_variance(left: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Scale unit vectors to unit variance, their entries of largest magnitude positive."""
    sign = left.gather(0, left.abs().argmax(dim=0, keepdim=True)).sign()
    return left * sign * len(left) ** 0.5


def complete_views(Ys: Sequence[Float[Tensor, "N _"]], rank: int) -> tuple[Float[Tensor, "N _"], ...]:
    """Divide every view by its norm, and fill the gaps of all with the best matrix of a given rank."""
    filled = normalise_views(Ys, rank)
    return tuple(Y * factor for Y, factor in zip(filled.parts, filled.factors, strict=True))


def normalise_views(Ys: Sequence[Float[Tensor, "N _"]], rank: int) -> ConcatenatedMatrix:
    """Put views side by side, each divided by its norm; those with gaps are filled as in `complete_views`."""
    factors = [1 / _norm(Y) for Y in Ys]
    if not any(bool(torch.isnan(Y[rows]).any()) for Y in Ys for rows in row_blocks(*Y.shape)):
        return ConcatenatedMatrix(Ys, factors)
    Z = torch.cat([Y * factor for Y, factor in zip(Ys, factors, strict=True)], dim=1)
    return ConcatenatedMatrix(_completed(Z, rank).split([Y.shape[1] for Y in Ys], dim=1), [1.0] * len(Ys))


def _norm(Y: Float[Tensor, "N M"]) -> float:
    """Give the Frobenius norm of what is not missing."""
    return math.sqrt(sum(float(Y[rows].square().nansum()) for rows in row_blocks(*Y.shape)))


def _completed(Z: Float[Tensor, "N M"], rank: int) -> Float[Tensor, "N M"]:
    """Fill gaps with the best matrix of a given rank: from the column means, components and gaps in turns."""
    missing = torch.isnan(Z)
    if not missing.any():
        return Z
    filled = Z.nan_to_num(nan=0.0)
    for _ in range(_COMPLETION_ROUNDS):
        left = left_singular_vectors(filled, rank)[0].to(filled)
        before, filled = filled, torch.where(missing, left @ (left.T @ filled), Z)
        if torch.linalg.matrix_norm(filled - before) <= _COMPLETION_TOLERANCE * torch.linalg.matrix_norm(filled):
            break
    return filled


def left_singular_vectors(Z: Float[Tensor, "N M"], n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
    """Give the first left singular vectors and values, see `linalg/randomized_svd.py`."""
    return ConcatenatedMatrix([Z], [1.0]).left_singular_vectors(n)
