r"""The posterior of a view's feature weights after training, and predictions of the view's function.

For one draw of spectral points the function of column m is $f_m = \Phi w_m$ with weights $w_m \sim N(B_m, \Sigma_m)$. A
`ViewFunction` averages over several draws of spectral points and adds the likelihood.
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
    """The mean and variance of a function at some latents, and the Jacobians of both."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]
    jacobian: Float[Tensor, "D N M"]
    variance_jacobian: Float[Tensor, "D N M"]


@dataclass(frozen=True)
class AbstractWeightPosterior(ABC):
    r"""The posterior of a view for one draw of spectral points: $f = \Phi w$ with $w_m \sim N(B_m, \Sigma_m)$.

    Attributes:
        features: the feature map phi.
        mean: the posterior means B of the weights, one column per column of the view.
    """

    features: FeatureMap
    mean: Float[Tensor, "F M"]

    @abstractmethod
    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        """Return phi' Sigma_m phi, (N, M)."""

    @abstractmethod
    def _variance_jacobian(self, Phi: Float[Tensor, "N F"], jacobian: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        """Return the derivatives of phi' Sigma_m phi with respect to the latents, (D, N, M)."""

    @abstractmethod
    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Transform standard normal draws into draws of N(0, Sigma_m), (F, M)."""

    @abstractmethod
    def select_columns(self, columns: Bool[Tensor, " M"]) -> "AbstractWeightPosterior":
        """Return the posterior of some columns."""

    def mean_at(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        r"""Return the expected function at Gaussian latents, $E[\phi]^\top B$ in closed form, (N, M)."""
        return self.features.expectation(mean, std).double() @ self.mean

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        r"""Return the mean and variance of the view's function at Gaussian latents, each (N, M).

        The mean is exact. The variance is the sum of that of the weights, $E[\phi^\top \Sigma \phi]$, and that of the
        latents, $\operatorname{Var}[\phi^\top B]$, both averaged over `draws` of the latents.
        """
        center = self.mean_at(mean, std)
        variance = torch.zeros_like(center)
        for X in draws:
            Phi = self.features(X).double()
            of_latent = (Phi @ self.mean - center).square()
            variance = variance + (self._variance(Phi) + of_latent) / len(draws)
        return Prediction(center, variance)

    def draw(self, generator: torch.Generator) -> Callable[[Float[Tensor, "N D"]], Float[Tensor, "N M"]]:
        """Draw a function of the view, which maps latents (N, D) to values (N, M)."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        weights = self.mean + self._correlate(eps)
        return lambda X: self.features(X).double() @ weights

    def squared_jacobian_norms(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        r"""Return $\sum_{nm} (\partial f_{nm} / \partial x_{nd})^2$ for every d, (D,), without N x M arrays."""
        _, jacobian = self.features.with_jacobian(X)
        F, M = self.mean.shape
        if M < F:
            return torch.stack([(partial.double() @ self.mean).square().sum() for partial in jacobian])
        gram = self.mean @ self.mean.T
        return torch.stack([((partial.double() @ gram) * partial).sum() for partial in jacobian])

    def linearise(self, X: Float[Tensor, "N D"]) -> Linearisation:
        """Linearise the function around latents without uncertainty."""
        Phi, jacobian = (features.double() for features in self.features.with_jacobian(X))
        return Linearisation(
            Phi @ self.mean, self._variance(Phi), jacobian @ self.mean, self._variance_jacobian(Phi, jacobian)
        )


@dataclass(frozen=True)
class WeightPosterior(AbstractWeightPosterior):
    """The posterior of a Gaussian view: the covariances of all columns are proportional to each other.

    Attributes:
        covariance: the common covariance.
        inflation: the factor of the covariance in each column; one if no entries are missing.
    """

    covariance: Float[Tensor, "F F"]
    inflation: Float[Tensor, " M"]

    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        return ((Phi @ self.covariance) * Phi).sum(dim=1, keepdim=True) * self.inflation

    def _variance_jacobian(self, Phi: Float[Tensor, "N F"], jacobian: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        return 2 * (jacobian * (Phi @ self.covariance)).sum(dim=2, keepdim=True) * self.inflation

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "WeightPosterior":
        """Return the posterior of some columns."""
        return replace(self, mean=self.mean[:, columns], inflation=self.inflation[columns])

    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.inflation.sqrt() * (cholesky(self.covariance) @ eps)


@dataclass(frozen=True)
class ColumnPosterior(AbstractWeightPosterior):
    """The posterior of a non-Gaussian view: the covariances of all columns have the same eigenvectors.

    Attributes:
        basis: the eigenvectors.
        spread: the eigenvalues of every column's covariance.
    """

    basis: Float[Tensor, "F F"]
    spread: Float[Tensor, "F M"]

    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        return (Phi @ self.basis).square() @ self.spread

    def _variance_jacobian(self, Phi: Float[Tensor, "N F"], jacobian: Float[Tensor, "D N F"]) -> Float[Tensor, "D N M"]:
        return 2 * ((jacobian @ self.basis) * (Phi @ self.basis)) @ self.spread

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "ColumnPosterior":
        """Return the posterior of some columns."""
        return replace(self, mean=self.mean[:, columns], spread=self.spread[:, columns])

    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.basis @ (self.spread.sqrt() * eps)


@dataclass(frozen=True)
class ViewFunction:
    """The fitted function of a view, a mixture over draws of spectral points.

    Attributes:
        posteriors: the posterior of the weights for each draw of spectral points.
        likelihood: the likelihood of entries given the function.
    """

    posteriors: tuple[AbstractWeightPosterior, ...]
    likelihood: AbstractLikelihood

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        """Return the mean and variance of the function at Gaussian latents, each (N, M).

        Args:
            mean: the latents' means.
            std: their standard deviations.
            draws: draws of the latents, for the variance.
        """
        center, second, n = self._mean_at(mean, std), 0.0, len(self.posteriors)
        for posterior in self.posteriors:  # law of total variance
            part = posterior.predict(mean, std, draws)
            second = second + (part.variance + part.mean.square()) / n
        return Prediction(center, (second - center.square()).clamp_min(0))

    def linearise(self, X: Float[Tensor, "N D"]) -> Linearisation:
        """Linearise the function around latents without uncertainty."""
        if len(self.posteriors) == 1:
            return self.posteriors[0].linearise(X)
        N, D, M, n = *X.shape, self.posteriors[0].mean.shape[1], len(self.posteriors)
        mean, second = (X.new_zeros((N, M), dtype=torch.float64) for _ in range(2))
        jacobian, second_jacobian = (X.new_zeros((D, N, M), dtype=torch.float64) for _ in range(2))
        for posterior in self.posteriors:  # in place, because these arrays are large
            part = posterior.linearise(X)
            mean.add_(part.mean, alpha=1 / n)
            jacobian.add_(part.jacobian, alpha=1 / n)
            second.add_(part.variance, alpha=1 / n).addcmul_(part.mean, part.mean, value=1 / n)
            second_jacobian.add_(part.variance_jacobian, alpha=1 / n).addcmul_(part.mean, part.jacobian, value=2 / n)
        variance = second.addcmul_(mean, mean, value=-1).clamp_min_(0)
        return Linearisation(mean, variance, jacobian, second_jacobian.addcmul_(mean, jacobian, value=-2))

    def sample(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw rows at latents, (N, M); each row uses the function of one random spectral draw."""
        functions = [posterior.draw(generator) for posterior in self.posteriors]
        which = torch.randint(len(functions), (len(X),), generator=generator, device=X.device)
        drawn = X.new_empty((len(X), self.posteriors[0].mean.shape[1]), dtype=torch.float64)
        for rows in row_blocks(len(X), max(self.posteriors[0].mean.shape)):
            f = functions[0](X[rows])
            for k, function in enumerate(functions[1:], start=1):
                selected = which[rows] == k
                f[selected] = function(X[rows][selected])
            drawn[rows] = self.likelihood.sample(f, generator)
        return drawn

    def entries(
        self,
        mean: Float[Tensor, "N D"],
        std: Float[Tensor, "N D"],
        draws: Sequence[Float[Tensor, "N D"]] | None = None,
    ) -> Float[Tensor, "N M"]:
        """Return the expected entries at Gaussian latents, (N, M).

        Args:
            mean: the latents' means.
            std: their standard deviations.
            draws: draws of the latents, for likelihoods whose mean is not linear in f; None uses the means only.
        """
        if self.likelihood.real_valued:
            return self._mean_at(mean, std)
        return self.likelihood.respond(*self.predict(mean, std, [mean] if draws is None else draws)).mean

    def relevance(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        """Return the relevance of latent dimensions, (D,): squared derivatives times latent variance, normalised."""
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
        """Return the function of the first spectral draw, a cheaper approximation."""
        return ViewFunction(self.posteriors[:1], self.likelihood)

    def double(self) -> "ViewFunction":
        """Return the same function with features and likelihood in float64."""
        posteriors = (replace(posterior, features=posterior.features.double()) for posterior in self.posteriors)
        return ViewFunction(tuple(posteriors), copy.deepcopy(self.likelihood).double())

    def _mean_at(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the expected function, the average over all spectral draws in a single matrix product, (N, M)."""
        Phi = torch.cat([posterior.features.expectation(mean, std) for posterior in self.posteriors], dim=1)
        return Phi.double() @ torch.cat([posterior.mean for posterior in self.posteriors]) / len(self.posteriors)


@dataclass(frozen=True)
class ViewEntries:
    """The entries of a fitted view, for averages over posteriors with several modes.

    A single Gaussian for f over all modes suffices for entries that are nearly linear in f. Counts are not: with two
    modes, e^(m + v / 2) can be twice the average over both.

    Attributes:
        function: the function of the view.
        include_noise: whether variances are those of entries, or of their expectations.
    """

    function: ViewFunction
    include_noise: bool

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        """Return mean and variance of entries at Gaussian latents, each (N, M); see `ViewFunction.predict`."""
        predicted = self.function.predict(mean, std, draws)
        return Prediction(*self.function.likelihood.respond(*predicted, include_noise=self.include_noise))
