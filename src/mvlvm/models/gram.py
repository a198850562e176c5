"""The kernel matrix that a trained view has learned."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.latent import GaussianLatent
from mvlvm.models.view import AbstractView


def learned_gram(
    view: AbstractView, latent: GaussianLatent, n_draws: int, generator: torch.Generator
) -> Float[Tensor, "N N"]:
    """Average Phi Phi' over draws of the latents and the spectral points, in float64.

    A constant feature, which stands for the level of a column, is left out: it says nothing about rows.
    """
    total = 0.0
    for _ in range(n_draws):
        features = replace(view.draw_features(generator), constant=0.0)
        Phi = features(latent.sample(generator)).double()
        total = total + Phi @ Phi.T / n_draws
    return torch.as_tensor(total)
