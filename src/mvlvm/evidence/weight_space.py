r"""A bound on the log evidence of a view through an explicit normal posterior of its weights, for any likelihood.

With f = Phi w, the prior w_m ~ N(0, I) and the variational posterior q(w_m) = N(b_m, S_m) of every column m,

    log p(Y | Phi) >= sum_nm E log p(y_nm | f_nm) - sum_m KL(q(w_m) || N(0, I)),  f_nm ~ N(phi_n' b_m, phi_n' S_m phi_n)

is a sum over rows, so a subset of the rows with larger weights yields an unbiased estimate. The optimal S_m is (I +
Phi' diag(l_m) Phi)^-1, where l_nm = -d^2/df^2 of the expected log density are the curvatures. One such matrix for each
column would cost M times as much as a Gaussian view, so the curvatures are approximated by a product of a row and a
column term, l_nm = r_n c_m. Then

    S_m = (I + c_m H)^-1 = U diag(1 / (1 + c_m e)) U',        H = Phi' diag(r) Phi = U diag(e) U'

needs one eigendecomposition for all columns. For a Gaussian view l_nm = 1 / s: the product is exact, one
natural-gradient step from anywhere reaches the optimum, and the bound equals the collapsed one
[eq:gaussian_elbo_estimate].
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.errors import NumericalError
from mvlvm.linalg.precomputed_grad import attach_gradients
from mvlvm.shapes import Scalar

# The largest change of any f in a step. The curvatures of counts grow like e^f, so a full Newton step may overshoot.
_MAX_CHANGE = 1.0
_MIN_CURVATURE = 1e-10
_ADVICE = "Lower learning_rate, or fit with dtype='float64'."


@runtime_checkable
class ExpectedDensity(Protocol):
    """What the bound needs of a likelihood."""

    def expected_log_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
    ) -> Float[Tensor, "N M"]:
        """Return E log p(y | f) over f ~ N(mean, variance)."""
        ...

    def parameters(self) -> Iterable[nn.Parameter]:
        """Return the parameters that it depends on."""
        ...


class ColumnWeights(NamedTuple):
    """The normal posteriors q(w_m) = N(b_m, (I + c_m H)^-1) of the weights of each column.

    Attributes:
        mean: the means b_m.
        shared: the matrix H that all columns share.
        scale: the factors c_m.
        basis: the eigenvectors U of H.
        spread: the eigenvalues 1 / (1 + c_m e) of the covariance of each column.
    """

    mean: Float[Tensor, "F M"]
    shared: Float[Tensor, "F F"]
    scale: Float[Tensor, " M"]
    basis: Float[Tensor, "F F"]
    spread: Float[Tensor, "F M"]


class LikelihoodGradients(NamedTuple):
    """The sum of expected log densities, and its gradients with respect to the means and variances of f."""

    value: Scalar
    grad_mean: Float[Tensor, "N M"]
    grad_variance: Float[Tensor, "N M"]


def column_weights(
    mean: Float[Tensor, "F M"], shared: Float[Tensor, "F F"], scale: Float[Tensor, " M"]
) -> ColumnWeights:
    """Return the posteriors N(b_m, (I + c_m H)^-1), with the eigendecomposition of H.

    Args:
        mean: the means b_m.
        shared: H, positive semi-definite.
        scale: the factors c_m.

    Raises:
        NumericalError: H is not finite, or its eigendecomposition does not converge.
    """
    if not torch.isfinite(shared).all():
        raise NumericalError(
            f"The {len(shared)} x {len(shared)} precision of the weights contains NaN or infinite values. "
            f"Training has diverged. {_ADVICE}"
        )
    try:
        eigenvalues, basis = torch.linalg.eigh(shared)
    except RuntimeError as error:
        raise NumericalError(
            f"The eigendecomposition of the precision of the weights failed ({error}). {_ADVICE}"
        ) from error
    return ColumnWeights(mean, shared, scale, basis, 1 / (1 + eigenvalues.clamp_min(0)[:, None] * scale))


def function_moments(
    weights: ColumnWeights, Phi: Float[Tensor, "N F"]
) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N M"]]:
    """Return the means and variances of f = Phi w, each N x M."""
    return Phi @ weights.mean, (Phi @ weights.basis).square() @ weights.spread


def weights_kl(weights: ColumnWeights) -> Scalar:
    """Return the KL divergence of the posteriors of the weights from their prior, summed over columns."""
    return 0.5 * (weights.mean.square().sum() + (weights.spread - weights.spread.log() - 1).sum())


def weight_space_evidence(
    Y: Float[Tensor, "N M"],
    Phi: Float[Tensor, "N F"],
    weights: ColumnWeights,
    likelihood: ExpectedDensity,
    *,
    row_weight: Float[Tensor, "N 1"] | float = 1.0,
) -> tuple[Scalar, LikelihoodGradients]:
    """Bound the log evidence for given posteriors of the weights.

    This is term (a) of the bound for a likelihood without closed form [eq:gaussian_elbo_estimate].

    Args:
        Y: the entries of the view; NaN is missing.
        Phi: features, float64.
        weights: the posteriors of the weights; constants of the gradient.
        likelihood: p(y | f); the bound is differentiable with respect to its parameters and to Phi.
        row_weight: the weight of each row: a sample weight, or the number of rows that it represents in a minibatch.

    Returns:
        The bound, a scalar, and the gradients of its first term for `natural_gradient_step`.
    """
    mean, variance = function_moments(weights, Phi)
    parameters = list(likelihood.parameters())
    with torch.enable_grad():
        moments = [values.detach().requires_grad_() for values in (mean, variance)]
        value = (row_weight * likelihood.expected_log_density(Y, moments[0], moments[1])).sum()
        grad_mean, grad_variance, *grad_parameters = torch.autograd.grad(value, [*moments, *parameters])
    gradients = LikelihoodGradients(value.detach(), grad_mean, grad_variance)
    precomputed = (grad_mean, grad_variance, *grad_parameters)
    data_term = attach_gradients(gradients.value, precomputed, (mean, variance, *parameters))
    return data_term - weights_kl(weights), gradients


def natural_gradient_step(
    weights: ColumnWeights, Phi: Float[Tensor, "N F"], gradients: LikelihoodGradients, *, rate: float
) -> ColumnWeights:
    """Move the posteriors along the natural gradient of the bound, towards the optimum of its quadratic model.

    Args:
        weights: the current posteriors.
        Phi: features.
        gradients: the gradients of the expected log densities at `weights`.
        rate: the step size; 1 is a full step, and smaller values average over the draws of several steps.

    Returns:
        The updated posteriors.
    """
    curvature = (-2 * gradients.grad_variance).clamp_min(_MIN_CURVATURE)
    # column terms have mean one, so that H alone holds the overall precision and can be averaged over steps
    row_term, column_term = curvature.mean(dim=1, keepdim=True), curvature.mean(dim=0) / curvature.mean()
    moved = column_weights(
        weights.mean,
        torch.lerp(weights.shared, Phi.T @ (row_term * Phi), rate),
        torch.lerp(weights.scale, column_term, rate),
    )
    gradient = Phi.T @ gradients.grad_mean - weights.mean
    direction = moved.basis @ (moved.spread * (moved.basis.T @ gradient))
    change = Phi @ direction
    # the product of row and column terms only approximates the curvature, so each column has its own line search
    along = (curvature * change.square()).sum(dim=0) + direction.square().sum(dim=0)
    best = (direction * gradient).sum(dim=0) / along.clamp_min(torch.finfo(along.dtype).tiny)
    step = torch.minimum(rate * best.clamp(0, 1), _MAX_CHANGE / change.abs().amax(dim=0).clamp_min(_MIN_CURVATURE))
    return moved._replace(mean=weights.mean + step * direction)
