"""View functions that are linear or quadratic in the latents, with posteriors that can be computed by hand."""

from dataclasses import dataclass

import torch

from mvlvm.inference.view_function import ViewFunction
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.spectral_mixture import FeatureMap
from mvlvm.models.weight_posterior import WeightPosterior
from mvlvm.parameters import raw_positive


@dataclass(frozen=True)
class QuadraticMap(FeatureMap):
    """The features phi(x) = (x, x^2, 1), with elementwise squares."""

    points: None = None
    alpha: None = None

    def __call__(self, X):
        return torch.cat([X, X**2, torch.ones_like(X[:, :1])], dim=1)

    def expectation(self, mean, std):
        return torch.cat([mean, mean**2 + std**2, torch.ones_like(mean[:, :1])], dim=1)

    def with_jacobian(self, X, dtype=None):
        eye = torch.eye(X.shape[1], dtype=X.dtype).expand(len(X), -1, -1)
        jacobian = torch.cat([eye, torch.diag_embed(2 * X), torch.zeros_like(X[:, :, None])], dim=2)
        return self(X), jacobian.to(dtype)

    def double(self):
        return self


def exactly_gaussian(noise_variance):
    """Return a Gaussian likelihood whose noise variance is exact in float64."""
    likelihood = Gaussian(noise_variance).double()
    likelihood.raw_noise_variance.data.fill_(raw_positive(noise_variance))
    return likelihood.requires_grad_(False)


def quadratic_function(linear, square, offset, noise_variance):
    """Return the certain function linear' x + square' x^2 + offset; `linear` and `square` are D x M, `offset` M."""
    weights = torch.cat([linear, square, offset[None]])
    covariance = torch.zeros((len(weights), len(weights)), dtype=torch.float64)
    posterior = WeightPosterior(QuadraticMap(), weights, covariance, torch.ones_like(offset))
    return ViewFunction((posterior,), exactly_gaussian(noise_variance))


def linear_function(loadings, offset, noise_variance):
    """Return f(x) = W x + b with the M x D loadings W of factor analysis."""
    return quadratic_function(loadings.T, torch.zeros_like(loadings.T), offset, noise_variance)
