"""The weights of a view's features after training, and what they predict of its function."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.linalg.cholesky import cholesky
from mvlvm.models.feature_map import FeatureMap


class Prediction(NamedTuple):
    """The mean and variance of a view's function f at every entry."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]


class Linear(NamedTuple):
    """A function around some latents: its mean and variance there, and the slopes of both."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]
    slopes: Float[Tensor, "D N M"]
    variance_slopes: Float[Tensor, "D N M"]


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
    def _variance_slopes(self, Phi: Float[Tensor, "N F"], slopes: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        """Give the derivatives of phi' Sigma_m phi."""

    @abstractmethod
    def _coloured(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Turn standard normal numbers into deviations with the covariances Sigma_m."""

    @abstractmethod
    def of_columns(self, columns: Bool[Tensor, " M"]) -> "AbstractWeightPosterior":
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
        weights = self.mean + self._coloured(eps)
        return lambda X: self.features(X).double() @ weights

    def squared_slopes(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        r"""Give $\sum_{nm} (\partial f_{nm} / \partial x_{nd})^2$ for every dimension, without any N x M array."""
        _, slopes = self.features.with_slopes(X)
        F, M = self.mean.shape
        if M < F:
            return torch.stack([(slope.double() @ self.mean).square().sum() for slope in slopes])
        gram = self.mean @ self.mean.T
        return torch.stack([((slope.double() @ gram) * slope).sum() for slope in slopes])

    def linearise(self, X: Float[Tensor, "N D"]) -> Linear:
        """Give the function around latents that are known."""
        Phi, slopes = (features.double() for features in self.features.with_slopes(X))
        return Linear(Phi @ self.mean, self._variance(Phi), slopes @ self.mean, self._variance_slopes(Phi, slopes))


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

    def _variance_slopes(self, Phi: Float[Tensor, "N F"], slopes: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        return 2 * (slopes * (Phi @ self.covariance)).sum(dim=2, keepdim=True) * self.inflation

    def of_columns(self, columns: Bool[Tensor, " M"]) -> "WeightPosterior":
        """Give the weights of some columns."""
        return replace(self, mean=self.mean[:, columns], inflation=self.inflation[columns])

    def _coloured(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
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

    def _variance_slopes(self, Phi: Float[Tensor, "N F"], slopes: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        return 2 * ((slopes @ self.basis) * (Phi @ self.basis)) @ self.spread

    def of_columns(self, columns: Bool[Tensor, " M"]) -> "ColumnPosterior":
        """Give the weights of some columns."""
        return replace(self, mean=self.mean[:, columns], spread=self.spread[:, columns])

    def _coloured(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.basis @ (self.spread.sqrt() * eps)
