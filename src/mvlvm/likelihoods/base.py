r"""The interface of all likelihoods p(y | f).

For each entry of a view, the latent function has either a value f or a normal distribution with mean m and variance v.
A likelihood computes densities and moments of the entries y from them, and samples y. Results are per entry; missing
entries are NaN and contribute zero. A variance of exactly zero means that f is known.

The paper has Gaussian views only [eq:gaussian_elbo_estimate]. For the other likelihoods the expected log density enters
the bound of `evidence/weight_space.py`.
"""

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm.row_blocks import row_blocks, row_sum


class Support(Enum):
    """The set of values that an entry, or a row of one-hot entries, can take."""

    REAL = auto()
    POSITIVE = auto()
    BINARY = auto()
    COUNTS = auto()
    ONE_HOT = auto()


class Response(NamedTuple):
    """Mean and variance of the entries of a view, each N x M."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]


class AbstractLikelihood(nn.Module, ABC):
    """A likelihood p(y | f) of the entries y of a view given the values f of its latent function.

    Attributes:
        name: the name under which users select the likelihood.
        support: the set of values that entries can take.
        real_valued: whether E[y | f] = f; only such entries can be centred and scaled.
        log_link: whether E[y | f] = e^f, so that f is comparable with log(1 + y).
        collapses: whether y is f plus normal noise, so that weights of features can be integrated out in closed form.
    """

    name: ClassVar[str]
    support: ClassVar[Support]
    real_valued: ClassVar[bool] = False
    log_link: ClassVar[bool] = False
    collapses: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "AbstractLikelihood":
        """Return a likelihood with initial parameters estimated from the data."""

    @abstractmethod
    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the constant f that fits the observed entries of each column best, of length M; always finite."""

    @abstractmethod
    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return mean and variance of y for f ~ N(mean, variance), each N x M.

        Args:
            mean: the means of f.
            variance: the variances of f.
            include_noise: whether the variance is that of y, or only that of E[y | f].
        """

    @abstractmethod
    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample y given f, N x M."""

    def count_entries(self, Y: Float[Tensor, "N M"]) -> int:
        """Return the number of observed entries."""
        return row_sum(row_blocks(*Y.shape), lambda rows: (int(self._observed(Y[rows]).sum()),))[0]

    def describe(self) -> dict[str, Tensor]:
        """Return the constrained parameters by name; empty for a likelihood without parameters."""
        return {}

    def absorb_unit(self) -> None:
        """Set the unit of the parameters to one; likelihoods without units are left as they are."""

    @property
    def noise(self) -> Tensor | None:
        """The variance of the noise if y is f plus normal noise; None otherwise."""
        return self.describe()["noise_variance"] if self.collapses else None

    def log_density(self, Y: Float[Tensor, "N M"], f: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        """Return log p(y | f), N x M; zero at missing entries."""
        observed, filled = self._split(Y, f)
        return self._log_density(filled, f).masked_fill(~observed, 0.0)

    def expected_log_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
    ) -> Float[Tensor, "N M"]:
        """Return E log p(y | f) over f ~ N(mean, variance), N x M; zero at missing entries.

        Differentiable with respect to mean, variance and the parameters of the likelihood.
        """
        observed, filled = self._split(Y, mean)
        return self._expected(filled, mean, variance).masked_fill(~observed, 0.0)

    def pairwise_expected_log_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "A M"], variance: Float[Tensor, "A M"]
    ) -> Float[Tensor, "N A"]:
        """Return the expected log density of the observed entries of each row under each of A predictions, N x A."""
        observed, filled = self._split(Y, mean)
        return self._pairwise(filled, observed.to(mean), mean, variance)

    def log_predictive_density(
        self, Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
    ) -> Float[Tensor, "N M"]:
        r"""Return $\log \int p(y | f)\, N(f; m, v)\, df$, N x M; zero at missing entries.

        Not a training objective: it is not differentiated with respect to the parameters of the likelihood.
        """
        observed, filled = self._split(Y, mean)
        return self._log_predictive(filled, mean, variance).masked_fill(~observed, 0.0)

    def _split(self, Y: Tensor, like: Tensor) -> tuple[Bool[Tensor, "N M"], Float[Tensor, "N M"]]:
        """Return the mask of observed entries, and Y with zeros, which every likelihood allows, at missing entries."""
        observed = self._observed(Y)
        return observed, torch.where(observed, Y, 0.0).to(like)

    def _observed(self, Y: Tensor) -> Bool[Tensor, "N M"]:
        return ~torch.isnan(Y)

    @abstractmethod
    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        """Return `log_density` for complete data."""

    @abstractmethod
    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Return `expected_log_density` for complete data."""

    @abstractmethod
    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Return `pairwise_expected_log_density`; `observed` is 1 or 0, and Y is 0 where it is 0."""

    @abstractmethod
    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Return `log_predictive_density` for complete data."""


class ColumnMeans(NamedTuple):
    """The mean of the observed entries of each column, and their number, at least one."""

    mean: Float[Tensor, " M"]
    n_observed: Float[Tensor, " M"]


def column_means(Y: Float[Tensor, "N M"]) -> ColumnMeans:
    """Return the mean of the observed entries of each column; zero for a column without any."""

    def term(rows: slice) -> tuple[Float[Tensor, " M"], Float[Tensor, " M"]]:
        return Y[rows].nansum(dim=0), (~torch.isnan(Y[rows])).sum(dim=0).to(Y)

    total, count = row_sum(row_blocks(*Y.shape), term)
    count = count.clamp(min=1)
    return ColumnMeans(total / count, count)
