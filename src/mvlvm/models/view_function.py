"""The function of a fitted view, averaged over several draws of spectral points, and the likelihood around it."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.weight_posterior import AbstractWeightPosterior, Linear, Prediction
from mvlvm.row_blocks import row_blocks


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

    def linearise(self, X: Float[Tensor, "N D"]) -> Linear:
        """Give the function around latents that are known."""
        if len(self.posteriors) == 1:
            return self.posteriors[0].linearise(X)
        N, D, M, n = *X.shape, self.posteriors[0].mean.shape[1], len(self.posteriors)
        mean, second = (X.new_zeros((N, M), dtype=torch.float64) for _ in range(2))
        slopes, second_slopes = (X.new_zeros((D, N, M), dtype=torch.float64) for _ in range(2))
        for posterior in self.posteriors:  # in place: these arrays are large, and many are short-lived
            part = posterior.linearise(X)
            mean.add_(part.mean, alpha=1 / n)
            slopes.add_(part.slopes, alpha=1 / n)
            second.add_(part.variance, alpha=1 / n).addcmul_(part.mean, part.mean, value=1 / n)
            second_slopes.add_(part.variance_slopes, alpha=1 / n).addcmul_(part.mean, part.slopes, value=2 / n)
        variance = second.addcmul_(mean, mean, value=-1).clamp_min_(0)
        return Linear(mean, variance, slopes, second_slopes.addcmul_(mean, slopes, value=-2))

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
            posterior.squared_slopes(X[rows])
            for posterior in self.posteriors
            for rows in row_blocks(len(X), X.shape[1] * len(posterior.mean))
        )
        return strength / strength.sum()

    def of_one_draw(self) -> "ViewFunction":
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


def function_of_columns(function: ViewFunction, columns: Bool[Tensor, " M"]) -> ViewFunction:
    """Give the function of some columns of a view whose likelihood has no parameters of columns."""
    return replace(function, posteriors=tuple(posterior.of_columns(columns) for posterior in function.posteriors))
