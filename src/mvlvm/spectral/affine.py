r"""Frequencies of random features as affine functions of base draws, and the vector-Jacobian product of this map.

Carriers s = (w_1 + w_2) / 2 and envelopes d = (w_1 - w_2) / 2 are affine in the standard normal draws of Prop. 1:

$$ w_1 = \mu_1 + \sigma_1 \epsilon_1, \qquad
   w_2 = \mu_2 + \rho \sigma_2 \epsilon_1 + \sqrt{1 - \rho^2}\, \sigma_2 \epsilon_2 $$

so a density of Q components is a few small matrices of coefficients, and differentiating it takes sums over the draws
and operations on these matrices. A training step needs them in every view. They are far too small for a tensor library,
whose calls take longer than the arithmetic: on a CPU they are numpy arrays, on a GPU tensors, and the functions below
accept both. Arrays are stacked so that there are few calls.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.parameters import MAX_CORRELATION, Gradients
from mvlvm.spectral.blocks import FrequencyGradients
from mvlvm.spectral.features import Frequencies

Array = Tensor | np.ndarray


class DensityGradients(NamedTuple):
    """Gradients with respect to the unconstrained parameters of a bivariate mixture, but its weights."""

    mu1: Float[Array, "Q D"]
    mu2: Float[Array, "Q D"]
    raw_sigma1: Float[Array, "Q D"]
    raw_sigma2: Float[Array, "Q D"]
    raw_rho: Float[Array, " Q"]


def as_small_arrays(*tensors: Tensor) -> tuple[Any, list[Array]]:
    """Return the library that small arrays are computed with, and the tensors as its arrays, without autograd."""
    if tensors[0].is_cuda:
        return torch, [tensor.detach() for tensor in tensors]
    return np, [tensor.detach().numpy() for tensor in tensors]


def as_gradients(parameters: list[nn.Parameter], arrays: list[Array]) -> Gradients:
    """Return parameter -> its gradient as a tensor."""
    tensors = [torch.from_numpy(array) if isinstance(array, np.ndarray) else array for array in arrays]
    return dict(zip(parameters, tensors, strict=True))


def softplus(raw: Float[Array, "*s"], xp: Any) -> Float[Array, "*s"]:
    """Return log(1 + e^raw), in the same shape."""
    return xp.logaddexp(raw, xp.zeros_like(raw))


def sigmoid(raw: Float[Array, "*s"], xp: Any) -> Float[Array, "*s"]:
    """Return the derivative of `softplus`; without overflow."""
    return 0.5 * (1 + xp.tanh(0.5 * raw))


class BivariateCoefficients:
    """Coefficients of carriers and envelopes of a bivariate mixture.

    Args:
        raw: unconstrained parameters: mu1, mu2, raw_sigma1, raw_sigma2 (Q x D) and raw_rho (Q).
        xp: numpy or torch.
    """

    def __init__(self, raw: list[Array], xp: Any) -> None:
        *matrices, raw_rho = raw
        stacked = xp.concatenate(matrices).reshape(4, *matrices[0].shape)
        self.xp, self.mu, self.raw_sigma = xp, stacked[:2], stacked[2:]
        self.tanh = xp.tanh(raw_rho)[:, None]
        self.rho = MAX_CORRELATION * self.tanh
        self.root = xp.sqrt(1 - self.rho * self.rho)
        self.sigma = softplus(self.raw_sigma, xp)

    def values(self) -> Float[Array, "3 2 Q D"]:
        """Return the constant term and the coefficients of both draws, for carriers and envelopes."""
        (mu1, mu2), (sigma1, sigma2) = self.mu, self.sigma
        tilted, other = self.rho * sigma2, self.root * sigma2
        rows = (mu1 + mu2, mu1 - mu2, sigma1 + tilted, sigma1 - tilted, other, -other)
        return 0.5 * self.xp.concatenate(rows).reshape(3, 2, *mu1.shape)

    def vjp(self, gradients: Float[Array, "3 2 Q D"]) -> DensityGradients:
        """Return the gradients with respect to the unconstrained parameters."""
        carriers, envelopes = 0.5 * gradients[:, 0], 0.5 * gradients[:, 1]
        (mu1, sigma1, _), (mu2, tilted, other) = carriers + envelopes, carriers - envelopes
        sigma2 = self.rho * tilted + self.root * other
        rho = (self.sigma[1] * (tilted - self.rho / self.root * other)).sum(1)
        derivative1, derivative2 = sigmoid(self.raw_sigma, self.xp)
        raw_rho = rho * (MAX_CORRELATION * (1 - self.tanh * self.tanh)[:, 0])
        return DensityGradients(mu1, mu2, sigma1 * derivative1, sigma2 * derivative2, raw_rho)


def affine_frequencies(
    coefficients: Float[Array, "K1 V Q D"], draws: Float[Array, "K Q P D"], alpha: Float[Array, " Q"], xp: Any
) -> Frequencies:
    """Return the frequencies of base draws.

    Args:
        coefficients: the constant term and the coefficients of every draw; of the carriers, and of the envelopes unless
            the points are tied.
        draws: standard normal base draws.
        alpha: mixture weights.
        xp: numpy or torch.
    """
    W = coefficients[1][:, :, None] * draws[0]
    W += coefficients[0][:, :, None]
    if len(draws) > 1:
        W += coefficients[2][:, :, None] * draws[1]
    amplitude = (xp.sqrt(alpha / draws.shape[2])[:, None] + xp.zeros_like(draws[0, :, :, 0])).reshape(-1)
    stacked, amplitudes = (
        torch.from_numpy(part) if isinstance(part, np.ndarray) else part
        for part in (W.reshape(-1, W.shape[-1]), amplitude)
    )
    K = len(amplitudes)
    return Frequencies(stacked[:K], stacked[K:] if len(stacked) > K else None, amplitudes)


def affine_frequencies_vjp(
    gradients: FrequencyGradients, draws: Float[Array, "K Q P D"], alpha: Float[Array, " Q"], xp: Any
) -> tuple[Float[Array, "K1 V Q D"], Float[Array, " Q"]]:
    """Return the gradients with respect to the coefficients and the mixture weights.

    Args:
        gradients: with respect to the frequencies.
        draws: standard normal base draws.
        alpha: mixture weights.
        xp: numpy or torch.
    """
    _, (of_frequencies, of_amplitudes) = as_small_arrays(gradients.frequencies, gradients.amplitude)
    by_point = of_frequencies.reshape(-1, *draws.shape[1:])
    sums = [by_point.sum(2), *((by_point * draw).sum(2) for draw in draws)]
    coefficients = xp.concatenate(sums).reshape(len(sums), *sums[0].shape)
    by_component = of_amplitudes.reshape(len(alpha), -1)
    # d sqrt(alpha / P) / d alpha = 1 / (2 sqrt(alpha P))
    return coefficients, by_component.sum(1) / (2 * xp.sqrt(alpha * by_component.shape[1]))
