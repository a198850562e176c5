"""What all likelihoods of counts share: their mean is e^f."""

from abc import ABC
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood, Response, column_means


class AbstractCounts(AbstractLikelihood, ABC):
    """Counts with E[y | f] = e^f."""

    log_link: ClassVar[bool] = True

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the logarithm of every column's mean; a column of zeros counts as half an event."""
        mean, count = column_means(Y)
        return torch.maximum(mean, 0.5 / count).log()


def rate_moments(mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]) -> Response:
    """Give mean and variance of e^f over f ~ N(mean, variance)."""
    rate = (mean + 0.5 * variance).exp()
    return Response(rate, rate.square() * variance.expm1())
