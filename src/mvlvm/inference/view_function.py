r"""The fitted function of a view: its predictions, and the log likelihood of rows under them.

A `ViewFunction` averages the posteriors of the weights over several draws of spectral points and adds the likelihood.

**Log likelihood of rows**, over their observed entries, given the mean and variance of a view's function. A Gaussian
view has the predictive density of y itself,

$$ \log p(y) = -\tfrac12 \sum_{m\ \mathrm{observed}} \Big( \frac{(y_m - f_m)^2}{v_m} + \log 2\pi v_m \Big) $$

with the noise variance included in v. All other views use the expected log density, the same lower bound as in
training. For most likelihoods it is linear in y, so that all pairs of rows and candidate latents are matrix products.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.weight_posterior import AbstractWeightPosterior, Linearisation, Prediction
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


def row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
) -> Float[Tensor, " N"]:
    """Return the Gaussian log density of every row under its own prediction, (N,).

    Args:
        Y: the rows; NaN marks missing entries.
        mean: the predicted means f.
        variance: the predicted variances v.
    """
    terms = (Y - mean).square() / variance + (2 * math.pi * variance).log()
    return -0.5 * terms.masked_fill(torch.isnan(Y), 0.0).sum(dim=1)


def pairwise_row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "A M"], variance: Float[Tensor, "A M"]
) -> Float[Tensor, "N A"]:
    """Return the Gaussian log density of N rows under each of A predictions, (N, A), by matrix products."""
    observed, filled = (~torch.isnan(Y)).to(mean), Y.nan_to_num(nan=0.0).to(mean)
    squares = filled.square() @ (1 / variance).T - 2 * filled @ (mean / variance).T
    return -0.5 * (squares + observed @ (mean.square() / variance + (2 * math.pi * variance).log()).T)


class RowLogLikelihood(NamedTuple):
    """The log likelihood of every row, with derivatives with respect to the mean and variance of f.

    Attributes:
        value: the sum over the observed entries of a row.
        grad_mean: the gradient with respect to the mean of f.
        grad_variance: the gradient with respect to the variance of f.
        neg_hessian: the negative second derivative with respect to the mean of f, clamped at zero.
    """

    value: Float[Tensor, " N"]
    grad_mean: Float[Tensor, "N M"]
    grad_variance: Float[Tensor, "N M"]
    neg_hessian: Float[Tensor, "N M"]


def row_log_likelihood(
    likelihood: AbstractLikelihood, Y: Float[Tensor, "N M"], predicted: Prediction
) -> RowLogLikelihood:
    """Return the log likelihood of every row under its own prediction, with derivatives; NaN marks missing entries."""
    if isinstance(likelihood, Gaussian):
        return _gaussian_row_log_likelihood(Y, predicted.mean, predicted.variance + likelihood.noise_variance)
    with torch.enable_grad():
        mean, variance = (values.detach().requires_grad_() for values in predicted)
        value = likelihood.expected_log_density(Y, mean, variance)
        grad_mean, grad_variance = torch.autograd.grad(value.sum(), (mean, variance))
    # d/dv E[log p] = E[(log p)''] / 2 under N(m, v), and d^2/dm^2 E[log p] = E[(log p)'']
    return RowLogLikelihood(value.detach().sum(dim=1), grad_mean, grad_variance, (-2 * grad_variance).clamp_min(0))


def pairwise_log_likelihood(
    likelihood: AbstractLikelihood, Y: Float[Tensor, "N M"], predicted: Prediction
) -> Float[Tensor, "N A"]:
    """Return the log likelihood of N rows under each of A predictions, (N, A)."""
    if isinstance(likelihood, Gaussian):
        return pairwise_row_log_density(Y, predicted.mean, predicted.variance + likelihood.noise_variance)
    return likelihood.pairwise_expected_log_density(Y, *predicted)


def _gaussian_row_log_likelihood(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
) -> RowLogLikelihood:
    precision = (1 / variance).masked_fill(torch.isnan(Y), 0.0)
    residual = Y.nan_to_num(nan=0.0) - mean
    grad_variance = 0.5 * precision * (residual.square() / variance - 1)
    return RowLogLikelihood(row_log_density(Y, mean, variance), precision * residual, grad_variance, precision)
