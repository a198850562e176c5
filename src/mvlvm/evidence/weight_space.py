r"""A bound on the log evidence of a view by an explicit normal posterior of its weights, for any likelihood.

With f = Phi w, w_m ~ N(0, I) and q(w_m) = N(b_m, S_m) for every column m,

    log p(Y | Phi) >= sum_nm E log p(y_nm | f_nm) - sum_m KL(q(w_m) || N(0, I)),  f_nm ~ N(phi_n' b_m, phi_n' S_m phi_n)

a sum over rows, so that a portion of them, weighed up, gives an unbiased estimate. The best S_m is
(I + Phi' diag(l_m) Phi)^-1 with the curvatures l_nm = -d^2/df^2 of the expected log density. A matrix for every column
would cost M times a Gaussian view, so l_nm is taken apart into rows and columns, l_nm = r_n c_m, and

    S_m = (I + c_m H)^-1 = U diag(1 / (1 + c_m e)) U',        H = Phi' diag(r) Phi = U diag(e) U'

takes one eigendecomposition for all. For a Gaussian view l_nm = 1 / s, nothing is lost, and one natural-gradient step
from anywhere ends in the optimum, where the bound equals the collapsed one.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.errors import NumericalError
from mvlvm.linalg.precomputed_grad import attach_gradients
from mvlvm.shapes import Scalar

# A step moves no f by more than this. Curvatures of counts grow like e^f, and a step that trusts them overshoots.
_FARTHEST = 1.0
_LEAST_CURVATURE = 1e-10
_ADVICE = "Lower learning_rate, or fit with dtype='float64'."

# From means and variances of f to expected log densities, entry by entry.
Expected = Callable[[Float[Tensor, "N M"], Float[Tensor, "N M"]], Float[Tensor, "N M"]]


class ColumnWeights(NamedTuple):
    """The normal posteriors q(w_m) = N(b_m, (I + c_m H)^-1) of every column's weights.

    Attributes:
        mean: the b_m.
        shared: H.
        scale: the c_m.
        basis: eigenvectors U of H.
        spread: eigenvalues of every column's covariance, 1 / (1 + c_m e).
    """

    mean: Float[Tensor, "F M"]
    shared: Float[Tensor, "F F"]
    scale: Float[Tensor, " M"]
    basis: Float[Tensor, "F F"]
    spread: Float[Tensor, "F M"]


class LikelihoodGradients(NamedTuple):
    """The sum of expected log densities, and its slopes by every mean and every variance of f."""

    value: Scalar
    grad_mean: Float[Tensor, "N M"]
    grad_variance: Float[Tensor, "N M"]


def column_weights(
    mean: Float[Tensor, "F M"], shared: Float[Tensor, "F F"], scale: Float[Tensor, " M"]
) -> ColumnWeights:
    """Put the posteriors together.

    Raises:
        NumericalError: H is not finite, or has no eigenvectors to be found.
    """
    if not torch.isfinite(shared).all():
        raise NumericalError(
            f"The {len(shared)} x {len(shared)} precision of the weights holds NaN or infinite values. "
            f"Training has diverged. {_ADVICE}"
        )
    try:
        eigenvalues, basis = torch.linalg.eigh(shared)
    except RuntimeError as error:
        raise NumericalError(f"The precision of the weights cannot be taken apart ({error}). {_ADVICE}") from error
    return ColumnWeights(mean, shared, scale, basis, 1 / (1 + eigenvalues.clamp_min(0)[:, None] * scale))


def function_moments(
    weights: ColumnWeights, Phi: Float[Tensor, "N F"]
) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N M"]]:
    """Give means and variances of f."""
    return Phi @ weights.mean, (Phi @ weights.basis).square() @ weights.spread


def weights_kl(weights: ColumnWeights) -> Scalar:
    """Give the divergence of the weights' posteriors from their prior, summed over columns."""
    return 0.5 * (weights.mean.square().sum() + (weights.spread - weights.spread.log() - 1).sum())


def weight_space_evidence(
    Phi: Float[Tensor, "N F"],
    weights: ColumnWeights,
    expected: Expected,
    likelihood: nn.Module,
    *,
    row_weight: Float[Tensor, "N 1"] | float = 1.0,
) -> tuple[Scalar, LikelihoodGradients]:
    """Bound the log evidence at given posteriors of the weights.

    Args:
        Phi: features, float64.
        weights: the posteriors; constants of the gradient.
        expected: the expected log densities of the view's entries.
        likelihood: whose parameters `expected` reads; the bound is differentiable by them and by Phi.
        row_weight: how often each row counts, as a weight or because it stands for rows that are not here.

    Returns:
        The bound, and the slopes of its first part, from which `natural_gradient_step` goes on.
    """
    mean, variance = function_moments(weights, Phi)
    parameters = list(likelihood.parameters())
    with torch.enable_grad():
        at = [values.detach().requires_grad_() for values in (mean, variance)]
        value = (row_weight * expected(at[0], at[1])).sum()
        grad_mean, grad_variance, *grad_parameters = torch.autograd.grad(value, [*at, *parameters])
    slopes = LikelihoodGradients(value.detach(), grad_mean, grad_variance)
    known = (grad_mean, grad_variance, *grad_parameters)
    return attach_gradients(slopes.value, known, (mean, variance, *parameters)) - weights_kl(weights), slopes


def natural_gradient_step(
    weights: ColumnWeights, Phi: Float[Tensor, "N F"], slopes: LikelihoodGradients, *, rate: float
) -> ColumnWeights:
    """Move the posteriors along the natural gradient of the bound, some way towards the optimum of its quadratic model.

    Args:
        weights: where they are.
        Phi: features.
        slopes: at `weights`.
        rate: 1 goes all the way; less averages over the draws of several steps.
    """
    curvature = (-2 * slopes.grad_variance).clamp_min(_LEAST_CURVATURE)
    # columns have a mean of one: how certain the weights are is all in H, and can be averaged over steps
    by_row, by_column = curvature.mean(dim=1, keepdim=True), curvature.mean(dim=0) / curvature.mean()
    moved = column_weights(
        weights.mean,
        torch.lerp(weights.shared, Phi.T @ (by_row * Phi), rate),
        torch.lerp(weights.scale, by_column, rate),
    )
    gradient = Phi.T @ slopes.grad_mean - weights.mean
    direction = moved.basis @ (moved.spread * (moved.basis.T @ gradient))
    along = Phi @ direction
    # rows and columns describe the curvature only roughly, so every column goes as far as its own entries say
    bend = (curvature * along.square()).sum(dim=0) + direction.square().sum(dim=0)
    best = (direction * gradient).sum(dim=0) / bend.clamp_min(torch.finfo(bend.dtype).tiny)
    step = torch.minimum(rate * best.clamp(0, 1), _FARTHEST / along.abs().amax(dim=0).clamp_min(_LEAST_CURVATURE))
    return moved._replace(mean=weights.mean + step * direction)
