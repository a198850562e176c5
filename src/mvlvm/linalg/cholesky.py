"""Cholesky factors, the inverse of a triangular matrix, and the low-rank covariance K = Phi Phi' + s I.

K (N x N) is factored through the smaller of the two matrices K and A = Phi' Phi + s I (F x F). When F < N, the
determinant lemma and the Woodbury identity (App. C.2, corrected in docs/errata.md) give

    |K| = s^(N - F) |A|        K^-1 = (I - Phi A^-1 Phi') / s        K^-1 Phi = Phi A^-1

and, for a right-hand side Y with B = A^-1 Phi' Y,

    R = K^-1 Y = (Y - Phi B) / s        Phi' R = B        tr(Y' R) = s |R|^2 + |B|^2

The shorter formula tr(Y' R) = (|Y|^2 - <Phi' Y, B>) / s suffers from cancellation: for small s it is a small
difference of large numbers, and at s = 1e-8 no digit is left. In the sum of squares, an error of B enters squared.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import NumericalError
from mvlvm.linalg.cpu_arithmetic import Arithmetic
from mvlvm.linalg.cuda import is_capturing

# Jitter levels tried in turn, relative to the mean of the diagonal. In float64 a positive definite matrix needs none;
# more than the last level would change the matrix noticeably.
_JITTER_LADDER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)
# Diagonal blocks into which a GPU divides a triangular matrix to invert it. Its triangular solver works on one block of
# columns after the other; four small systems as a batch are three times faster than one large system.
_N_BLOCKS_ON_GPU = 4
# A CPU inverts triangular matrices of at least this size faster in two blocks.
_MIN_SIZE_IN_BLOCKS = 128


def cholesky(A: Float[Tensor, "F F"]) -> Float[Tensor, "F F"]:
    """Compute the Cholesky factor of A = L L', adding the smallest jitter to the diagonal for which it exists.

    During CUDA graph capture the result cannot be inspected: no jitter is added, and L is NaN if A is not positive
    definite.

    Args:
        A: a symmetric matrix; only its lower triangle is read.

    Returns:
        The lower triangular factor L, F x F.

    Raises:
        NumericalError: A contains NaN or infinite values, or is not positive definite even with the largest jitter.
    """
    if is_capturing(A.device):
        L, failed = torch.linalg.cholesky_ex(A)
        return torch.where(failed == 0, L, torch.nan)
    for jitter in _JITTER_LADDER:
        L, failed = torch.linalg.cholesky_ex(
            A + jitter * A.diagonal().mean() * torch.eye(len(A)).to(A) if jitter else A
        )
        if not failed:
            if not math.isfinite(L.diagonal().sum().item()):
                break
            return L
    if not torch.isfinite(A.tril()).all():
        raise NumericalError(
            f"The {len(A)} x {len(A)} covariance contains NaN or infinite values. Training has diverged. "
            "Lower learning_rate, or fit with dtype='float64'."
        )
    raise NumericalError(
        f"The {len(A)} x {len(A)} covariance is not positive definite, even after adding {_JITTER_LADDER[-1]:g} "
        "times the mean of its diagonal to the diagonal. The noise variance is too small for these features. "
        "Lower learning_rate, or fit with dtype='float64'."
    )


@dataclass(frozen=True)
class CholeskyFactor:
    """The Cholesky factorisation A = L L' of a positive definite matrix."""

    L: Float[Tensor, "F F"]

    @property
    def log_det(self) -> Float[Tensor, ""]:
        """The log determinant log|A|."""
        return 2 * self.L.diagonal().log().sum()

    def solve(self, C: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Return A^-1 C, F x M."""
        return torch.cholesky_solve(C, self.L)

    def inverse(self) -> Float[Tensor, "F F"]:
        """Return A^-1, F x F."""
        return torch.cholesky_inverse(self.L)


def factor(A: Float[Tensor, "F F"]) -> CholeskyFactor:
    """Return the Cholesky factorisation of a positive definite matrix.

    Raises:
        NumericalError: the matrix cannot be factored, see `cholesky`.
    """
    return CholeskyFactor(cholesky(A))


def invert_lower_triangular(L: Float[Tensor, "F F"], n_blocks: int | None = None) -> Float[Tensor, "F F"]:
    """Return the inverse of a lower triangular matrix, F x F.

    With more than one block, the diagonal blocks are inverted as a batch and then merged in pairs:

        [ A  0 ]^-1   [    A^-1          0   ]
        [ C  B ]    = [ -B^-1 C A^-1    B^-1 ]

    Args:
        L: a lower triangular matrix.
        n_blocks: number of diagonal blocks, a power of two that divides F; None uses four on a GPU if F is a multiple
            of four, and otherwise one.
    """
    F = len(L)
    n_blocks = (_N_BLOCKS_ON_GPU if L.is_cuda and F % _N_BLOCKS_ON_GPU == 0 else 1) if n_blocks is None else n_blocks
    if n_blocks == 1:
        return torch.linalg.solve_triangular(L, _identity(F, L), upper=False)
    inverse, width = torch.zeros_like(L), F // n_blocks
    inverted_blocks = torch.linalg.solve_triangular(_diagonal_blocks(L, width), _identity(width, L), upper=False)
    _diagonal_blocks(inverse, width).copy_(inverted_blocks)
    while width < F:
        merged, original = _diagonal_blocks(inverse, 2 * width), _diagonal_blocks(L, 2 * width)
        A_inverse, B_inverse = merged[:, :width, :width], merged[:, width:, width:]
        merged[:, width:, :width] = (B_inverse @ original[:, width:, :width] @ A_inverse).neg_()
        width *= 2
    return inverse


def _diagonal_blocks(A: Float[Tensor, "F F"], width: int) -> Float[Tensor, "n w w"]:
    """Return the square blocks along the diagonal, as a view of A."""
    n = len(A) // width
    return A.view(n, width, n, width).diagonal(dim1=0, dim2=2).permute(2, 0, 1)


def _identity(n: int, like: Tensor) -> Float[Tensor, "n n"]:
    return torch.eye(n, dtype=like.dtype, device=like.device)


def rounded_inverse_transposed(L: Float[Tensor, "F F"], arithmetic: Arithmetic) -> Float[Tensor, "F F"]:
    """Return the transposed inverse L'^-1 of a lower triangular float64 matrix on a CPU, F x F, in float32.

    Large matrices are inverted in two blocks, recursively, of which only those on the diagonal are inverted in float64:
    the relative error of the products beside them is that of float32 times the condition number of L, which is the
    square root of that of L L'.

    Args:
        L: a lower triangular matrix.
        arithmetic: implementation of float32 products.
    """
    inverse = torch.zeros(L.shape, dtype=torch.float32)
    _write_inverse_transposed(L, L.float(), inverse, arithmetic)
    return inverse


def _write_inverse_transposed(
    L: Float[Tensor, "F F"], rounded: Float[Tensor, "F F"], out: Float[Tensor, "F F"], arithmetic: Arithmetic
) -> None:
    F = len(L)
    if F < _MIN_SIZE_IN_BLOCKS:
        out.copy_(invert_lower_triangular(L, 1).T)
        return
    h = F // 2
    for part in (slice(0, h), slice(h, F)):
        _write_inverse_transposed(L[part, part], rounded[part, part], out[part, part], arithmetic)
    # -(L22^-1 L21 L11^-1)'
    product = arithmetic.product(out[:h, :h].contiguous(), rounded[h:, :h].contiguous())
    torch.neg(arithmetic.product(product, out[h:, h:].T.contiguous()), out=out[:h, h:])


class CovarianceSolution(NamedTuple):
    """The solution of K R = Y.

    Attributes:
        R: K^-1 Y.
        Phi_R: Phi' K^-1 Y.
        quadratic: the quadratic form y_m' K^-1 y_m of each column.
    """

    R: Float[Tensor, "N M"]
    Phi_R: Float[Tensor, "F M"]
    quadratic: Float[Tensor, " M"]


@dataclass(frozen=True)
class WoodburyCovariance:
    """K = Phi Phi' + s I, represented by the Cholesky factor of A = Phi' Phi + s I; cheaper when F < N."""

    Phi: Float[Tensor, "N F"]
    s: Float[Tensor, ""]
    A: CholeskyFactor
    A_inverse: Float[Tensor, "F F"]

    @property
    def log_det(self) -> Float[Tensor, ""]:
        """The log determinant log|K|."""
        N, F = self.Phi.shape
        return self.A.log_det + (N - F) * self.s.log()

    @property
    def inverse_trace(self) -> Float[Tensor, ""]:
        """The trace of K^-1."""
        N, F = self.Phi.shape
        return (N - F) / self.s + self.A_inverse.trace()

    def inverse_features(self) -> Float[Tensor, "N F"]:
        """Return K^-1 Phi, N x F."""
        return self.Phi @ self.A_inverse

    def solve(self, Y: Float[Tensor, "N M"]) -> CovarianceSolution:
        """Solve K R = Y."""
        B = self.A.solve(self.Phi.T @ Y)
        R = torch.addmm(Y, self.Phi, B, alpha=-1) / self.s
        return CovarianceSolution(R, B, self.s * R.square().sum(dim=0) + B.square().sum(dim=0))


@dataclass(frozen=True)
class DenseCovariance:
    """K = Phi Phi' + s I, represented by its own Cholesky factor; cheaper when F >= N."""

    Phi: Float[Tensor, "N F"]
    K: CholeskyFactor
    K_inverse: Float[Tensor, "N N"]

    @property
    def log_det(self) -> Float[Tensor, ""]:
        """The log determinant log|K|."""
        return self.K.log_det

    @property
    def inverse_trace(self) -> Float[Tensor, ""]:
        """The trace of K^-1."""
        return self.K_inverse.trace()

    def inverse_features(self) -> Float[Tensor, "N F"]:
        """Return K^-1 Phi, N x F."""
        return self.K_inverse @ self.Phi

    def solve(self, Y: Float[Tensor, "N M"]) -> CovarianceSolution:
        """Solve K R = Y."""
        R = self.K.solve(Y)
        return CovarianceSolution(R, self.Phi.T @ R, (Y * R).sum(dim=0))


Covariance = WoodburyCovariance | DenseCovariance


def factor_covariance(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> Covariance:
    """Factor K = Phi Phi' + s I through the smaller of A (F x F) and K (N x N).

    Raises:
        NumericalError: the matrix cannot be factored, see `cholesky`.
    """
    return factor_woodbury(Phi, s) if Phi.shape[1] < Phi.shape[0] else factor_dense(Phi, s)


def factor_woodbury(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> WoodburyCovariance:
    """Factor K through A = Phi' Phi + s I, in O(N F^2)."""
    A = factor(add_to_diagonal(Phi.T @ Phi, s))
    return WoodburyCovariance(Phi, s, A, A.inverse())


def factor_dense(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> DenseCovariance:
    """Factor K = Phi Phi' + s I directly, in O(N^2 F + N^3)."""
    K = factor(add_to_diagonal(Phi @ Phi.T, s))
    return DenseCovariance(Phi, K, K.inverse())


def add_to_diagonal(A: Float[Tensor, "F F"], s: Float[Tensor, ""]) -> Float[Tensor, "F F"]:
    """Return A + s I, F x F; A is not modified."""
    return A + torch.diag_embed(s.expand(len(A)))
