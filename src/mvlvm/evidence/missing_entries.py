r"""A lower bound on the log evidence of the observed entries of a view with missing entries.

The missing entries have independent normal variational posteriors, q(y_nm) = N(z_nm, v_nm). With P = K^-1 and Z the
view with z_nm in place of its missing entries,

    log p(observed) >= E_q[log N(Z | 0, K)] + entropy(q)
                     = log N(Z | 0, K) + 1/2 sum_missing [ 1 + log(2 pi v_nm) - P_nn v_nm ]

The maximum over v_nm is at 1 / P_nn, the variance of an entry given all others of its column:

    bound = log N(Z | 0, K) + 1/2 sum_n h_n log(2 pi / P_nn),        h_n = number of missing entries in row n

This holds for any Z, and the bound is tightest where (P Z)_nm = 0 at every missing entry, which is where z_nm is the
mean of the exact conditional distribution. One update moves Z towards it along d_nm = -(P Z)_nm / P_nn, with an exact
line search in each column.

With U = P Phi and D = diag(h_n / P_nn), the gradient of the second term is

    d/dPhi = P D U        d/ds = 1/2 sum_n h_n (P^2)_nn / P_nn        P_nn = (1 - phi_n' u_n) / s

where P X = (X - U Phi' X) / s and (P^2)_nn = (P_nn - |u_n|^2) / s. No N x N matrix is formed unless F >= N.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.evidence.collapsed import evidence_gradients, forbid_double_backward
from mvlvm.linalg.cholesky import Covariance, CovarianceSolution, factor_covariance
from mvlvm.shapes import Scalar


class ObservedEvidenceBound(NamedTuple):
    """The bound, and the view with the imputed entries at which it was evaluated."""

    value: Scalar
    Z: Float[Tensor, "N M"]


def observed_evidence_bound(
    Z: Float[Tensor, "N M"], missing: Bool[Tensor, "N M"], Phi: Float[Tensor, "N F"], noise_variance: Scalar
) -> ObservedEvidenceBound:
    """Update the imputed entries once, and bound the log evidence of the observed entries there.

    Term (a) of the bound [eq:gaussian_elbo_estimate] for a view with missing entries. Differentiable once with respect
    to Phi and s. Costs O(N F min(N, F) + N M F).

    Args:
        Z: the view, with arbitrary imputed values at its missing entries.
        missing: True at missing entries.
        Phi: random features, float32 or float64.
        noise_variance: s, positive.

    Returns:
        The bound, a float64 scalar, and the view with updated imputed entries, N x M.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    return ObservedEvidenceBound(*_ObservedEvidenceBound.apply(Z, missing, Phi, noise_variance))  # pyright: ignore[reportGeneralTypeIssues]


def precision_diagonal(Phi: Float[Tensor, "N F"], U: Float[Tensor, "N F"], s: Scalar) -> Float[Tensor, " N"]:
    """Return the diagonal of K^-1, of length N; clipped to its lower bound 1 / K_nn against rounding errors."""
    lower_bound = s / (Phi.square().sum(dim=1) + s)
    return torch.maximum(1 - (Phi * U).sum(dim=1), lower_bound) / s


def _update_imputed(
    Z: Float[Tensor, "N M"], missing: Bool[Tensor, "N M"], K: Covariance, precision: Float[Tensor, " N"]
) -> tuple[Float[Tensor, "N M"], CovarianceSolution]:
    """Move the missing entries along d = -(P Z) / P_nn, by an exact line search in each column."""
    initial = K.solve(Z)
    d = torch.where(missing, -initial.R / precision[:, None], 0.0)
    along = K.solve(d)
    directional, curvature = -(d * initial.R).sum(dim=0), along.quadratic
    step = torch.where(curvature > 0, directional / curvature.clamp_min(torch.finfo(d.dtype).tiny), 0.0)
    return Z + step * d, CovarianceSolution(
        R=initial.R + step * along.R,
        Phi_R=initial.Phi_R + step * along.Phi_R,
        quadratic=initial.quadratic - step * directional,  # the minimum of the parabola along d
    )


class _ObservedEvidenceBound(torch.autograd.Function):
    """Combines the value with its analytic gradient; the imputed entries are constants of the gradient."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor, missing: Tensor, Phi: Tensor, noise_variance: Tensor) -> tuple[Tensor, Tensor]:
        Phi64, s = Phi.double(), noise_variance.double()
        K = factor_covariance(Phi64, s)
        U = K.inverse_features()
        precision, n_missing = precision_diagonal(Phi64, U, s), missing.sum(dim=1).double()
        updated, solution = _update_imputed(Z.double(), missing, K, precision)
        value, grad_Phi, grad_s = evidence_gradients(K, U, solution, s)
        DU = (n_missing / precision)[:, None] * U
        grad_Phi = grad_Phi + (DU - U @ (Phi64.T @ DU)) / s
        grad_s = grad_s + 0.5 * (n_missing * (precision - U.square().sum(dim=1)) / (s * precision)).sum()
        ctx.save_for_backward(grad_Phi.to(Phi), grad_s.to(noise_variance))
        ctx.mark_non_differentiable(updated)
        return value + 0.5 * (n_missing * (2 * math.pi / precision).log()).sum(), updated

    @staticmethod
    def backward(ctx: Any, grad_value: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        forbid_double_backward("observed_evidence_bound")
        return None, None, *(grad_value.to(grad) * grad for grad in ctx.saved_tensors)
