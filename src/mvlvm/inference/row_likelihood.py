r"""The log density of rows with gaps under normal predictions, over what was seen of them.

$$ \log p(y) = -\tfrac12 \sum_{m\ \mathrm{seen}} \Big( \frac{(y_m - f_m)^2}{v_m} + \log 2\pi v_m \Big) $$

How well latents explain new rows: the log likelihood of rows under predictions of a view's function.

A Gaussian view has the density of y itself, N(y; m, v + s). For all others the expected log density stands for it, the
same lower bound that training raises; of most it is linear in y, so that many rows at many places are products of
matrices.
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
    """Give the log density of every row under a prediction of its own.

    Args:
        Y: the rows; NaN is missing.
        mean: the predicted means f.
        variance: the predicted variances v.
    """
    terms = (Y - mean).square() / variance + (2 * math.pi * variance).log()
    return -0.5 * terms.masked_fill(torch.isnan(Y), 0.0).sum(dim=1)


def pairwise_row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "A M"], variance: Float[Tensor, "A M"]
) -> Float[Tensor, "N A"]:
    """Give the log density of every row under every one of A predictions, by products of matrices alone."""
    seen, filled = (~torch.isnan(Y)).to(mean), Y.nan_to_num(nan=0.0).to(mean)
    squares = filled.square() @ (1 / variance).T - 2 * filled @ (mean / variance).T
    return -0.5 * (squares + seen @ (mean.square() / variance + (2 * math.pi * variance).log()).T)


class RowLogLikelihood(NamedTuple):
    """The log likelihood of every row, and how it depends on the mean and variance of f at every entry.

    Attributes:
        value: summed over what was seen of a row.
        by_mean: its slope by the mean of f.
        by_variance: its slope by the variance of f.
        curvature: its curvature by the mean of f with the sign turned, never negative.
    """

    value: Float[Tensor, " N"]
    by_mean: Float[Tensor, "N M"]
    by_variance: Float[Tensor, "N M"]
    curvature: Float[Tensor, "N M"]


def row_log_likelihood(
    likelihood: AbstractLikelihood, Y: Float[Tensor, "N M"], predicted: Prediction
) -> RowLogLikelihood:
    """Give the log likelihood of every row under a prediction of its own, and its slopes; NaN is missing."""
    if isinstance(likelihood, Gaussian):
        return _gaussian_row_log_likelihood(Y, predicted.mean, predicted.variance + likelihood.noise_variance)
    with torch.enable_grad():
        mean, variance = (values.detach().requires_grad_() for values in predicted)
        value = likelihood.expected_log_density(Y, mean, variance)
        by_mean, by_variance = torch.autograd.grad(value.sum(), (mean, variance))
    return RowLogLikelihood(value.detach().sum(dim=1), by_mean, by_variance, (-2 * by_variance).clamp_min(0))


def pairwise_log_likelihood(
    likelihood: AbstractLikelihood, Y: Float[Tensor, "N M"], predicted: Prediction
) -> Float[Tensor, "N A"]:
    """Give the log likelihood of every row under every one of A predictions."""
    if isinstance(likelihood, Gaussian):
        return pairwise_row_log_density(Y, predicted.mean, predicted.variance + likelihood.noise_variance)
    return likelihood.pairwise_expected_log_density(Y, *predicted)


def _gaussian_row_log_likelihood(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
) -> RowLogLikelihood:
    precision = (1 / variance).masked_fill(torch.isnan(Y), 0.0)
    residual = Y.nan_to_num(nan=0.0) - mean
    by_variance = 0.5 * precision * (residual.square() / variance - 1)
    return RowLogLikelihood(row_log_density(Y, mean, variance), precision * residual, by_variance, precision)
