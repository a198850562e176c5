"""The Gaussian likelihood: real entries with normal noise, with one variance s for the whole view."""

import math
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.parameters import Gradients, in_unit, positive, raw_positive
from mvlvm.row_blocks import row_blocks, row_sum
from mvlvm.shapes import Number


class Gaussian(AbstractLikelihood):
    """The Gaussian likelihood, y ~ N(f, s).

    Args:
        noise_variance: the initial value of s.
        unit: s is learned as a multiple of it, so that steps of the optimiser are relative to the variance of the view.
    """

    name: ClassVar[str] = "gaussian"
    support: ClassVar[Support] = Support.REAL
    real_valued: ClassVar[bool] = True
    collapses: ClassVar[bool] = True

    def __init__(self, noise_variance: float, unit: float = 1.0) -> None:
        super().__init__()
        self.unit = unit
        self.raw_noise_variance = nn.Parameter(torch.tensor(raw_positive(noise_variance / unit), dtype=torch.float64))

    @property
    def noise_variance(self) -> Float[Tensor, ""]:
        """The noise variance s."""
        return self.unit * positive(self.raw_noise_variance)

    @torch.no_grad()
    def absorb_unit(self) -> None:
        """Set the unit to one; the noise variance stays the same."""
        self.raw_noise_variance.copy_(in_unit(self.raw_noise_variance, self.unit))
        self.unit = 1.0

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Gaussian":
        """Return the likelihood with an initial noise variance that is a small fraction of the variance of columns.

        The unit is the power of two next to this variance: exactly one for scaled views, and exact as a factor.
        """
        mean, count = column_means(Y)
        blocks = row_blocks(*Y.shape)
        (squares,) = row_sum(blocks, lambda rows: ((Y[rows] - mean).square().nansum(dim=0),))
        variance = (squares / count).mean().item()
        unit = 2.0 ** round(math.log2(variance)) if variance > 0 else 1.0
        return cls(defaults.INITIAL_NOISE_VARIANCE * unit, unit).to(Y.dtype).to(Y.device)

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the mean of each column."""
        return column_means(Y).mean

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return mean and variance of y or, without noise, of f, each N x M."""
        return Response(mean, variance + self._noise_variance(mean) if include_noise else variance)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample real entries, N x M."""
        noise = torch.randn(f.shape, generator=generator, dtype=f.dtype, device=f.device)
        return f + self._noise_variance(f).sqrt() * noise

    def describe(self) -> dict[str, Tensor]:
        """Return the noise variance s."""
        return {"noise_variance": self.noise_variance.detach()}

    def _noise_variance(self, like: Tensor) -> Tensor:
        return self.noise_variance.to(like)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return _log_normal(Y - f, self._noise_variance(f))

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        s = self._noise_variance(mean)
        return _log_normal(Y - mean, s) - 0.5 * variance / s

    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        s = self._noise_variance(mean)
        squares = Y.square().sum(dim=1, keepdim=True) - 2 * Y @ mean.T + observed @ (mean.square() + variance).T
        return -0.5 * (squares / s + (2 * math.pi * s).log() * observed.sum(dim=1, keepdim=True))

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return _log_normal(Y - mean, variance + self._noise_variance(mean).detach())


def noise_gradients(likelihood: Gaussian, gradient: Number) -> Gradients:
    """Return the gradients of a scalar, given that with respect to the noise variance."""
    raw = likelihood.raw_noise_variance
    return {raw: torch.sigmoid(raw.detach()) * (likelihood.unit * gradient)}


def _log_normal(residual: Tensor, variance: Tensor) -> Tensor:
    return -0.5 * (residual.square() / variance + (2 * math.pi * variance).log())
