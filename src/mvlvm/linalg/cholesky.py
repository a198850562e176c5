"""A Cholesky factor that either exists or fails with advice."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import NumericalError
from mvlvm.linalg.capturing import is_capturing

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
class Factor:
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


def factor(A: Float[Tensor, "F F"]) -> Factor:
    """Factor a positive definite matrix.

    Raises:
        NumericalError: it cannot be factored, see `cholesky`.
    """
    return Factor(cholesky(A))
