r"""Gaussian processes known through inducing points, and what their variational posterior says of rows.

The M functions of a process share a kernel and U inducing points Z. Their values there, $u = f(Z)$ and a little noise,
are written as $u = L v$ with $K_{zz} + j I = L L^\top$, so that $p(v) = N(0, I)$; $q(v) = N(m, R R^\top)$. With
$a = L^{-1} k(Z, x)$,

$$ q(f(x)) = N\big( m^\top a,\; k(x, x) - a^\top a + a^\top R R^\top a \big). $$

One view as sparse Gaussian processes on top of each other: of one layer, or deep.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.gp.trainable_kernels import TrainableRBF
from mvlvm.linalg.cholesky import add_to_diagonal, cholesky, factor
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar

# The noise of inducing values, as a share of the kernel's variance: what keeps their covariance from being singular
# where inducing points meet. It is a part of the model, so that the bound stays a bound.
INDUCING_NOISE = 1e-6
# What rounding may leave of a variance.
_MIN_VARIANCE = 1e-16


class GPMarginals(NamedTuple):
    """A normal for every function at every row; C is M, or 1 where all functions have the same variance."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N C"]


class SparseGP(nn.Module):
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
        self.kernel = TrainableRBF(D, variance)
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

    def forward(self, X: Float[Tensor, "N D"]) -> GPMarginals:
        """Give q(f(x)) for every row."""
        A = self.whitened(X)
        unexplained = self.kernel.variance - A.square().sum(dim=0)
        spread = (self.factor.mT @ A).square().sum(dim=1)
        return GPMarginals(A.T @ self.mean, (unexplained + spread).T.clamp_min(_MIN_VARIANCE))

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


# Gives standard normal noise of the shape of some latents.
NoiseSampler = Callable[[Float[Tensor, "N D"]], Float[Tensor, "N D"]]
# A deep view starts as a shallow one: its inner layers change next to nothing, and may change something.
_INNER_VARIANCE = 0.1
_INNER_STD = 1e-3


def independent_noise(generator: torch.Generator) -> NoiseSampler:
    """Draw anew for every row, as training does."""
    return lambda like: torch.randn(like.shape, generator=generator, dtype=like.dtype)


def shared_noise(generator: torch.Generator) -> NoiseSampler:
    """Draw once for all rows, so that what becomes of one does not depend on who else is there."""
    return lambda like: torch.randn(1, like.shape[1], generator=generator, dtype=like.dtype).expand_as(like)


class DeepGP(nn.Module):
    """A view given a latent: inner layers, each adding to what it gets, then one function per column, seen with noise.

    An inner layer has the identity for its mean function, and as many outputs as there are latent dimensions (Salimbeni
    and Deisenroth 2017, section 2).

    Args:
        Z: where the inducing points of every layer start.
        n_columns: of the view, M.
        n_layers: one is a sparse Gaussian process.
    """

    def __init__(self, Z: Float[Tensor, "U D"], n_columns: int, n_layers: int) -> None:
        super().__init__()
        D = Z.shape[1]
        self.inner = nn.ModuleList(
            SparseGP(Z, D, variance=_INNER_VARIANCE, one_covariance=False, spread=_INNER_STD)
            for _ in range(n_layers - 1)
        )
        self.last = SparseGP(Z, n_columns)
        start = raw_positive(defaults.INITIAL_NOISE_VARIANCE)
        self.raw_noise_variance = nn.Parameter(torch.tensor(start, dtype=torch.float64))

    @property
    def noise_variance(self) -> Scalar:
        """Of an entry around its function."""
        return positive(self.raw_noise_variance)

    def expected_log_likelihood(
        self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"], noise: NoiseSampler
    ) -> Float[Tensor, " N"]:
        r"""Give $E_q \log p(y | f)$ of every row: exact for the last layer, with one draw of every inner one.

        $$ -\tfrac12 \sum_m \Big( \log 2\pi s + \frac{(y_m - \mu_m)^2 + \sigma^2}{s} \Big) $$
        """
        s, M = self.noise_variance, Y.shape[1]
        mean, variance = self.last(self._drawn(X, noise))
        squares = (Y - mean).square().sum(dim=1) + M * variance[:, 0]
        return -0.5 * (M * (2 * math.pi * s).log() + squares / s)

    def kl(self) -> Scalar:
        """Give the divergence of all layers' q(u) from their priors."""
        inner = [layer.kl() for layer in self.inner if isinstance(layer, SparseGP)]
        return sum(inner, start=self.last.kl())

    def predicted(self, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N M"]]:
        """Give mean and variance of entries at some latents, with inner layers at their means."""
        for layer in self.inner:
            X = X + layer(X).mean
        mean, variance = self.last(X)
        return mean, (variance + self.noise_variance).expand_as(mean)

    def settle(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> None:
        """Start the last layer where it is best for a view, given latents, and inner layers that change nothing."""
        self.last.settle(X, Y, self.noise_variance)

    def _drawn(self, X: Float[Tensor, "N D"], noise: NoiseSampler) -> Float[Tensor, "N D"]:
        for layer in self.inner:
            mean, variance = layer(X)
            X = X + mean + variance.sqrt() * noise(X)
        return X
