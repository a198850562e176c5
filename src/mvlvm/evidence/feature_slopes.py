r"""What is left of a view's rows once they are summed over, and the slopes of its evidence by features.

With A = Phi' Phi + s I = LL', C = Phi' Y, H = L^-1 C and B = L'^-1 H, see `evidence/from_latents.py`.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import cholesky
from mvlvm.linalg.lowrank import add_to_diagonal
from mvlvm.linalg.precision import split_product
from mvlvm.linalg.triangular import inverse_of_lower
from mvlvm.shapes import Scalar


class SmallMatrices(NamedTuple):
    """What is left of the rows once they are summed over: scalars in float64, matrices as slopes need them."""

    s: Scalar
    log_det: Scalar  # log|A|
    inverse_trace: Scalar  # tr A^-1
    H_energy: Scalar  # |H|^2
    L_inverse: Float[Tensor, "F F"]
    B: Float[Tensor, "F r"]


def factor_sums(gram: Float[Tensor, "F F"], C: Float[Tensor, "F r"], s: Scalar, dtype: torch.dtype) -> SmallMatrices:
    """Factor A = Phi' Phi + s I, of which the lower half is given, and solve with it; matrices in precision `dtype`."""
    L = cholesky(add_to_diagonal(gram, s))
    L_inverse = inverse_of_lower(L)
    H = L_inverse @ C
    log_det, inverse_trace = 2 * L.diagonal().log().sum(), L_inverse.square().sum()
    in_slopes = L_inverse.to(dtype)
    return SmallMatrices(s, log_det, inverse_trace, H.square().sum(), in_slopes, in_slopes.T @ H.to(dtype))


class ExactSlopes:
    """R B' - M Phi A^-1, residuals R in float64."""

    def __init__(self, small: SmallMatrices, n_columns: int, dtype: torch.dtype) -> None:
        self.B, self.B_over_s = small.B, (small.B / small.s).to(dtype)
        self.minus_MA = (-n_columns * small.L_inverse.T @ small.L_inverse).to(dtype)

    def __call__(
        self, Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], into: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N F"]:
        """Write the slopes by the features of some rows."""
        R = residuals(Phi, Y, self.B).to(Phi)
        return torch.mm(self.B_over_s, R.T, out=into.T).addmm_(self.minus_MA, Phi.T).T


class FastSlopes:
    """Y (B' / s) - Phi W with W = B B' / s + M A^-1."""

    def __init__(self, small: SmallMatrices, n_columns: int, dtype: torch.dtype) -> None:
        self.B_over_s = (small.B / small.s).to(dtype)
        A_inverse = small.L_inverse.T @ small.L_inverse
        self.minus_W = torch.addmm(A_inverse, self.B_over_s, small.B.T, beta=-n_columns, alpha=-1)

    def __call__(
        self, Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], into: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N F"]:
        """Write the slopes by the features of some rows."""
        by_Y = split_product(self.B_over_s, Y.T, into=into.T)
        return split_product(self.minus_W, Phi.T, into=by_Y, add=True).T


def residuals(Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], B: Float[Tensor, "F r"]) -> Float[Tensor, "N r"]:
    """Give Y - Phi B in float64."""
    return torch.addmm(Y.double(), Phi.double(), B, alpha=-1)
