r"""Likelihoods of counts with mean mu = e^f: Poisson, and negative binomial.

The Poisson likelihood is $\log p(y | f) = y f - e^f - \log y!$. The negative binomial likelihood with dispersion r is
overdispersed, var = mu + mu^2 / r:

$$ \log p(y | f) = \log\frac{\Gamma(y + r)}{\Gamma(r)\, y!} + y (f - \log r) - (y + r)\,\mathrm{softplus}(f - \log r) $$
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.likelihoods.expectations import expected_softplus, log_integral
from mvlvm.parameters import positive, raw_positive

# The range of the initial dispersion; moment estimates outside of it are due to chance in few entries.
_MIN_INITIAL_DISPERSION, _MAX_INITIAL_DISPERSION = 0.1, 100.0


def log_mean_counts(Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
    """Return the logarithm of the mean of each column, (M,); a column of zeros counts as half an event."""
    mean, count = column_means(Y)
    return torch.maximum(mean, 0.5 / count).log()


def rate_moments(mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]) -> Response:
    """Return mean and variance of e^f over f ~ N(mean, variance), each N x M."""
    rate = (mean + 0.5 * variance).exp()
    return Response(rate, rate.square() * variance.expm1())


class Poisson(AbstractLikelihood):
    """The Poisson likelihood, log p(y | f) = y f - e^f - log y!, for y = 0, 1, 2, ..."""

    name: ClassVar[str] = "poisson"
    support: ClassVar[Support] = Support.COUNTS
    log_link: ClassVar[bool] = True

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Poisson":
        """Return the likelihood, which has no parameters."""
        return cls()

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the logarithm of the mean of each column."""
        return log_mean_counts(Y)

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return mean and variance of y or, without noise, of the rate e^f, each N x M."""
        rate, spread = rate_moments(mean, variance)
        return Response(rate, spread + rate if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample counts, N x M."""
        return torch.poisson(f.exp(), generator=generator)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f - f.exp() - torch.lgamma(Y + 1)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * mean - (mean + 0.5 * variance).exp() - torch.lgamma(Y + 1)

    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        # log 0! = 0, so missing entries, which are filled with 0, contribute nothing to the last term
        return Y @ mean.T - observed @ (mean + 0.5 * variance).exp().T - torch.lgamma(Y + 1).sum(dim=1, keepdim=True)

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        without_constant = log_integral(
            lambda f: Y * f - f.exp(), lambda f: (Y - f.exp(), -f.exp()), mean=mean, variance=variance
        )
        return without_constant - torch.lgamma(Y + 1)


class NegativeBinomial(AbstractLikelihood):
    """The negative binomial likelihood with a dispersion r per column; a small r means strong overdispersion.

    The error of the expected log density is (y + r) times that of E softplus, 2e-10.

    Args:
        dispersion: the initial values of r.
    """

    name: ClassVar[str] = "negative-binomial"
    support: ClassVar[Support] = Support.COUNTS
    log_link: ClassVar[bool] = True

    def __init__(self, dispersion: Float[Tensor, " M"]) -> None:
        super().__init__()
        raw = torch.tensor([raw_positive(r) for r in dispersion.tolist()], dtype=dispersion.dtype)
        self.raw_dispersion = nn.Parameter(raw.to(dispersion.device))

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "NegativeBinomial":
        """Return the likelihood with moment estimates of r for each column, r = mu^2 / (var - mu)."""
        mean, count = column_means(Y)
        variance = (Y - mean).square().nansum(dim=0) / (count - 1).clamp(min=1)
        excess = variance - mean
        dispersion = torch.where(excess > 0, mean.square() / excess, _MAX_INITIAL_DISPERSION)
        return cls(dispersion.clamp(_MIN_INITIAL_DISPERSION, _MAX_INITIAL_DISPERSION))

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the logarithm of the mean of each column."""
        return log_mean_counts(Y)

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return mean and variance of y or, without noise, of its mean e^f, each N x M."""
        rate, spread = rate_moments(mean, variance)
        noise = rate + (spread + rate.square()) / self._dispersion(mean)  # E mu + E mu^2 / r
        return Response(rate, spread + noise if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample counts, N x M: Poisson variables whose rates are gamma variables of mean e^f and shape r."""
        r = self._dispersion(f).expand_as(f)
        # the public gamma sampler of torch does not accept a generator
        gamma = torch._standard_gamma(r, generator=generator)  # pyright: ignore[reportPrivateImportUsage]
        rates = gamma * f.exp() / r
        return torch.poisson(rates, generator=generator)

    def describe(self) -> dict[str, Tensor]:
        """Return the dispersion r of each column."""
        return {"dispersion": positive(self.raw_dispersion).detach()}

    def _dispersion(self, like: Tensor) -> Float[Tensor, " M"]:
        return positive(self.raw_dispersion).to(like)

    def _constant(self, Y: Tensor, r: Tensor) -> Tensor:
        """Return the logarithm of the binomial coefficient; zero where y is zero."""
        return torch.lgamma(Y + r) - torch.lgamma(r) - torch.lgamma(Y + 1)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        r = self._dispersion(f)
        x = f - r.log()
        return self._constant(Y, r) + Y * x + (Y + r) * logsigmoid(-x)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        r = self._dispersion(mean)
        x = mean - r.log()
        return self._constant(Y, r) + Y * x - (Y + r) * expected_softplus(x, variance)

    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        r = self._dispersion(mean)
        x = mean - r.log()
        S = expected_softplus(x, variance)
        return self._constant(Y, r).sum(dim=1, keepdim=True) + Y @ (x - S).T - observed @ (r * S).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        r = self._dispersion(mean).detach()

        def log_density(x: Tensor) -> Tensor:
            return Y * x + (Y + r) * logsigmoid(-x)

        def derivatives(x: Tensor) -> tuple[Tensor, Tensor]:
            probability = torch.sigmoid(x)
            return Y - (Y + r) * probability, -(Y + r) * probability * (1 - probability)

        x = mean - r.log()
        return self._constant(Y, r) + log_integral(log_density, derivatives, mean=x, variance=variance)
