r"""Sparse Gaussian processes with inducing points, and deep Gaussian processes composed of them.

The M functions of a process share a kernel and U inducing points Z. The inducing variables, $u = f(Z)$ plus a small
noise, are whitened as $u = L v$ with $K_{zz} + j I = L L^\top$, so that $p(v) = N(0, I)$; $q(v) = N(m, R R^\top)$. With
$a = L^{-1} k(Z, x)$,

$$ q(f(x)) = N\big( m^\top a,\; k(x, x) - a^\top a + a^\top R R^\top a \big). $$
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

# Noise variance of the inducing variables relative to the kernel variance. It keeps their covariance non-singular if
# inducing points coincide, and it is part of the model, so that the bound remains a bound.
INDUCING_NOISE = 1e-6
# Lower limit of variances, against rounding errors.
_MIN_VARIANCE = 1e-16
# Inner layers are initialised close to the identity, so that a deep model initially equals a shallow one.
_INNER_VARIANCE = 0.1
_INNER_STD = 1e-3

# Returns standard normal noise of the shape of the given latents.
NoiseSampler = Callable[[Float[Tensor, "N D"]], Float[Tensor, "N D"]]


class GPMarginals(NamedTuple):
    """Normal marginals of all functions at all rows; C is M, or 1 if all functions have the same variance."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N C"]


