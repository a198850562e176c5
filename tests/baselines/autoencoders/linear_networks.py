"""Linear networks with one latent dimension and known evidence, y = w x + b + noise, and their exact posteriors."""

import math

import numpy as np
import torch
from torch import nn

from mvlvm.baselines.autoencoders.base import DiagonalNormal, GaussianDecoder, GaussianEncoder
from mvlvm.likelihoods import Gaussian


def as_linear(weight, bias):
    """Return a float64 linear layer with these weights."""
    layer = nn.Linear(weight.shape[1], weight.shape[0]).double()
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weight))
        layer.bias.copy_(torch.as_tensor(bias))
    return layer


def decoder(w, b, noise_variance):
    """p(y | x) = N(w x + b, s I)."""
    made = GaussianDecoder(as_linear(w[:, None], b))
    made.likelihood = Gaussian(noise_variance)
    return made


def encoder(slope, offset, std):
    """q(x | y) = N(slope' y + offset, std^2)."""
    smallest = 1e-3  # the encoder's lower limit of the standard deviation
    raw_std = math.log(math.expm1(std - smallest))
    return GaussianEncoder(as_linear(np.stack([slope, 0 * slope]), np.array([offset, raw_std])))


def right_expert(w, b, noise_variance, prior_precision):
    """Posterior q(x | y) from N(y; w x + b, s) and a zero-mean normal prior of the given precision."""
    precision = prior_precision + w @ w / noise_variance
    slope = w / noise_variance / precision
    return encoder(slope, -slope @ b, precision**-0.5)


def expected(bound, n_batches=200, seed=0):
    """Return the mean of a stochastic objective and its standard error."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        draws = np.array([bound(generator).item() for _ in range(n_batches)])
    return draws.mean(), draws.std(ddof=1) / math.sqrt(n_batches)


def normals(mean, std):
    return DiagonalNormal(torch.as_tensor(mean, dtype=torch.float64), torch.as_tensor(std, dtype=torch.float64))
