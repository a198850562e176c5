r"""A bound on the log evidence of the observed entries of a view in which single entries are hidden.

The hidden entries get normal posteriors of their own, q(y_nm) = N(z_nm, v_nm), independent of each other. With P = K^-1
and Z the view with z_nm in its gaps,

    log p(observed) >= E_q[log N(Z | 0, K)] + entropy(q)
                     = log N(Z | 0, K) + 1/2 sum_hidden [ 1 + log(2 pi v_nm) - P_nn v_nm ]

which is largest at v_nm = 1 / P_nn, the variance of an entry given all others of its column:

    bound = log N(Z | 0, K) + 1/2 sum_n h_n log(2 pi / P_nn),        h_n = number of hidden entries in row n

for any Z, and tightest where (P Z)_nm = 0 at every hidden entry. There z_nm is the mean of the exact conditional
distribution. One step goes from Z towards it: along d_nm = -(P Z)_nm / P_nn, for every column as far as is best.

With U = P Phi and D = diag(h_n / P_nn), the part of the gradient that log N(Z | 0, K) does not have is

    by Phi:  P D U        by s:  1/2 sum_n h_n (P^2)_nn / P_nn        P_nn = (1 - phi_n' u_n) / s

with P X = (X - U Phi' X) / s and (P^2)_nn = (P_nn - |u_n|^2) / s. Nothing here is N x N unless F >= N.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.evidence.collapsed import evaluate, forbid_double_backward
from mvlvm.linalg.cholesky import Covariance, CovarianceSolution, factor_covariance
from mvlvm.shapes import Scalar


class ObservedEvidenceBound(NamedTuple):
    """The bound, and the guesses for the hidden entries at which it was taken."""

    value: Scalar
    Z: Float[Tensor, "N M"]


def observed_evidence_bound(
    Z: Float[Tensor, "N M"], hidden: Bool[Tensor, "N M"], Phi: Float[Tensor, "N F"], noise_variance: Scalar
) -> ObservedEvidenceBound:
    """Improve the guesses for the hidden entries by one step, and bound the log evidence of the observed ones there.

    The bound is in float64 and differentiable once by Phi and s. Costs O(N F min(N, F) + N M F).

    Args:
        Z: the view, with any guesses in its gaps.
        hidden: where the gaps are.
        Phi: random features, float32 or float64.
        noise_variance: s, positive.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    return ObservedEvidenceBound(*_ObservedEvidenceBound.apply(Z, hidden, Phi, noise_variance))  # pyright: ignore[reportGeneralTypeIssues]


def precision_diagonal(Phi: Float[Tensor, "N F"], U: Float[Tensor, "N F"], s: Scalar) -> Float[Tensor, " N"]:
    """Give the diagonal of K^-1; rounding must not bring it below 1 / K_nn, which it never is."""
    least = s / (Phi.square().sum(dim=1) + s)
    return torch.maximum(1 - (Phi * U).sum(dim=1), least) / s


def _improve(
    Z: Float[Tensor, "N M"], hidden: Bool[Tensor, "N M"], K: Covariance, precision: Float[Tensor, " N"]
) -> tuple[Float[Tensor, "N M"], CovarianceSolution]:
    """Step along d = -(P Z) / P_nn at the hidden entries, to the best point of that line in every column."""
    at_start = K.solve(Z)
    d = torch.where(hidden, -at_start.R / precision[:, None], 0.0)
    along = K.solve(d)
    slope, curvature = -(d * at_start.R).sum(dim=0), along.squares
    step = torch.where(curvature > 0, slope / curvature.clamp_min(torch.finfo(d.dtype).tiny), 0.0)
    return Z + step * d, CovarianceSolution(
        R=at_start.R + step * along.R,
        Phi_R=at_start.Phi_R + step * along.Phi_R,
        squares=at_start.squares - step * slope,  # the least value of the parabola
    )


class _ObservedEvidenceBound(torch.autograd.Function):
    """Joins the value and its analytic gradient by Phi and s; the guesses are constants of a step."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor, hidden: Tensor, Phi: Tensor, noise_variance: Tensor) -> tuple[Tensor, Tensor]:
        Phi64, s = Phi.double(), noise_variance.double()
        K = factor_covariance(Phi64, s)
        U = K.inverse_features()
        precision, n_hidden = precision_diagonal(Phi64, U, s), hidden.sum(dim=1).double()
        improved, solved = _improve(Z.double(), hidden, K, precision)
        value, grad_Phi, grad_s = evaluate(K, U, solved, s)
        DU = (n_hidden / precision)[:, None] * U
        grad_Phi = grad_Phi + (DU - U @ (Phi64.T @ DU)) / s
        grad_s = grad_s + 0.5 * (n_hidden * (precision - U.square().sum(dim=1)) / (s * precision)).sum()
        ctx.save_for_backward(grad_Phi.to(Phi), grad_s.to(noise_variance))
        ctx.mark_non_differentiable(improved)
        return value + 0.5 * (n_hidden * (2 * math.pi / precision).log()).sum(), improved

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        forbid_double_backward("observed_evidence_bound")
        return None, None, *(gradient.to(by) * by for by in ctx.saved_tensors)
