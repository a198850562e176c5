r"""What every likelihood p(y | f) can be asked.

A view's function gives f, or a normal distribution of it with mean m and variance v at every entry. A likelihood turns
them into densities of the entries y, into moments of y, and into draws. Results are entry by entry; an entry that is
NaN is missing and adds zero. A variance of exactly zero is allowed: f is then known.
"""

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm.row_blocks import row_blocks


class Support(Enum):
    """The set of values that an entry, or a row of one-hot entries, can take."""

    REAL = auto()
    BINARY = auto()
    COUNTS = auto()
    ONE_HOT = auto()


class Response(NamedTuple):
    """Mean and variance of the entries of a view."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]


class AbstractDensities(nn.Module, ABC):
    """How likely entries are, given f or a normal distribution of it. Missing ones are left out here, once for all."""

    def log_density(self, Y: Float[Tensor, "N M"], f: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        """Give log p(y | f)."""
        seen, filled = self._split(Y, f)
        return self._log_density(filled, f).masked_fill(~seen, 0.0)

    def expected_log_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
    ) -> Float[Tensor, "N M"]:
        """Give E log p(y | f) over f ~ N(mean, variance), differentiable by all but Y."""
        seen, filled = self._split(Y, mean)
        return self._expected(filled, mean, variance).masked_fill(~seen, 0.0)

    def pairwise_expected_log_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "A M"], variance: Float[Tensor, "A M"]
    ) -> Float[Tensor, "N A"]:
        """Give the expected log density of what was seen of every row, under every one of A predictions."""
        seen, filled = self._split(Y, mean)
        return self._pairwise(filled, seen.to(mean), mean, variance)

    def log_predictive_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
    ) -> Float[Tensor, "N M"]:
        r"""Give $\log \int p(y | f)\, N(f; m, v)\, df$. It is no objective: it has no slopes by the own parameters."""
        seen, filled = self._split(Y, mean)
        return self._log_predictive(filled, mean, variance).masked_fill(~seen, 0.0)

    def _split(self, Y: Tensor, like: Tensor) -> tuple[Bool[Tensor, "N M"], Float[Tensor, "N M"]]:
        """Tell which entries were seen, and fill the others with 0, which every likelihood allows."""
        seen = self._observed(Y)
        return seen, torch.where(seen, Y, 0.0).to(like)

    def _observed(self, Y: Tensor) -> Bool[Tensor, "N M"]:
        return ~torch.isnan(Y)

    @abstractmethod
    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        """Give `log_density` where nothing is missing."""

    @abstractmethod
    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Give `expected_log_density` where nothing is missing."""

    @abstractmethod
    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Give `pairwise_expected_log_density`; `seen` is 1 or 0, and Y is 0 where it is 0."""

    @abstractmethod
    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Give `log_predictive_density` where nothing is missing."""


class AbstractLikelihood(AbstractDensities):
    """p(y | f): how a view's entries are drawn around the values f of its function."""

    name: ClassVar[str]
    support: ClassVar[Support]
    # Whether E[y | f] = f. Such entries can be centred and scaled; all others are what they are.
    real_valued: ClassVar[bool] = False
    # Whether E[y | f] = e^f, so that f is of the size of log(1 + y).
    log_link: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "AbstractLikelihood":
        """Give a likelihood with parameters to begin training with, from the data."""

    @abstractmethod
    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the constant f that suits every column best, always finite; missing entries are left out."""

    @abstractmethod
    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give mean and variance of y when f ~ N(mean, variance).

        Args:
            mean: the means of f.
            variance: the variances of f.
            include_noise: whether the variance is that of y, or only that of E[y | f].
        """

    @abstractmethod
    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw y given f."""

    def count_entries(self, Y: Float[Tensor, "N M"]) -> int:
        """Give the number of observations among the entries."""
        return sum(int(self._observed(Y[rows]).sum()) for rows in row_blocks(*Y.shape))

    def describe(self) -> dict[str, Tensor]:
        """Give the parameters by name, in plain units; a likelihood without any gives none."""
        return {}


class ColumnMeans(NamedTuple):
    """The mean of what was seen of every column, and how many entries that was, at least one."""

    mean: Float[Tensor, " M"]
    entries: Float[Tensor, " M"]


def column_means(Y: Float[Tensor, "N M"]) -> ColumnMeans:
    """Average what was seen of every column; zero for a column without entries."""
    total, count = Y.new_zeros((2, Y.shape[1]))
    for rows in row_blocks(*Y.shape):
        total += Y[rows].nansum(dim=0)
        count += (~torch.isnan(Y[rows])).sum(dim=0)
    count = count.clamp(min=1)
    return ColumnMeans(total / count, count)
