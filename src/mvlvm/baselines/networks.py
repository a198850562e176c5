"""Parts of autoencoders: layers that start from a generator, and what they say of latents and of views."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.baselines.gaussian_experts import Normals
from mvlvm.baselines.learning import seeded_linear
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.parameters import positive

# Keeps the precision of an expert within float32.
_SMALLEST_STD = 1e-3
# Where the noise starts, in the units of scaled views: all of their variance, because nothing is explained yet.
_START_NOISE_VARIANCE = 1.0


def layers(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Give linear layers between these widths, with a rectifier between any two of them."""
    linear: list[nn.Module] = [seeded_linear(n_in, n_out, generator) for n_in, n_out in pairwise(widths)]
    return nn.Sequential(*[part for layer in linear for part in (nn.ReLU(), layer)][1:])


class GaussianEncoder(nn.Module):
    """q(x | y): a network gives the mean and the raw standard deviation of the latent of every row.

    Args:
        network: gives 2 D numbers per row.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, Y: Float[Tensor, "N M"]) -> Normals:
        """Give the distributions of the rows' latents."""
        mean, raw_std = self.network(Y).chunk(2, dim=1)
        return Normals(mean, _SMALLEST_STD + positive(raw_std))


class GaussianDecoder(nn.Module):
    """p(y | x): a network gives the mean, and all columns share one noise variance, which is learned.

    Args:
        network: gives M numbers per row.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.likelihood = Gaussian(_START_NOISE_VARIANCE).float()

    def forward(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the mean of every row."""
        return self.network(X)

    def log_density(self, Y: Float[Tensor, "N M"], X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Give log p(y | x) of every row."""
        return self.likelihood.log_density(Y, self.network(X)).sum(dim=1)
