r"""The log evidence of a view under its random features, term (a), with its analytic gradient.

    log N(Y | 0, K) = -1/2 [ M log|K| + tr(Y' K^-1 Y) + N M log 2 pi ],      K = Phi Phi' + s I

With R = K^-1 Y its gradient is

    by Phi:  R R' Phi - M K^-1 Phi        by Y:  -R        by s:  (|R|^2 - M tr K^-1) / 2

and every term is cheap on the smaller side of Phi. With F < N, A = Phi' Phi + s I, C = Phi' Y and B = A^-1 C:

    |K| = s^(N - F) |A|       R = (Y - Phi B) / s       tr(Y' K^-1 Y) = s |R|^2 + |B|^2
    K^-1 Phi = Phi A^-1       R' Phi = B'               tr K^-1 = (N - F) / s + tr A^-1

The shorter tr(Y' K^-1 Y) = (|Y|^2 - <C, B>) / s is a small difference of large numbers when s is small, and loses all
digits at s = 1e-8; in the sum of squares an error of B enters only squared.

App. C.2 prints the N x N product inside an identity of size F and loses s in the inverse (docs/errata.md).
Features may be float32. Their products are accumulated and solved in float64, because A is as ill-conditioned as
N / s: rounding the products to float32 would make it indefinite when the noise is small.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.lowrank import factor_features_side, factor_samples_side
from mvlvm.shapes import Scalar


def log_evidence(Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"], noise_variance: Scalar) -> Scalar:
    r"""Give $\sum_m \log N(y_m | 0, \Phi \Phi^\top + s I)$ in float64, differentiable once [eq:gaussian_elbo_estimate].

    Costs O(N F min(N, F) + N M F).

    Args:
        Y: the view.
        Phi: its random features, float32 or float64.
        noise_variance: s, positive.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    return _LogEvidence.apply(Y, Phi, noise_variance)  # pyright: ignore[reportReturnType]


class _Solution(NamedTuple):
    """The log evidence and its gradients; the one by Y only where it was asked for."""

    value: Scalar
    by_Y: Float[Tensor, "N M"] | None
    by_Phi: Float[Tensor, "N F"]
    by_s: Scalar


def _solve_few_features(Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"], s: Scalar, *, need_Y: bool) -> _Solution:
    """Solve on the F x F side."""
    (N, M), F = Y.shape, Phi.shape[1]
    A = factor_features_side(Phi, s)
    A_inverse = A.inverse()
    B = A.solve(Phi.T @ Y)
    R = torch.addmm(Y, Phi, B, alpha=-1) / s
    log_det_K = A.log_det + (N - F) * s.log()
    trace_K_inverse = (N - F) / s + A_inverse.trace()
    R_squared = R.square().sum()
    return _Solution(
        value=-0.5 * (M * log_det_K + s * R_squared + B.square().sum() + N * M * math.log(2 * math.pi)),
        by_Y=-R if need_Y else None,
        by_Phi=R @ B.T - Phi @ (M * A_inverse),
        by_s=0.5 * (R_squared - M * trace_K_inverse),
    )


def _solve_few_samples(Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"], s: Scalar, *, need_Y: bool) -> _Solution:
    """Solve on the N x N side."""
    N, M = Y.shape
    K = factor_samples_side(Phi, s)
    K_inverse = K.inverse()
    R = K.solve(Y)
    return _Solution(
        value=-0.5 * (M * K.log_det + (Y * R).sum() + N * M * math.log(2 * math.pi)),
        by_Y=-R if need_Y else None,
        by_Phi=(R @ R.T - M * K_inverse) @ Phi,
        by_s=0.5 * (R.square().sum() - M * K_inverse.trace()),
    )


class _LogEvidence(torch.autograd.Function):
    """Joins the value and its analytic gradient; nothing is differentiated through a factorisation."""

    @staticmethod
    def forward(ctx: Any, Y: Tensor, Phi: Tensor, noise_variance: Tensor) -> Tensor:
        solve = _solve_few_features if Phi.shape[1] < Phi.shape[0] else _solve_few_samples
        solution = solve(Y.double(), Phi.double(), noise_variance.double(), need_Y=ctx.needs_input_grad[0])
        by_Y = None if solution.by_Y is None else solution.by_Y.to(Y)
        ctx.save_for_backward(by_Y, solution.by_Phi.to(Phi), solution.by_s.to(noise_variance))
        return solution.value

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        # torch's once_differentiable would let a second derivative pass in silence, without this function's part
        if torch.is_grad_enabled():
            raise RuntimeError(
                "log_evidence can be differentiated once. Got create_graph=True. "
                "For second derivatives use exact_log_evidence with K = Phi @ Phi.T."
            )
        return tuple(None if by is None else gradient.to(by) * by for by in ctx.saved_tensors)
