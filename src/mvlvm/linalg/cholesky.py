"""A Cholesky factor that either exists or fails with advice.

The inverse of a triangular matrix.

K = Phi Phi' + s I, factored on its smaller side.

With A = Phi' Phi + s I (F x F):

    |K| = s^(N - F) |A|        K^-1 = (I - Phi A^-1 Phi') / s        K^-1 Phi = Phi A^-1

For Y and B = A^-1 Phi' Y:

    R = K^-1 Y = (Y - Phi B) / s        Phi' R = B        tr(Y' R) = s |R|^2 + |B|^2

The shorter tr(Y' R) = (|Y|^2 - <Phi' Y, B>) / s is a small difference of large numbers when s is small, and loses all
digits at s = 1e-8; in the sum of squares an error of B enters only squared.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import NumericalError
from mvlvm.linalg.cuda import is_capturing

# Added to the diagonal in turn, as shares of its mean. In float64 a positive definite matrix needs none of them;
# beyond the last one the matrix is no longer the one that was asked for.
_JITTER_LADDER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)


def cholesky(A: Float[Tensor, "F F"]) -> Float[Tensor, "F F"]:
    """Factor A = L L', adding as little jitter to the diagonal as makes it possible. Only its lower half is read.

    While a GPU records the computation there is nothing to look at: no jitter is added, and L is NaN if there is no
    factor.

    Raises:
        NumericalError: A holds a NaN or an infinity, or is not positive definite even with the largest jitter.
    """
    if is_capturing(A.device):
        L, failed = torch.linalg.cholesky_ex(A)
        return torch.where(failed == 0, L, torch.nan)
    for share in _JITTER_LADDER:
        L, failed = torch.linalg.cholesky_ex(A + share * A.diagonal().mean() * torch.eye(len(A)).to(A) if share else A)
        if not failed:
            if not math.isfinite(L.diagonal().sum().item()):
                break
            return L
    if not torch.isfinite(A.tril()).all():
        raise NumericalError(
            f"The {len(A)} x {len(A)} covariance holds NaN or infinite values. Training has diverged. "
            "Lower learning_rate, or fit with dtype='float64'."
        )
    raise NumericalError(
        f"The {len(A)} x {len(A)} covariance is not positive definite, even with {_JITTER_LADDER[-1]:g} of its mean "
        "diagonal added. Its noise variance is too small for its features. "
        "Lower learning_rate, or fit with dtype='float64'."
    )


@dataclass(frozen=True)
class CholeskyFactor:
    """A positive definite matrix A = L L', ready to be solved with."""

    L: Float[Tensor, "F F"]

    @property
    def log_det(self) -> Float[Tensor, ""]:
        """log|A|."""
        return 2 * self.L.diagonal().log().sum()

    def solve(self, C: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Give A^-1 C."""
        return torch.cholesky_solve(C, self.L)

    def inverse(self) -> Float[Tensor, "F F"]:
        """Give A^-1."""
        return torch.cholesky_inverse(self.L)


def factor(A: Float[Tensor, "F F"]) -> CholeskyFactor:
    """Factor a positive definite matrix.

    Raises:
        NumericalError: it cannot be factored, see `cholesky`.
    """
    return CholeskyFactor(cholesky(A))


# A GPU solves with one triangle column block by column block; four small ones at a time are three times faster.
_LEAVES_ON_GPU = 4


def invert_lower_triangular(L: Float[Tensor, "F F"], n_blocks: int | None = None) -> Float[Tensor, "F F"]:
    """Invert a lower triangular matrix.

    It may be cut into blocks, those of the diagonal inverted together, and joined in pairs:

        [ A  0 ]^-1   [    A^-1          0   ]
        [ C  B ]    = [ -B^-1 C A^-1    B^-1 ]

    Args:
        L: the matrix.
        n_blocks: how many blocks the diagonal is cut into, a power of two; None takes four on a GPU where they are
            all of one size, or else one.
    """
    F = len(L)
    n_blocks = (_LEAVES_ON_GPU if L.is_cuda and F % _LEAVES_ON_GPU == 0 else 1) if n_blocks is None else n_blocks
    if n_blocks == 1:
        return torch.linalg.solve_triangular(L, _identity(F, L), upper=False)
    inverse, width = torch.zeros_like(L), F // n_blocks
    leaves = torch.linalg.solve_triangular(_diagonal_blocks(L, width), _identity(width, L), upper=False)
    _diagonal_blocks(inverse, width).copy_(leaves)
    while width < F:
        joined, given = _diagonal_blocks(inverse, 2 * width), _diagonal_blocks(L, 2 * width)
        first, second = joined[:, :width, :width], joined[:, width:, width:]
        joined[:, width:, :width] = (second @ given[:, width:, :width] @ first).neg_()
        width *= 2
    return inverse


def _diagonal_blocks(A: Float[Tensor, "F F"], width: int) -> Float[Tensor, "n w w"]:
    """Give the square blocks along the diagonal, as a view."""
    n = len(A) // width
    return A.view(n, width, n, width).diagonal(dim1=0, dim2=2).permute(2, 0, 1)


def _identity(n: int, like: Tensor) -> Float[Tensor, "n n"]:
    return torch.eye(n, dtype=like.dtype, device=like.device)


class CovarianceSolution(NamedTuple):
    """What comes of solving with K."""

    R: Float[Tensor, "N M"]  # K^-1 Y
    Phi_R: Float[Tensor, "F M"]  # Phi' K^-1 Y
    squares: Float[Tensor, " M"]  # y_m' K^-1 y_m of every column


@dataclass(frozen=True)
class WoodburyCovariance:
    """K through A, cheaper when F < N."""

    Phi: Float[Tensor, "N F"]
    s: Float[Tensor, ""]
    A: CholeskyFactor
    A_inverse: Float[Tensor, "F F"]

    @property
    def log_det(self) -> Float[Tensor, ""]:
        """log|K|."""
        N, F = self.Phi.shape
        return self.A.log_det + (N - F) * self.s.log()

    @property
    def inverse_trace(self) -> Float[Tensor, ""]:
        """Tr K^-1."""
        N, F = self.Phi.shape
        return (N - F) / self.s + self.A_inverse.trace()

    def inverse_features(self) -> Float[Tensor, "N F"]:
        """Give K^-1 Phi."""
        return self.Phi @ self.A_inverse

    def solve(self, Y: Float[Tensor, "N M"]) -> CovarianceSolution:
        """Solve with K."""
        B = self.A.solve(self.Phi.T @ Y)
        R = torch.addmm(Y, self.Phi, B, alpha=-1) / self.s
        return CovarianceSolution(R, B, self.s * R.square().sum(dim=0) + B.square().sum(dim=0))


@dataclass(frozen=True)
class DenseCovariance:
    """K itself, cheaper when F >= N."""

    Phi: Float[Tensor, "N F"]
    K: CholeskyFactor
    K_inverse: Float[Tensor, "N N"]

    @property
    def log_det(self) -> Float[Tensor, ""]:
        """log|K|."""
        return self.K.log_det

    @property
    def inverse_trace(self) -> Float[Tensor, ""]:
        """Tr K^-1."""
        return self.K_inverse.trace()

    def inverse_features(self) -> Float[Tensor, "N F"]:
        """Give K^-1 Phi."""
        return self.K_inverse @ self.Phi

    def solve(self, Y: Float[Tensor, "N M"]) -> CovarianceSolution:
        """Solve with K."""
        R = self.K.solve(Y)
        return CovarianceSolution(R, self.Phi.T @ R, (Y * R).sum(dim=0))


Covariance = WoodburyCovariance | DenseCovariance


def factor_covariance(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> Covariance:
    """Factor K on its smaller side.

    Raises:
        NumericalError: it cannot be factored.
    """
    return factor_woodbury(Phi, s) if Phi.shape[1] < Phi.shape[0] else factor_dense(Phi, s)


def factor_woodbury(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> WoodburyCovariance:
    """Factor A = Phi' Phi + s I."""
    A = factor(add_to_diagonal(Phi.T @ Phi, s))
    return WoodburyCovariance(Phi, s, A, A.inverse())


def factor_dense(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> DenseCovariance:
    """Factor K = Phi Phi' + s I itself."""
    K = factor(add_to_diagonal(Phi @ Phi.T, s))
    return DenseCovariance(Phi, K, K.inverse())


def add_to_diagonal(A: Float[Tensor, "F F"], s: Float[Tensor, ""]) -> Float[Tensor, "F F"]:
    """Give A + s I."""
    return A + torch.diag_embed(s.expand(len(A)))
