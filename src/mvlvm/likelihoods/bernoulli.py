"""The Bernoulli likelihood of binary entries: y is 1 with probability sigma(f) = 1 / (1 + e^-f)."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.likelihoods.expectations import expected_softplus, log_integral, logistic_moments


class Bernoulli(AbstractLikelihood):
    """The Bernoulli likelihood, log p(y | f) = y f - softplus(f), for y in {0, 1}."""

    name: ClassVar[str] = "bernoulli"
    support: ClassVar[Support] = Support.BINARY

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Bernoulli":
        """Return the likelihood, which has no parameters."""
        return cls()

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the logit of the fraction of ones in each column, kept half an entry away from 0 and 1."""
        probability, count = column_means(Y)
        return torch.logit(torch.clamp(probability, 0.5 / count, 1 - 0.5 / count))

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return mean and variance of y or, without noise, of sigma(f), each N x M."""
        probability, spread = logistic_moments(mean, variance)
        return Response(probability, probability * (1 - probability) if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample binary entries, N x M."""
        return torch.bernoulli(torch.sigmoid(f), generator=generator)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f + logsigmoid(-f)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * mean - expected_softplus(mean, variance)

    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y @ mean.T - observed @ expected_softplus(mean, variance).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        # log E sigma(f) from `logistic_moments` would have a large relative error for improbable entries
        return log_integral(
            lambda f: self._log_density(Y, f), lambda f: _derivatives(Y, f), mean=mean, variance=variance
        )


def _derivatives(Y: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first two derivatives of the log density with respect to f."""
    probability = torch.sigmoid(f)
    return Y - probability, -probability * (1 - probability)
