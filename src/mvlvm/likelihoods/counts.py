r"""What all likelihoods of counts share: their mean is e^f.

Counts whose mean is e^f.

Counts whose mean is e^f and that vary more than a Poisson variable: var = mu + mu^2 / r.

$$ \log p(y | f) = \log\frac{\Gamma(y + r)}{\Gamma(r)\, y!} + y (f - \log r) - (y + r)\,\mathrm{softplus}(f - \log r) $$
"""

from abc import ABC
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.likelihoods.expectations import expected_softplus, log_integral
from mvlvm.parameters import positive, raw_positive


class AbstractCounts(AbstractLikelihood, ABC):
    """Counts with E[y | f] = e^f."""

    support: ClassVar[Support] = Support.COUNTS
    log_link: ClassVar[bool] = True

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the logarithm of every column's mean; a column of zeros counts as half an event."""
        mean, count = column_means(Y)
        return torch.maximum(mean, 0.5 / count).log()


def rate_moments(mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]) -> Response:
    """Give mean and variance of e^f over f ~ N(mean, variance)."""
    rate = (mean + 0.5 * variance).exp()
    return Response(rate, rate.square() * variance.expm1())


class Poisson(AbstractCounts):
    """log p(y | f) = y f - e^f - log y!, for y = 0, 1, 2, ..."""

    name: ClassVar[str] = "poisson"

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Poisson":
        """Give the likelihood; there is nothing to learn."""
        return cls()

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give mean and variance of y, or those of the rate e^f."""
        rate, spread = rate_moments(mean, variance)
        return Response(rate, spread + rate if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw counts."""
        return torch.poisson(f.exp(), generator=generator)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f - f.exp() - torch.lgamma(Y + 1)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * mean - (mean + 0.5 * variance).exp() - torch.lgamma(Y + 1)

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        # log 0! = 0, so missing entries, which are filled with 0, add nothing to the last term
        return Y @ mean.T - seen @ (mean + 0.5 * variance).exp().T - torch.lgamma(Y + 1).sum(dim=1, keepdim=True)

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        without_constant = log_integral(
            lambda f: Y * f - f.exp(), lambda f: (Y - f.exp(), -f.exp()), mean=mean, variance=variance
        )
        return without_constant - torch.lgamma(Y + 1)


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
