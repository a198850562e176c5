"""The kernel matrix that a trained view has learned."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.latent import GaussianLatent
from mvlvm.models.view import AbstractView


def learned_gram(
    view: AbstractView, latent: GaussianLatent, n_draws: int, generator: torch.Generator
) -> Float[Tensor, "N N"]:
    """Average Phi Phi' over draws of the latents and the spectral points, in float64."""
    total = 0.0
    for _ in range(n_draws):
        Phi = view.draw_features(generator)(latent.sample(generator)).double()
        total = total + Phi @ Phi.T / n_draws
    return torch.as_tensor(total)
