"""One of C classes, as a row with a one in the column of its class and zeros elsewhere: p(c | f) = softmax_c(f)."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood, Response, column_means
from mvlvm.likelihoods.logsumexp import expected_logsumexp, softmax_moments

# Predictive probabilities are right to about 1e-8; one that is smaller may come out as zero.
_SMALLEST_PROBABILITY = 1e-12


class Categorical(AbstractLikelihood):
    """log p(y | f) = sum_c y_c f_c - logsumexp(f), for rows y with a single one.

    The log density of a row stands in the column of its class; the other columns are zero. A row with any entry missing
    is missing altogether, and so is one without a one: its class is none of those that the model knows.
    """

    name: ClassVar[str] = "categorical"

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Categorical":
        """Give the likelihood; there is nothing to learn."""
        return cls()

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the logarithms of the classes' shares, at least half a row each, with mean zero."""
        share, rows = column_means(torch.where(self._seen(Y), Y, torch.nan))
        f = torch.maximum(share, 0.5 / rows).log()
        return f - f.mean()

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give the classes' probabilities and the variance of y, or mean and variance of softmax(f)."""
        share, spread = softmax_moments(mean, variance)
        return Response(share, share * (1 - share) if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw a class for every row."""
        drawn = torch.multinomial(f.softmax(dim=1), 1, generator=generator)
        return torch.zeros_like(f).scatter_(1, drawn, 1.0)

    def count_entries(self, Y: Float[Tensor, "N M"]) -> int:
        """Give the number of rows with a class."""
        return int(self._seen(Y)[:, 0].sum())

    def _seen(self, Y: Tensor) -> Bool[Tensor, "N M"]:
        whole = ~torch.isnan(Y).any(dim=1, keepdim=True)
        return (whole & (Y != 0).any(dim=1, keepdim=True)).expand_as(Y)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f.log_softmax(dim=1)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * (mean - expected_logsumexp(mean, variance)[:, None])

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y @ (mean - expected_logsumexp(mean, variance)[:, None]).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * softmax_moments(mean, variance).mean.clamp(min=_SMALLEST_PROBABILITY).log()
