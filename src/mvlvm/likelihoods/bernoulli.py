"""Entries that are 0 or 1: y is 1 with probability sigma(f) = 1 / (1 + e^-f)."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.likelihoods.expectations import expected_softplus, log_integral, logistic_moments


class Bernoulli(AbstractLikelihood):
    """log p(y | f) = y f - softplus(f), for y in {0, 1}."""

    name: ClassVar[str] = "bernoulli"
    support: ClassVar[Support] = Support.BINARY

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Bernoulli":
        """Give the likelihood; there is nothing to learn."""
        return cls()

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the logit of every column's share of ones, which is kept half an entry away from none and all."""
        share, count = column_means(Y)
        return torch.logit(torch.clamp(share, 0.5 / count, 1 - 0.5 / count))

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give mean and variance of y, or those of sigma(f)."""
        share, spread = logistic_moments(mean, variance)
        return Response(share, share * (1 - share) if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw zeros and ones."""
        return torch.bernoulli(torch.sigmoid(f), generator=generator)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f + logsigmoid(-f)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * mean - expected_softplus(mean, variance)

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y @ mean.T - seen @ expected_softplus(mean, variance).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        # not log E sigma(f) by the mixture, whose relative error is large where an entry is a surprise
        return log_integral(lambda f: self._log_density(Y, f), lambda f: _slopes(Y, f), mean=mean, variance=variance)


def _slopes(Y: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    """Give the first two derivatives of the log density by f."""
    share = torch.sigmoid(f)
    return Y - share, -share * (1 - share)
