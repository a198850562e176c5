r"""Initial latents from the principal components of all views, rotated to simple structure.

Every view is divided by its Frobenius norm, missing entries are completed by a low-rank matrix, and the leading left
singular vectors U of all views side by side are the initial latents.

The principal components of several views span the right subspace, but not along the right axes: two factors of equal
variance, each present in a single view, come out mixed. The share of view v along the unit vector r is

    g_v(r) = r' G_v r,        G_v = U' Y_v Y_v' U / |Y_v|^2        (D x D)

and a rotation of U does not change the sum of these shares over an orthonormal basis. The sum of their square roots is
smallest where as many shares as possible are zero. It is minimised over rotations by sweeps over pairs of axes (Jacobi
rotations), each rotated to its best angle, until no pair changes.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import ViewError
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix
from mvlvm.row_blocks import row_blocks, row_sum

# Singular values below this fraction of the largest are considered rounding errors.
RANK_TOLERANCE = 1e-6
# Initial latents need not be exact: missing entries are completed until they change by less than one percent.
_MAX_COMPLETION_ITER = 50
_COMPLETION_TOLERANCE = 1e-2
# A view does not use an axis along which it has less than this fraction of its largest share.
_UNUSED_FRACTION = 0.1
_MAX_SWEEPS = 30
# Angles are multiples of half a degree.
_N_ANGLES = 180
# Two dimensions are read as a scatter plot, which a rotation does not change; more are read axis by axis.
_MAX_DIM_UNROTATED = 2
# Added to the remedy in error messages of estimators that have the parameter `init`.
_INIT_REMEDY = ", or pass an array as init"


def values_for_init(Y: Float[Tensor, "N M"], likelihood: AbstractLikelihood) -> Float[Tensor, "N M"]:
    """Return a view as the initialisation uses it, (N, M): centred, with log(1 + y) of counts."""
    if likelihood.real_valued:
        return Y
    values = (1 + Y).log() if likelihood.log_link else Y
    return values - values.nanmean(dim=0)


def pca_init(Ys: Sequence[Float[Tensor, "N _"]], n_components: int) -> Float[Tensor, "N D"]:
    """Return the leading principal components of all views, (N, D), each scaled to unit variance.

    Every view is first divided by its Frobenius norm, so that all views have equal weight. Missing entries are imputed
    by the components themselves (iterated low-rank completion). The entry of largest magnitude of every component is
    positive.

    Args:
        Ys: centred views; NaN marks missing entries.
        n_components: the number of components D.

    Raises:
        ViewError: the concatenated views have rank less than D.
    """
    return scale_to_unit_variance(_components(normalise_views(Ys, n_components), n_components, remedy=""))


def rotated_pca_init(
    Ys: Sequence[Float[Tensor, "N _"]], n_components: int, norms: Sequence[float] | None = None
) -> Float[Tensor, "N D"]:
    """Return the components of `pca_init`, (N, D), rotated if that separates components of some views from others.

    One or two components are never rotated; see the module's docstring for the criterion.

    Args:
        Ys: centred views; NaN marks missing entries.
        n_components: the number of components D.
        norms: Frobenius norms to scale the views to; None stands for ones.
    """
    completed = normalise_views(Ys, n_components, norms)
    return _rotated(_components(completed, n_components), completed)


def principal_scores(completed: ConcatenatedMatrix, n_components: int, *, at_most: int) -> Float[Tensor, "N d"]:
    """Return the coordinates of rows along the leading principal components, (N, d) with d <= `at_most`.

    Args:
        completed: views of equal norm without missing entries.
        n_components: the least number of components.
        at_most: the largest number of components.

    Raises:
        ViewError: the views have rank less than `n_components`.
    """
    left, singular_values = completed.left_singular_vectors(at_most)
    _check_rank(singular_values, n_components)
    return (left * singular_values)[:, singular_values > RANK_TOLERANCE * singular_values[0]]


def whiten(X: Float[Tensor, "N D"], completed: ConcatenatedMatrix) -> Float[Tensor, "N D"]:
    """Return initial latents decorrelated by Gram-Schmidt and scaled to unit variance, (N, D).

    They are then rotated under the same conditions as in `rotated_pca_init`.

    Args:
        X: initial latents of rank D.
        completed: the views, without missing entries.
    """
    return _rotated(torch.linalg.qr(X - X.mean(dim=0)).Q, completed)


def numerical_rank(Ys: Sequence[Float[Tensor, "N _"]], at_most: int) -> int:
    """Return the rank of the concatenated views, or `at_most` if the rank is larger."""
    _, singular_values = normalise_views(Ys, at_most).left_singular_vectors(at_most)
    return int((singular_values > RANK_TOLERANCE * singular_values[0]).sum())


def scale_to_unit_variance(left: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Return unit vectors scaled to unit variance, (N, D), with positive entries of largest magnitude."""
    sign = left.gather(0, left.abs().argmax(dim=0, keepdim=True)).sign()
    return left * sign * len(left) ** 0.5


