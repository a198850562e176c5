"""Counts in and out of networks: how rows of different sizes are made alike, and how likely counts are.

The size of a row is its sum, the library size of a cell or the length of a text. A network knows only shares: the mean
of a count is its row's size times the share of its column.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

# Columns that hardly vary are not blown up.
_SMALLEST_STD = 1e-2


def library_sizes(Y: Float[Tensor, "N M"]) -> Float[Tensor, "N 1"]:
    """Give the sum of every row; a row of zeros counts as one event."""
    return Y.sum(dim=1, keepdim=True).clamp(min=1.0)


def log_mean_shares(Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
    """Give the logarithm of every column's share of all counts; a column of zeros counts as half an event."""
    return (Y.sum(dim=0).clamp(min=0.5) / Y.sum().clamp(min=1.0)).log()


def log_means(Y: Float[Tensor, "N M"], log_shares: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
    """Give the logarithms of the expected counts in rows of the sizes of Y's."""
    return library_sizes(Y).log() + log_shares


class CountInput(nn.Module):
    r"""Counts as a network reads them: $\log(1 + y s / l)$, standardised; l is the size of the row, s the usual one.

    Args:
        n_columns: M.
    """

    usual_size: Float[Tensor, ""]
    mean: Float[Tensor, " M"]
    std: Float[Tensor, " M"]

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("usual_size", torch.tensor(1.0))
        self.register_buffer("mean", torch.zeros(n_columns))
        self.register_buffer("std", torch.ones(n_columns))

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Take the median size, and every column's mean and standard deviation, from the data."""
        self.usual_size = library_sizes(Y).median()
        logs = self._logs(Y)
        self.mean, self.std = logs.mean(dim=0), logs.std(dim=0, correction=0).clamp(min=_SMALLEST_STD)

    def forward(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        """Give what a network reads."""
        return (self._logs(Y) - self.mean) / self.std

    def _logs(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        return (Y * (self.usual_size / library_sizes(Y))).log1p()


def zero_inflated(
    Y: Float[Tensor, "N M"], log_density: Float[Tensor, "N M"], dropout_logit: Float[Tensor, "N M"]
) -> Float[Tensor, "N M"]:
    r"""Give the log density of counts of which some are lost, and so seen as zeros.

    $$ \log\big( \pi\, [y = 0] + (1 - \pi)\, p(y) \big) $$

    Args:
        Y: the counts.
        log_density: log p(y), without losses.
        dropout_logit: the logit of $\pi$, the probability of a loss.
    """
    kept = logsigmoid(-dropout_logit) + log_density
    return torch.where(Y == 0, torch.logaddexp(logsigmoid(dropout_logit), kept), kept)
