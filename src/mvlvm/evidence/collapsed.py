r"""The log evidence of a view under its random features, term (a), with its analytic gradient.

    log N(Y | 0, K) = -1/2 [ M log|K| + tr(Y' K^-1 Y) + N M log 2 pi ],      K = Phi Phi' + s I

With R = K^-1 Y its gradient is

    by Phi:  R R' Phi - M K^-1 Phi        by Y:  -R        by s:  (|R|^2 - M tr K^-1) / 2

and every term is cheap on the smaller side of Phi (`linalg/cholesky.py`).

App. C.2 prints the N x N product inside an identity of size F and loses s in the inverse (docs/errata.md).
Features may be float32. Their products are accumulated and solved in float64, because A = Phi' Phi + s I is as
ill-conditioned as N / s: rounding the products to float32 would make it indefinite when the noise is small.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import Covariance, CovarianceSolution, factor_covariance
from mvlvm.shapes import Scalar


class TruncatedColumns(NamedTuple):
    """Columns of a view that are left out of Y and taken for noise: how many, and the sum of their squares."""

    n_columns: int
    energy: float


NO_TRUNCATION = TruncatedColumns(0, 0.0)


def log_evidence(
    Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"], noise_variance: Scalar, cut: TruncatedColumns = NO_TRUNCATION
) -> Scalar:
    r"""Give $\sum_m \log N(y_m | 0, \Phi \Phi^\top + s I)$ in float64, differentiable once [eq:gaussian_elbo_estimate].

    Costs O(N F min(N, F) + N M F).

    Args:
        Y: the view.
        Phi: its random features, float32 or float64.
        noise_variance: s, positive.
        cut: columns that Y does not have. Their y' K^-1 y is taken for |y|^2 / s, which is never less.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    return _LogEvidence.apply(Y, Phi, noise_variance, cut)  # pyright: ignore[reportReturnType]


class Slopes(NamedTuple):
    """The log evidence and its gradients by Phi and s; the one by Y is -R."""

    value: Scalar
    grad_Phi: Float[Tensor, "N F"]
    grad_s: Scalar


def evaluate(
    K: Covariance, U: Float[Tensor, "N F"], solved: CovarianceSolution, s: Scalar, cut: TruncatedColumns = NO_TRUNCATION
) -> Slopes:
    """Put the log evidence and its gradients together, with U = K^-1 Phi."""
    N, M, R = len(solved.R), solved.R.shape[1] + cut.n_columns, solved.R
    return Slopes(
        value=-0.5 * (M * K.log_det + solved.squares.sum() + cut.energy / s + N * M * math.log(2 * math.pi)),
        grad_Phi=torch.addmm(-M * U, R, solved.Phi_R.T),
        grad_s=0.5 * (R.square().sum() + cut.energy / s**2 - M * K.inverse_trace),
    )


def forbid_double_backward(function: str) -> None:
    """Keep torch from giving a second derivative without this function's part, as its own decorator would."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"{function} can be differentiated once. Got create_graph=True. "
            "For second derivatives use exact_log_evidence with K = Phi @ Phi.T."
        )


class _LogEvidence(torch.autograd.Function):
    """Joins the value and its analytic gradient; nothing is differentiated through a factorisation."""

    @staticmethod
    def forward(ctx: Any, Y: Tensor, Phi: Tensor, noise_variance: Tensor, cut: TruncatedColumns) -> Tensor:
        s = noise_variance.double()
        K = factor_covariance(Phi.double(), s)
        solved = K.solve(Y.double())
        value, grad_Phi, grad_s = evaluate(K, K.inverse_features(), solved, s, cut)
        grad_Y = -solved.R.to(Y) if ctx.needs_input_grad[0] else None
        ctx.save_for_backward(grad_Y, grad_Phi.to(Phi), grad_s.to(noise_variance))
        return value

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        forbid_double_backward("log_evidence")
        return *(None if by is None else gradient.to(by) * by for by in ctx.saved_tensors), None