class SparseGP(nn.Module):
    """M functions of D inputs with the variational posterior q(v) of the module docstring, in float64.

    Args:
        Z: initial inducing points.
        n_functions: number of functions, M.
        variance: initial kernel variance.
        one_covariance: share one R among all functions. This loses nothing if the functions are observed with equal
            Gaussian noise, because the optimal R R' does not depend on the observations. Otherwise every function has a
            separate R.
        spread: initial diagonal of R.
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
        self.set_factor((spread * torch.eye(U, dtype=torch.float64)).expand(C, U, U))

    @property
    def factor(self) -> Float[Tensor, "C U U"]:
        """Cholesky factor R, with a positive diagonal."""
        return self.raw_factor.tril(-1) + torch.diag_embed(positive(self.raw_factor.diagonal(dim1=1, dim2=2)))

    @torch.no_grad()
    def set_factor(self, R: Float[Tensor, "C U U"]) -> None:
        """Set R, a lower triangular matrix with a positive diagonal."""
        diagonal = R.diagonal(dim1=1, dim2=2)
        raw = diagonal + torch.log(-torch.expm1(-diagonal))  # as in `raw_positive`
        self.raw_factor.copy_(R.tril(-1) + torch.diag_embed(raw))

    def whitened_cross_covariance(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "U N"]:
        """Return a = L^-1 k(Z, x) for every row, (U, N)."""
        noise = INDUCING_NOISE * self.kernel.variance
        L = cholesky(add_to_diagonal(self.kernel(self.Z, self.Z), noise))
        return torch.linalg.solve_triangular(L, self.kernel(self.Z, X), upper=False)

    def forward(self, X: Float[Tensor, "N D"]) -> GPMarginals:
        """Return the marginals q(f(x)) at every row."""
        A = self.whitened_cross_covariance(X)
        conditional = self.kernel.variance - A.square().sum(dim=0)
        variational = (self.factor.mT @ A).square().sum(dim=1)
        return GPMarginals(A.T @ self.mean, (conditional + variational).T.clamp_min(_MIN_VARIANCE))

    def kl(self) -> Scalar:
        r"""Return KL(q(u) || p(u)), summed over functions.

        It equals KL(q(v) || p(v)) =
        $\tfrac12 \sum_m ( \operatorname{tr} R R^\top + m^\top m - U - \log|R R^\top| )$.
        """
        (U, M), C, R = self.mean.shape, len(self.raw_factor), self.factor
        covariance_terms = 0.5 * R.square().sum() - R.diagonal(dim1=1, dim2=2).log().sum()
        return M / C * covariance_terms + 0.5 * (self.mean.square().sum() - U * M)

    @torch.no_grad()
    def set_optimal_posterior(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"], noise_variance: Scalar) -> None:
        """Set q(v) to its optimum for fixed inputs and noisy observations of all functions.

        The optimum is S = R R' = (I + A A' / s)^-1 and m = S A Y / s.
        """
        A = self.whitened_cross_covariance(X)
        precision = factor(add_to_diagonal(A @ A.T / noise_variance, torch.ones_like(noise_variance)))
        self.mean.copy_(precision.solve(A @ Y) / noise_variance)
        self.set_factor(cholesky(precision.inverse()).expand_as(self.raw_factor))


def independent_noise(generator: torch.Generator) -> NoiseSampler:
    """Return a sampler that draws independent noise for every row, for training."""
    return lambda like: torch.randn(like.shape, generator=generator, dtype=like.dtype)


def shared_noise(generator: torch.Generator) -> NoiseSampler:
    """Return a sampler that draws the same noise for all rows, so that a row does not depend on the other rows."""
    return lambda like: torch.randn(1, like.shape[1], generator=generator, dtype=like.dtype).expand_as(like)


class DeepGP(nn.Module):
    """The deep Gaussian process of a view: inner layers of D functions, then one function per column, plus noise.

    The mean function of an inner layer is the identity, and it has as many outputs as inputs (Salimbeni and Deisenroth
    2017, section 2).

    Args:
        Z: initial inducing points of every layer.
        n_columns: number of columns of the view, M.
        n_layers: number of layers; 1 is a sparse Gaussian process.
    """

    def __init__(self, Z: Float[Tensor, "U D"], n_columns: int, n_layers: int) -> None:
        super().__init__()
        D = Z.shape[1]
        self.inner = nn.ModuleList(
            SparseGP(Z, D, variance=_INNER_VARIANCE, one_covariance=False, spread=_INNER_STD)
            for _ in range(n_layers - 1)
        )
        self.last = SparseGP(Z, n_columns)
        raw = raw_positive(defaults.INITIAL_NOISE_VARIANCE)
        self.raw_noise_variance = nn.Parameter(torch.tensor(raw, dtype=torch.float64))

    @property
    def noise_variance(self) -> Scalar:
        """Noise variance of the entries."""
        return positive(self.raw_noise_variance)

    def expected_log_likelihood(
        self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"], noise: NoiseSampler
    ) -> Float[Tensor, " N"]:
        r"""Return $E_q \log p(y | f)$ of every row, (N,): exact in the last layer, one sample of the inner layers.

        $$ -\tfrac12 \sum_m \Big( \log 2\pi s + \frac{(y_m - \mu_m)^2 + \sigma^2}{s} \Big) $$
        """
        s, M = self.noise_variance, Y.shape[1]
        mean, variance = self.last(self._sample_inner(X, noise))
        squares = (Y - mean).square().sum(dim=1) + M * variance[:, 0]
        return -0.5 * (M * (2 * math.pi * s).log() + squares / s)

    def kl(self) -> Scalar:
        """Return the sum of KL(q(u) || p(u)) over all layers."""
        inner = [layer.kl() for layer in self.inner if isinstance(layer, SparseGP)]
        return sum(inner, start=self.last.kl())

    def predict(self, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N M"]]:
        """Return the (N, M) predictive means and variances at latents, with the inner layers at their means."""
        for layer in self.inner:
            X = X + layer(X).mean
        mean, variance = self.last(X)
        return mean, (variance + self.noise_variance).expand_as(mean)

    def initialize(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> None:
        """Set the last layer to its optimum for a view given latents, with the inner layers as the identity."""
        self.last.set_optimal_posterior(X, Y, self.noise_variance)

    def _sample_inner(self, X: Float[Tensor, "N D"], noise: NoiseSampler) -> Float[Tensor, "N D"]:
        for layer in self.inner:
            mean, variance = layer(X)
            X = X + mean + variance.sqrt() * noise(X)
        return X
