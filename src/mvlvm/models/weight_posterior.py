"""The weights of a view's features after training, and what they predict of its function.

The function of a fitted view, averaged over several draws of spectral points, and the likelihood around it.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.linalg.cholesky import cholesky
from mvlvm.models.spectral_mixture import FeatureMap
from mvlvm.row_blocks import row_blocks


class Prediction(NamedTuple):
    """The mean and variance of a view's function f at every entry."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]


class Linearisation(NamedTuple):
    """A function around some latents: its mean and variance there, and the slopes of both."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]
    jacobian: Float[Tensor, "D N M"]
    variance_jacobian: Float[Tensor, "D N M"]


@dataclass(frozen=True)
class AbstractWeightPosterior(ABC):
    r"""What one draw of spectral points knows about a view: $f = \Phi w$ with $w_m \sim N(B_m, \Sigma_m)$.

    Attributes:
        features: the feature map phi.
        mean: the posterior means B of the weights of every column.
    """

    features: FeatureMap
    mean: Float[Tensor, "F M"]

    @abstractmethod
    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        """Give phi' Sigma_m phi."""

    @abstractmethod
    def _variance_jacobian(self, Phi: Float[Tensor, "N F"], slopes: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        """Give the derivatives of phi' Sigma_m phi."""

    @abstractmethod
    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Turn standard normal numbers into deviations with the covariances Sigma_m."""

    @abstractmethod
    def select_columns(self, columns: Bool[Tensor, " M"]) -> "AbstractWeightPosterior":
        """Give the weights of some columns."""

    def mean_at(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        r"""Give the expected function values at normally distributed latents, $E[\phi]^\top B$, exactly."""
        return self.features.expectation(mean, std).double() @ self.mean

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        r"""Predict the view's function at normally distributed latents.

        The mean is exact. The variance has two parts, of the weights $E[\phi^\top \Sigma \phi]$ and of the latent
        $\operatorname{Var}[\phi^\top B]$, averaged over `draws` of the latents.
        """
        center = self.mean_at(mean, std)
        variance = torch.zeros_like(center)
        for X in draws:
            Phi = self.features(X).double()
            of_latent = (Phi @ self.mean - center).square()
            variance = variance + (self._variance(Phi) + of_latent) / len(draws)
        return Prediction(center, variance)

    def draw(self, generator: torch.Generator) -> Callable[[Float[Tensor, "N D"]], Float[Tensor, "N M"]]:
        """Draw one function of the view."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        weights = self.mean + self._correlate(eps)
        return lambda X: self.features(X).double() @ weights

    def squared_jacobian_norms(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        r"""Give $\sum_{nm} (\partial f_{nm} / \partial x_{nd})^2$ for every dimension, without any N x M array."""
        _, slopes = self.features.with_jacobian(X)
        F, M = self.mean.shape
        if M < F:
            return torch.stack([(slope.double() @ self.mean).square().sum() for slope in slopes])
        gram = self.mean @ self.mean.T
        return torch.stack([((slope.double() @ gram) * slope).sum() for slope in slopes])

    def linearise(self, X: Float[Tensor, "N D"]) -> Linearisation:
        """Give the function around latents that are known."""
        Phi, slopes = (features.double() for features in self.features.with_jacobian(X))
        return Linearisation(
            Phi @ self.mean, self._variance(Phi), slopes @ self.mean, self._variance_jacobian(Phi, slopes)
        )


@dataclass(frozen=True)
class WeightPosterior(AbstractWeightPosterior):
    """Weights whose covariance is the same in every column but for a factor: those of Gaussian views.

    Attributes:
        covariance: the common covariance.
        inflation: what it is to be multiplied by in each column; one where nothing is hidden.
    """

    covariance: Float[Tensor, "F F"]
    inflation: Float[Tensor, " M"]

    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        return ((Phi @ self.covariance) * Phi).sum(dim=1, keepdim=True) * self.inflation

    def _variance_jacobian(self, Phi: Float[Tensor, "N F"], slopes: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        return 2 * (slopes * (Phi @ self.covariance)).sum(dim=2, keepdim=True) * self.inflation

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "WeightPosterior":
        """Give the weights of some columns."""
        return replace(self, mean=self.mean[:, columns], inflation=self.inflation[columns])

    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.inflation.sqrt() * (cholesky(self.covariance) @ eps)


@dataclass(frozen=True)
class ColumnPosterior(AbstractWeightPosterior):
    """Weights whose covariances share their eigenvectors only: those of the other views.

    Attributes:
        basis: the eigenvectors.
        spread: the eigenvalues of every column's covariance.
    """

    basis: Float[Tensor, "F F"]
    spread: Float[Tensor, "F M"]

    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        return (Phi @ self.basis).square() @ self.spread

    def _variance_jacobian(self, Phi: Float[Tensor, "N F"], slopes: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        return 2 * ((slopes @ self.basis) * (Phi @ self.basis)) @ self.spread

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "ColumnPosterior":
        """Give the weights of some columns."""
        return replace(self, mean=self.mean[:, columns], spread=self.spread[:, columns])

    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.basis @ (self.spread.sqrt() * eps)


@dataclass(frozen=True)
class ViewFunction:
    """What a fit knows about a view.

    Attributes:
        posteriors: the weights for each of several draws of spectral points.
        likelihood: how entries are drawn around the function.
    """

    posteriors: tuple[AbstractWeightPosterior, ...]
    likelihood: AbstractLikelihood

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        """Predict the function at normally distributed latents.

        Args:
            mean: the latents' means.
            std: their standard deviations.
            draws: draws of the latents, for the variance.
        """
        center, second, n = self._mean_at(mean, std), 0.0, len(self.posteriors)
        for posterior in self.posteriors:  # joined one by one, by the law of total variance
            part = posterior.predict(mean, std, draws)
            second = second + (part.variance + part.mean.square()) / n
        return Prediction(center, (second - center.square()).clamp_min(0))

    def linearise(self, X: Float[Tensor, "N D"]) -> Linearisation:
        """Give the function around latents that are known."""
        if len(self.posteriors) == 1:
            return self.posteriors[0].linearise(X)
        N, D, M, n = *X.shape, self.posteriors[0].mean.shape[1], len(self.posteriors)
        mean, second = (X.new_zeros((N, M), dtype=torch.float64) for _ in range(2))
        slopes, second_slopes = (X.new_zeros((D, N, M), dtype=torch.float64) for _ in range(2))
        for posterior in self.posteriors:  # in place: these arrays are large, and many are short-lived
            part = posterior.linearise(X)
            mean.add_(part.mean, alpha=1 / n)
            slopes.add_(part.jacobian, alpha=1 / n)
            second.add_(part.variance, alpha=1 / n).addcmul_(part.mean, part.mean, value=1 / n)
            second_slopes.add_(part.variance_jacobian, alpha=1 / n).addcmul_(part.mean, part.jacobian, value=2 / n)
        variance = second.addcmul_(mean, mean, value=-1).clamp_min_(0)
        return Linearisation(mean, variance, slopes, second_slopes.addcmul_(mean, slopes, value=-2))

    def sample(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw rows at latents; each takes the function of one of the spectral draws."""
        functions = [posterior.draw(generator) for posterior in self.posteriors]
        which = torch.randint(len(functions), (len(X),), generator=generator, device=X.device)
        drawn = X.new_empty((len(X), self.posteriors[0].mean.shape[1]), dtype=torch.float64)
        for rows in row_blocks(len(X), max(self.posteriors[0].mean.shape)):
            f = functions[0](X[rows])
            for k, function in enumerate(functions[1:], start=1):
                mine = which[rows] == k
                f[mine] = function(X[rows][mine])
            drawn[rows] = self.likelihood.sample(f, generator)
        return drawn

    def entries(
        self,
        mean: Float[Tensor, "N D"],
        std: Float[Tensor, "N D"],
        draws: Sequence[Float[Tensor, "N D"]] | None = None,
    ) -> Float[Tensor, "N M"]:
        """Give the expected entries at normally distributed latents.

        Args:
            mean: the latents' means.
            std: their standard deviations.
            draws: draws of the latents, for entries that are no linear function of f; None takes the means for certain.
        """
        if self.likelihood.real_valued:
            return self._mean_at(mean, std)
        return self.likelihood.respond(*self.predict(mean, std, [mean] if draws is None else draws)).mean

    def relevance(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        """Give the share of each latent dimension in the view's variation: its squared slopes times its spread."""
        strength = X.double().var(dim=0) * sum(
            posterior.squared_jacobian_norms(X[rows])
            for posterior in self.posteriors
            for rows in row_blocks(len(X), X.shape[1] * len(posterior.mean))
        )
        return strength / strength.sum()

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "ViewFunction":
        """Return the function of some columns; the likelihood must have no parameters per column."""
        return replace(self, posteriors=tuple(posterior.select_columns(columns) for posterior in self.posteriors))

    def first_draw(self) -> "ViewFunction":
        """Give a rougher function that costs less: that of the first spectral draw."""
        return ViewFunction(self.posteriors[:1], self.likelihood)

    def double(self) -> "ViewFunction":
        """Give the same function with features and likelihood in float64."""
        posteriors = (replace(posterior, features=posterior.features.double()) for posterior in self.posteriors)
        return ViewFunction(tuple(posteriors), copy.deepcopy(self.likelihood).double())

    def _mean_at(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the expected function, the average over all spectral draws as one product."""
        Phi = torch.cat([posterior.features.expectation(mean, std) for posterior in self.posteriors], dim=1)
        return Phi.double() @ torch.cat([posterior.mean for posterior in self.posteriors]) / len(self.posteriors)


@dataclass(frozen=True)
class ViewEntries:
    """The entries of a fitted view, for averages over places that are far apart.

    One normal distribution of f for all places does for entries that are nearly straight in f. Counts are not: where
    rows may lie in two places, e^(m + v / 2) can be twice the mean of both.

    Attributes:
        function: of the view.
        include_noise: whether variances are those of entries, or those of their means.
    """

    function: ViewFunction
    include_noise: bool

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        """Predict entries at normally distributed latents; arguments as for `ViewFunction.predict`."""
        predicted = self.function.predict(mean, std, draws)
        return Prediction(*self.function.likelihood.respond(*predicted, include_noise=self.include_noise))