def left_singular_vectors(Z: Float[Tensor, "N M"], n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
    """Return the leading left singular vectors, (N, n), and singular values, (n,), of one matrix."""
    return ConcatenatedMatrix([Z], [1.0]).left_singular_vectors(n)


def _components(
    completed: ConcatenatedMatrix, n_components: int, *, remedy: str = _INIT_REMEDY
) -> Float[Tensor, "N D"]:
    left, singular_values = completed.left_singular_vectors(n_components)
    _check_rank(singular_values, n_components, remedy)
    return left


def _check_rank(singular_values: Float[Tensor, " n"], n_components: int, remedy: str = _INIT_REMEDY) -> None:
    rank = int((singular_values > RANK_TOLERANCE * singular_values[0]).sum())
    if rank < n_components:
        raise ViewError(
            f"n_components={n_components} is too large for the PCA initialisation: the centred, concatenated views "
            f"have rank {rank}, not counting singular values below {RANK_TOLERANCE:g} of the largest. "
            f"Use n_components <= {rank}{remedy}."
        )


def complete_views(Ys: Sequence[Float[Tensor, "N _"]], rank: int) -> tuple[Float[Tensor, "N _"], ...]:
    """Return every view divided by its norm, (N, M_v), with missing entries completed by a matrix of a given rank."""
    completed = normalise_views(Ys, rank)
    return tuple(Y * factor for Y, factor in zip(completed.parts, completed.factors, strict=True))


def normalise_views(
    Ys: Sequence[Float[Tensor, "N _"]], rank: int, norms: Sequence[float] | None = None
) -> ConcatenatedMatrix:
    """Return the views side by side, each scaled to a norm; missing entries are completed as in `complete_views`.

    Args:
        Ys: centred views; NaN marks missing entries.
        rank: of the matrix that completes missing entries.
        norms: Frobenius norms of the observed entries to scale the views to; None stands for ones.
    """
    factors = [norm / _norm(Y) for Y, norm in zip(Ys, norms or [1.0] * len(Ys), strict=True)]
    if not any(bool(torch.isnan(Y[rows]).any()) for Y in Ys for rows in row_blocks(*Y.shape)):
        return ConcatenatedMatrix(Ys, factors)
    Z = torch.cat([Y * factor for Y, factor in zip(Ys, factors, strict=True)], dim=1)
    return ConcatenatedMatrix(_low_rank_completion(Z, rank).split([Y.shape[1] for Y in Ys], dim=1), [1.0] * len(Ys))


def _norm(Y: Float[Tensor, "N M"]) -> float:
    """Return the Frobenius norm of the observed entries."""
    return math.sqrt(row_sum(row_blocks(*Y.shape), lambda rows: (float(Y[rows].square().nansum()),))[0])


def _low_rank_completion(Z: Float[Tensor, "N M"], rank: int) -> Float[Tensor, "N M"]:
    """Impute missing entries by a matrix of a given rank, alternating between the SVD and the imputed entries."""
    missing = torch.isnan(Z)
    if not missing.any():
        return Z
    completed = Z.nan_to_num(nan=0.0)
    for _ in range(_MAX_COMPLETION_ITER):
        left = left_singular_vectors(completed, rank)[0].to(completed)
        previous, completed = completed, torch.where(missing, left @ (left.T @ completed), Z)
        change = torch.linalg.matrix_norm(completed - previous)
        if change <= _COMPLETION_TOLERANCE * torch.linalg.matrix_norm(completed):
            break
    return completed


def _rotated(left: Float[Tensor, "N D"], completed: ConcatenatedMatrix) -> Float[Tensor, "N D"]:
    if left.shape[1] > _MAX_DIM_UNROTATED:
        left = rotate_to_simple_structure(left, completed.parts)
    return scale_to_unit_variance(left)


def rotate_to_simple_structure(U: Float[Tensor, "N D"], Ys: Sequence[Float[Tensor, "N _"]]) -> Float[Tensor, "N D"]:
    """Return components rotated so that each is used by as few views as possible, (N, D).

    They are returned unchanged unless the rotation yields components that some views use and others do not.

    Args:
        U: orthonormal components.
        Ys: the views, without missing entries.
    """
    W = [(U.to(Y).T @ Y).double() / torch.linalg.matrix_norm(Y).double() for Y in Ys]
    G = torch.stack([w @ w.T for w in W])
    if len(G) == 1:  # a single view uses all components
        return U
    R = simple_structure_rotation(G)
    return U @ R.to(U) if _n_unused(R.T @ G @ R) >= max(1, _n_unused(G)) else U


def simple_structure_rotation(G: Float[Tensor, "V D D"]) -> Float[Tensor, "D D"]:
    """Return a rotation R, (D, D), that minimises the sum of the square roots of the diagonals of R' G_v R."""
    D = G.shape[1]
    R = torch.eye(D, dtype=G.dtype, device=G.device)
    for _ in range(_MAX_SWEEPS):
        changed = False
        for p in range(D - 1):
            for q in range(p + 1, D):
                angle = _best_angle(R.T @ G @ R, p, q)
                changed = changed or angle > 0
                cos, sin = math.cos(angle), math.sin(angle)
                R[:, [p, q]] = R[:, [p, q]] @ R.new_tensor([[cos, -sin], [sin, cos]])
        if not changed:
            break
    return R


def _best_angle(G: Float[Tensor, "V D D"], p: int, q: int) -> float:
    """Return the best angle in [0, pi / 2) by which to rotate the axes p and q; zero in case of ties."""
    angles = torch.arange(_N_ANGLES, dtype=G.dtype, device=G.device) * (0.5 * math.pi / _N_ANGLES)
    # g_v along the two rotated axes is mean +/- (half difference * cos 2a + off-diagonal * sin 2a)
    mean, half, off = 0.5 * (G[:, p, p] + G[:, q, q]), 0.5 * (G[:, p, p] - G[:, q, q]), G[:, p, q]
    deviation = half[:, None] * (2 * angles).cos() + off[:, None] * (2 * angles).sin()
    shares = torch.stack([mean[:, None] + deviation, mean[:, None] - deviation]).clamp_min(0)
    return float(angles[shares.sqrt().sum(dim=(0, 1)).argmin()])


def _n_unused(G: Float[Tensor, "V D D"]) -> int:
    """Count the pairs of a view and an axis that this view does not use while another view does."""
    share = G.diagonal(dim1=1, dim2=2)
    unused = share < _UNUSED_FRACTION * share.max(dim=1, keepdim=True).values
    return int((unused & ~unused.all(dim=0)).sum())
