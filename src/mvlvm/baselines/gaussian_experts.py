"""Normal distributions of latents, one per row, and how the opinions of several views become one."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class Normals(NamedTuple):
    """One normal with a diagonal covariance per row."""

    mean: Float[Tensor, "N D"]
    std: Float[Tensor, "N D"]

    def sample(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw latents, differentiable by mean and std."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype)
        return self.mean + self.std * eps

    def log_density(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Give the log density of one latent per row."""
        z = (X - self.mean) / self.std
        return -(0.5 * z.square() + self.std.log() + 0.5 * math.log(2 * math.pi)).sum(dim=1)


def standard_normals(like: Float[Tensor, "N D"]) -> Normals:
    """Give the prior of latents of this shape."""
    return Normals(torch.zeros_like(like), torch.ones_like(like))


def product_of_experts(experts: Sequence[Normals]) -> Normals:
    r"""Multiply the densities of the experts and of the prior, and scale to a density.

    $$ N(x; 0, I) \prod_v N(x; \mu_v, S_v) \propto N(x; \mu, S), \qquad
       S^{-1} = I + \sum_v S_v^{-1}, \quad \mu = S \sum_v S_v^{-1} \mu_v $$
    """
    precisions = torch.stack([expert.std.pow(-2) for expert in experts])  # V N D
    means = torch.stack([expert.mean for expert in experts])
    precision = 1 + precisions.sum(dim=0)
    return Normals((precisions * means).sum(dim=0) / precision, precision.rsqrt())


def mixture_log_density(X: Float[Tensor, "N D"], experts: Sequence[Normals]) -> Float[Tensor, " N"]:
    r"""Give $\log \frac1V \sum_v N(x; \mu_v, S_v)$: every expert may be right, each with the same probability."""
    densities = torch.stack([expert.log_density(X) for expert in experts])  # V N
    return densities.logsumexp(dim=0) - math.log(len(experts))
