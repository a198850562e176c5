"""K = Phi Phi' + s I, factored on its smaller side.

With A = Phi' Phi + s I (F x F):

    |K| = s^(N - F) |A|        K^-1 = (I - Phi A^-1 Phi') / s        K^-1 Phi = Phi A^-1

For Y and B = A^-1 Phi' Y:

    R = K^-1 Y = (Y - Phi B) / s        Phi' R = B        tr(Y' R) = s |R|^2 + |B|^2

The shorter tr(Y' R) = (|Y|^2 - <Phi' Y, B>) / s is a small difference of large numbers when s is small, and loses all
digits at s = 1e-8; in the sum of squares an error of B enters only squared.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import Factor, factor


class Solved(NamedTuple):
    """What comes of solving with K."""

    R: Float[Tensor, "N M"]  # K^-1 Y
    Phi_R: Float[Tensor, "F M"]  # Phi' K^-1 Y
    squares: Float[Tensor, " M"]  # y_m' K^-1 y_m of every column


@dataclass(frozen=True)
class FeaturesSide:
    """K through A, cheaper when F < N."""

    Phi: Float[Tensor, "N F"]
    s: Float[Tensor, ""]
    A: Factor
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

    def solve(self, Y: Float[Tensor, "N M"]) -> Solved:
        """Solve with K."""
        B = self.A.solve(self.Phi.T @ Y)
        R = torch.addmm(Y, self.Phi, B, alpha=-1) / self.s
        return Solved(R, B, self.s * R.square().sum(dim=0) + B.square().sum(dim=0))


@dataclass(frozen=True)
class SamplesSide:
    """K itself, cheaper when F >= N."""

    Phi: Float[Tensor, "N F"]
    K: Factor
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

    def solve(self, Y: Float[Tensor, "N M"]) -> Solved:
        """Solve with K."""
        R = self.K.solve(Y)
        return Solved(R, self.Phi.T @ R, (Y * R).sum(dim=0))


Covariance = FeaturesSide | SamplesSide


def factor_covariance(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> Covariance:
    """Factor K on its smaller side.

    Raises:
        NumericalError: it cannot be factored.
    """
    return factor_features_side(Phi, s) if Phi.shape[1] < Phi.shape[0] else factor_samples_side(Phi, s)


def factor_features_side(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> FeaturesSide:
    """Factor A = Phi' Phi + s I."""
    A = factor(add_to_diagonal(Phi.T @ Phi, s))
    return FeaturesSide(Phi, s, A, A.inverse())


def factor_samples_side(Phi: Float[Tensor, "N F"], s: Float[Tensor, ""]) -> SamplesSide:
    """Factor K = Phi Phi' + s I itself."""
    K = factor(add_to_diagonal(Phi @ Phi.T, s))
    return SamplesSide(Phi, K, K.inverse())


def add_to_diagonal(A: Float[Tensor, "F F"], s: Float[Tensor, ""]) -> Float[Tensor, "F F"]:
    """Give A + s I."""
    return A + torch.diag_embed(s.expand(len(A)))
