r"""Counts whose mean is e^f and that vary more than a Poisson variable: var = mu + mu^2 / r.

$$ \log p(y | f) = \log\frac{\Gamma(y + r)}{\Gamma(r)\, y!} + y (f - \log r) - (y + r)\,\mathrm{softplus}(f - \log r) $$
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from mvlvm.likelihoods.base import Response, column_means
from mvlvm.likelihoods.counts import AbstractCounts, rate_moments
from mvlvm.likelihoods.integral import log_integral
from mvlvm.likelihoods.softplus import expected_softplus
from mvlvm.parameters import positive, raw_positive

# A start outside of these says that the moments of few entries were by chance what they are.
_SMALLEST_START, _LARGEST_START = 0.1, 100.0


class NegativeBinomial(AbstractCounts):
    """Counts with a dispersion r per column; a small r is a wide spread.

    The expected log density is right to (y + r) times the error of E softplus, 2e-10.

    Args:
        dispersion: where r starts.
    """

    name: ClassVar[str] = "negative-binomial"

    def __init__(self, dispersion: Float[Tensor, " M"]) -> None:
        super().__init__()
        raw = torch.tensor([raw_positive(r) for r in dispersion.tolist()], dtype=dispersion.dtype)
        self.raw_dispersion = nn.Parameter(raw.to(dispersion.device))

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "NegativeBinomial":
        """Estimate r by the moments of every column, r = mu^2 / (var - mu)."""
        mean, count = column_means(Y)
        variance = (Y - mean).square().nansum(dim=0) / (count - 1).clamp(min=1)
        excess = variance - mean
        dispersion = torch.where(excess > 0, mean.square() / excess, _LARGEST_START)
        return cls(dispersion.clamp(_SMALLEST_START, _LARGEST_START))

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give mean and variance of y, or those of its mean e^f."""
        rate, spread = rate_moments(mean, variance)
        noise = rate + (spread + rate.square()) / self._dispersion(mean)  # E mu + E mu^2 / r
        return Response(rate, spread + noise if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw counts: a gamma variable of mean e^f and shape r is the rate of a Poisson variable."""
        r = self._dispersion(f).expand_as(f)
        # torch's public gamma sampler takes no generator
        gamma = torch._standard_gamma(r, generator=generator)  # pyright: ignore[reportPrivateImportUsage]
        rates = gamma * f.exp() / r
        return torch.poisson(rates, generator=generator)

    def describe(self) -> dict[str, Tensor]:
        """Give the dispersion r of every column."""
        return {"dispersion": positive(self.raw_dispersion).detach()}

    def _dispersion(self, like: Tensor) -> Float[Tensor, " M"]:
        return positive(self.raw_dispersion).to(like)

    def _constant(self, Y: Tensor, r: Tensor) -> Tensor:
        """Give the logarithm of the binomial coefficient; zero where y is zero."""
        return torch.lgamma(Y + r) - torch.lgamma(r) - torch.lgamma(Y + 1)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        r = self._dispersion(f)
        x = f - r.log()
        return self._constant(Y, r) + Y * x + (Y + r) * logsigmoid(-x)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        r = self._dispersion(mean)
        x = mean - r.log()
        return self._constant(Y, r) + Y * x - (Y + r) * expected_softplus(x, variance)

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        r = self._dispersion(mean)
        x = mean - r.log()
        S = expected_softplus(x, variance)
        return self._constant(Y, r).sum(dim=1, keepdim=True) + Y @ (x - S).T - seen @ (r * S).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        r = self._dispersion(mean).detach()

        def log_density(x: Tensor) -> Tensor:
            return Y * x + (Y + r) * logsigmoid(-x)

        def slopes(x: Tensor) -> tuple[Tensor, Tensor]:
            share = torch.sigmoid(x)
            return Y - (Y + r) * share, -(Y + r) * share * (1 - share)

        x = mean - r.log()
        return self._constant(Y, r) + log_integral(log_density, slopes, mean=x, variance=variance)
