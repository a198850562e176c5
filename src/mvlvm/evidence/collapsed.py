r"""The log evidence of a view under its random features, term (a) of the bound, with its analytic gradient.

The weights of the features are integrated out ("collapsed"). With K = Phi Phi' + s I and R = K^-1 Y,

    log N(Y | 0, K) = -1/2 [ M log|K| + tr(Y' R) + N M log 2 pi ]        [eq:gaussian_elbo_estimate]

    d/dPhi = R R' Phi - M K^-1 Phi        d/dY = -R        d/ds = (|R|^2 - M tr K^-1) / 2

All terms are computed through the smaller of K and A = Phi' Phi + s I (`linalg/cholesky.py`). App. C.2 of the paper
misprints the Woodbury identity: the N x N product stands in an identity of size F, and s is missing in the inverse
(docs/errata.md).

Features may be float32. Their products are accumulated, and the systems solved, in float64: the condition number of A
is about N / s, so rounding the products to float32 would make A indefinite when the noise is small.

`exact_log_evidence` takes an arbitrary kernel matrix instead, in O(N^3).
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import Covariance, CovarianceSolution, add_to_diagonal, factor, factor_covariance
from mvlvm.shapes import Scalar


class TruncatedColumns(NamedTuple):
    """Columns that compression removed from a view; they are treated as noise.

    Attributes:
        n_columns: the number of columns.
        energy: their sum of squares.
    """

    n_columns: int
    energy: float


NO_TRUNCATION = TruncatedColumns(0, 0.0)


def log_evidence(
    Y: Float[Tensor, "N M"],
    Phi: Float[Tensor, "N F"],
    noise_variance: Scalar,
    truncated: TruncatedColumns = NO_TRUNCATION,
) -> Scalar:
    r"""Return $\sum_m \log N(y_m | 0, \Phi \Phi^\top + s I)$, differentiable once [eq:gaussian_elbo_estimate].

    Costs O(N F min(N, F) + N M F).

    Args:
        Y: the view.
        Phi: its random features, float32 or float64.
        noise_variance: s, positive.
        truncated: columns of the view that are not in Y. Their y' K^-1 y is replaced by the upper bound |y|^2 / s.

    Returns:
        The log evidence, a float64 scalar.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    return _LogEvidence.apply(Y, Phi, noise_variance, truncated)  # pyright: ignore[reportReturnType]


class EvidenceGradients(NamedTuple):
    """The log evidence and its gradients with respect to Phi and s; the gradient with respect to Y is -R."""

    value: Scalar
    grad_Phi: Float[Tensor, "N F"]
    grad_s: Scalar


def evidence_gradients(
    K: Covariance,
    U: Float[Tensor, "N F"],
    solution: CovarianceSolution,
    s: Scalar,
    truncated: TruncatedColumns = NO_TRUNCATION,
) -> EvidenceGradients:
    """Return the log evidence and its gradients, given U = K^-1 Phi and the solution of K R = Y."""
    N, M, R = len(solution.R), solution.R.shape[1] + truncated.n_columns, solution.R
    quadratic, energy = solution.quadratic.sum(), truncated.energy
    return EvidenceGradients(
        value=-0.5 * (M * K.log_det + quadratic + energy / s + N * M * math.log(2 * math.pi)),
        grad_Phi=torch.addmm(-M * U, R, solution.Phi_R.T),
        grad_s=0.5 * (R.square().sum() + energy / s**2 - M * K.inverse_trace),
    )


def forbid_double_backward(function: str) -> None:
    """Raise an error on `create_graph=True`; torch's `once_differentiable` would silently omit this function's part."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"{function} can be differentiated once. Got create_graph=True. "
            "For second derivatives use exact_log_evidence with K = Phi @ Phi.T."
        )


class _LogEvidence(torch.autograd.Function):
    """Combines the value with its analytic gradient, so that autograd does not differentiate a factorisation."""

    @staticmethod
    def forward(ctx: Any, Y: Tensor, Phi: Tensor, noise_variance: Tensor, truncated: TruncatedColumns) -> Tensor:
        s = noise_variance.double()
        K = factor_covariance(Phi.double(), s)
        solution = K.solve(Y.double())
        value, grad_Phi, grad_s = evidence_gradients(K, K.inverse_features(), solution, s, truncated)
        grad_Y = -solution.R.to(Y) if ctx.needs_input_grad[0] else None
        ctx.save_for_backward(grad_Y, grad_Phi.to(Phi), grad_s.to(noise_variance))
        return value

    @staticmethod
    def backward(ctx: Any, grad_value: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        forbid_double_backward("log_evidence")
        return *(None if grad is None else grad_value.to(grad) * grad for grad in ctx.saved_tensors), None


def exact_log_evidence(Y: Float[Tensor, "N M"], K: Float[Tensor, "N N"], noise_variance: Scalar) -> Scalar:
    r"""Return the log density of all columns of a view, $\sum_m \log N(y_m | 0, K + s I)$.

    This is term (a) of the bound with the exact kernel matrix instead of random features [eq:gaussian_elbo_estimate].

    Args:
        Y: the view.
        K: its kernel matrix.
        noise_variance: s, positive.

    Returns:
        The log evidence, a float64 scalar.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    N, M = Y.shape
    covariance = factor(add_to_diagonal(K.double(), noise_variance.double()))
    whitened = torch.linalg.solve_triangular(covariance.L, Y.double(), upper=False)
    return -0.5 * (M * (covariance.log_det + N * math.log(2 * math.pi)) + whitened.square().sum())
