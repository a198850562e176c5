"""The fitted function of a view: its predictions and their derivatives with respect to the latents.

A `ViewFunction` averages the posteriors of the weights over several draws of spectral points and adds the likelihood.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.weight_posterior import AbstractWeightPosterior, Prediction
from mvlvm.row_blocks import row_blocks, row_sum


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
        if len(self.posteriors) == 1:
            return self.posteriors[0].predict(mean, std, draws)
        center = self._mean_at(mean, std)
        variance = torch.zeros_like(center)
        for posterior in self.posteriors:  # law of total variance, in place because these arrays are large
            part = posterior.predict(mean, std, draws)
            deviation = part.mean.sub_(center)
            variance.add_(part.variance.addcmul_(deviation, deviation), alpha=1 / len(self.posteriors))
        return Prediction(center, variance)

    def linearise(self, X: Float[Tensor, "N D"], jacobian_dtype: torch.dtype = torch.float64) -> "Linearisation":
        """Linearise the function around latents without uncertainty."""
        features = (posterior.features.with_jacobian(X, jacobian_dtype) for posterior in self.posteriors)
        Phis, jacobians = zip(*((Phi.double(), jacobian) for Phi, jacobian in features), strict=True)
        parts = [posterior.moments(Phi) for posterior, Phi in zip(self.posteriors, Phis, strict=True)]
        return Linearisation(self.posteriors, Phis, jacobians, parts, _mixture_moments(parts))

    def sample(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw rows at latents, (N, M); each row uses the function of one random spectral draw."""
        functions = [posterior.draw(generator) for posterior in self.posteriors]
        which = torch.randint(len(functions), (len(X),), generator=generator, device=X.device)
        drawn = X.new_empty((len(X), self.posteriors[0].mean.shape[1]), dtype=torch.float64)
        for rows in prediction_blocks(self, len(X)):
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
        blocks = row_blocks(len(X), X.shape[1] * len(self.posteriors[0].mean))

        def term(rows: slice) -> tuple[Float[Tensor, " D"]]:
            return (torch.as_tensor(sum(posterior.squared_jacobian_norms(X[rows]) for posterior in self.posteriors)),)

        strength = X.double().var(dim=0) * row_sum(blocks, term)[0]
        return strength / strength.sum()

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


def _mixture_moments(parts: Sequence[Prediction]) -> Prediction:
    """Return mean and variance of an equal mixture, by the law of total variance."""
    if len(parts) == 1:
        return parts[0]
    mean = sum(part.mean for part in parts[1:]) + parts[0].mean
    mean = mean / len(parts)
    variance = torch.zeros_like(mean)
    for part in parts:
        variance.add_(part.variance, alpha=1 / len(parts))
        difference = part.mean - mean
        variance.addcmul_(difference, difference, value=1 / len(parts))
    return Prediction(mean, variance)


@dataclass(frozen=True)
class Linearisation:
    """A view's function and its derivatives at some latents.

    Attributes:
        posteriors: the posteriors of the weights.
        Phis: the features of each.
        jacobians: the derivatives of the features with respect to the latents.
        parts: the moments of the function for each posterior.
        moments: the mean and variance of the function.
    """

    posteriors: Sequence[AbstractWeightPosterior]
    Phis: Sequence[Float[Tensor, "N F"]]
    jacobians: Sequence[Float[Tensor, "N D F"]]
    parts: Sequence[Prediction]
    moments: Prediction

    def mean_jacobian(self) -> Float[Tensor, "N D M"]:
        """Return the derivatives of the mean with respect to the latents, all draws in a single matrix product."""
        if len(self.posteriors) == 1:
            return self.jacobians[0] @ self.posteriors[0].mean.to(self.jacobians[0])
        weights = torch.cat([posterior.mean for posterior in self.posteriors]) / len(self.posteriors)
        return torch.cat(list(self.jacobians), dim=2) @ weights.to(self.jacobians[0])

    def gradient(self, of_mean: Float[Tensor, "N M"], of_variance: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the gradient with respect to the latents by the chain rule.

        Args:
            of_mean: the gradient with respect to the mean.
            of_variance: the gradient with respect to the variance.
        """
        total = torch.zeros_like(self.jacobians[0][:, :, 0])
        for posterior, Phi, jacobian, part in zip(self.posteriors, self.Phis, self.jacobians, self.parts, strict=True):
            of_part = Prediction(of_mean + 2 * of_variance * (part.mean - self.moments.mean), of_variance)
            of_features = posterior.moments_gradient(Phi, of_part)
            total += (jacobian * of_features.to(jacobian)[:, None]).sum(dim=2) / len(self.posteriors)
        return total


def prediction_blocks(function: ViewFunction, n_rows: int) -> list[slice]:
    """Split rows into blocks for predictions of a view."""
    return row_blocks(n_rows, max(function.posteriors[0].mean.shape))


def select_columns(function: ViewFunction, columns: Bool[Tensor, " M"]) -> ViewFunction:
    """Return the function of some columns of a view whose likelihood has no parameters per column."""
    return replace(function, posteriors=tuple(posterior.select_columns(columns) for posterior in function.posteriors))


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
