r"""Log likelihood of rows, over their observed entries, given the mean and variance of a view's function.

A Gaussian view has the predictive density of y itself,

$$ \log p(y) = -\tfrac12 \sum_{m\ \mathrm{observed}} \Big( \frac{(y_m - f_m)^2}{v_m} + \log 2\pi v_m \Big) $$

with the noise variance included in v. All other views use the expected log density, the same lower bound as in
training. For most likelihoods it is linear in y, so that all pairs of rows and candidate latents are matrix products.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.weight_posterior import Prediction


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
