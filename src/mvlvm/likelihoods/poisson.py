"""Counts whose mean is e^f."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.likelihoods.base import Response
from mvlvm.likelihoods.counts import AbstractCounts, rate_moments
from mvlvm.likelihoods.integral import log_integral


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
