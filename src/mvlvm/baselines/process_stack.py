"""One view as sparse Gaussian processes on top of each other: of one layer, or deep."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.sparse_process import SparseProcess
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar

# Gives standard normal noise of the shape of some latents.
Noise = Callable[[Float[Tensor, "N D"]], Float[Tensor, "N D"]]
# A deep view starts as a shallow one: its inner layers change next to nothing, and may change something.
_INNER_VARIANCE = 0.1
_INNER_SPREAD = 1e-3


def noise_of_each_row(generator: torch.Generator) -> Noise:
    """Draw anew for every row, as training does."""
    return lambda like: torch.randn(like.shape, generator=generator, dtype=like.dtype)


def noise_of_all_rows(generator: torch.Generator) -> Noise:
    """Draw once for all rows, so that what becomes of one does not depend on who else is there."""
    return lambda like: torch.randn(1, like.shape[1], generator=generator, dtype=like.dtype).expand_as(like)


class ProcessStack(nn.Module):
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
            SparseProcess(Z, D, variance=_INNER_VARIANCE, one_covariance=False, spread=_INNER_SPREAD)
            for _ in range(n_layers - 1)
        )
        self.last = SparseProcess(Z, n_columns)
        start = raw_positive(defaults.INITIAL_NOISE_VARIANCE)
        self.raw_noise_variance = nn.Parameter(torch.tensor(start, dtype=torch.float64))

    @property
    def noise_variance(self) -> Scalar:
        """Of an entry around its function."""
        return positive(self.raw_noise_variance)

    def expected_log_likelihood(
        self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"], noise: Noise
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
        inner = [layer.kl() for layer in self.inner if isinstance(layer, SparseProcess)]
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

    def _drawn(self, X: Float[Tensor, "N D"], noise: Noise) -> Float[Tensor, "N D"]:
        for layer in self.inner:
            mean, variance = layer(X)
            X = X + mean + variance.sqrt() * noise(X)
        return X
