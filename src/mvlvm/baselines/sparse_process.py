r"""Gaussian processes known through inducing points, and what their variational posterior says of rows.

The M functions of a process share a kernel and U inducing points Z. Their values there, $u = f(Z)$ and a little noise,
are written as $u = L v$ with $K_{zz} + j I = L L^\top$, so that $p(v) = N(0, I)$; $q(v) = N(m, R R^\top)$. With
$a = L^{-1} k(Z, x)$,

$$ q(f(x)) = N\big( m^\top a,\; k(x, x) - a^\top a + a^\top R R^\top a \big). $$
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.baselines.learned_kernels import LearnedRbf
from mvlvm.linalg.cholesky import add_to_diagonal, cholesky, factor
from mvlvm.parameters import positive
from mvlvm.shapes import Scalar

# The noise of inducing values, as a share of the kernel's variance: what keeps their covariance from being singular
# where inducing points meet. It is a part of the model, so that the bound stays a bound.
INDUCING_NOISE = 1e-6
# What rounding may leave of a variance.
_SMALLEST_VARIANCE = 1e-16


class Marginals(NamedTuple):
    """A normal for every function at every row; C is M, or 1 where all functions have the same variance."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N C"]


class SparseProcess(nn.Module):
    """M functions of D inputs, with q(v) as above, in float64.

    Args:
        Z: where the inducing points start.
        n_functions: M.
        variance: where the kernel's variance starts.
        one_covariance: all functions have one R. Where they are seen through equal normal noise nothing is lost by
            that: the best R R' does not depend on what was seen. Otherwise each has its own.
        spread: where the diagonal of R starts.
    """

    def __init__(
        self,
        Z: Float[Tensor, "U D"],
        n_functions: int,
        *,
        variance: float = 1.0,
        one_covariance: bool = True,
        spread: float = 1.0,
    ) -> None:
        super().__init__()
        (U, D), C = Z.shape, 1 if one_covariance else n_functions
        self.kernel = LearnedRbf(D, variance)
        self.Z = nn.Parameter(Z.double().clone())
        self.mean = nn.Parameter(torch.zeros(U, n_functions, dtype=torch.float64))
        self.raw_factor = nn.Parameter(torch.zeros(C, U, U, dtype=torch.float64))
        self.put_factor((spread * torch.eye(U, dtype=torch.float64)).expand(C, U, U))

    @property
    def factor(self) -> Float[Tensor, "C U U"]:
        """R, with a positive diagonal."""
        return self.raw_factor.tril(-1) + torch.diag_embed(positive(self.raw_factor.diagonal(dim1=1, dim2=2)))

    @torch.no_grad()
    def put_factor(self, R: Float[Tensor, "C U U"]) -> None:
        """Set R, which is lower triangular with a positive diagonal."""
        diagonal = R.diagonal(dim1=1, dim2=2)
        raw = diagonal + torch.log(-torch.expm1(-diagonal))  # as `raw_positive`
        self.raw_factor.copy_(R.tril(-1) + torch.diag_embed(raw))

    def whitened(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "U N"]:
        """Give a = L^-1 k(Z, x) for every row."""
        noise = INDUCING_NOISE * self.kernel.variance
        L = cholesky(add_to_diagonal(self.kernel(self.Z, self.Z), noise))
        return torch.linalg.solve_triangular(L, self.kernel(self.Z, X), upper=False)

    def forward(self, X: Float[Tensor, "N D"]) -> Marginals:
        """Give q(f(x)) for every row."""
        A = self.whitened(X)
        unexplained = self.kernel.variance - A.square().sum(dim=0)
        spread = (self.factor.mT @ A).square().sum(dim=1)
        return Marginals(A.T @ self.mean, (unexplained + spread).T.clamp_min(_SMALLEST_VARIANCE))

    def kl(self) -> Scalar:
        r"""Give the divergence of q(u) from p(u), summed over functions.

        It is that of q(v) from p(v), $\tfrac12 \sum_m ( \operatorname{tr} R R^\top + m^\top m - U - \log|R R^\top| )$.
        """
        (U, M), C, R = self.mean.shape, len(self.raw_factor), self.factor
        of_covariances = 0.5 * R.square().sum() - R.diagonal(dim1=1, dim2=2).log().sum()
        return M / C * of_covariances + 0.5 * (self.mean.square().sum() - U * M)

    @torch.no_grad()
    def settle(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"], noise_variance: Scalar) -> None:
        """Put q(v) where it is best for inputs that are known, and columns seen through noise.

        That is S = R R' = (I + A A' / s)^-1 and m = S A Y / s.
        """
        A = self.whitened(X)
        precision = factor(add_to_diagonal(A @ A.T / noise_variance, torch.ones_like(noise_variance)))
        self.mean.copy_(precision.solve(A @ Y) / noise_variance)
        self.put_factor(cholesky(precision.inverse()).expand_as(self.raw_factor))
