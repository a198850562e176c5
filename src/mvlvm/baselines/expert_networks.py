"""What autoencoders of several views share: every view has an encoder and a decoder, and all have one latent."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.baselines.abilities import PredictsViews
from mvlvm.baselines.autoencoding import AbstractTrained, as_tensor
from mvlvm.baselines.base import Matrices
from mvlvm.baselines.gaussian_experts import Normals
from mvlvm.baselines.networks import GaussianDecoder, GaussianEncoder, layers
from mvlvm.shapes import Scalar

Tensors = Mapping[str, Float[Tensor, "N _"]]


class AbstractExperts(nn.Module, ABC):
    """One expert q_v(x | y_v) and one decoder p(y_v | x) per view.

    Args:
        widths: view name -> columns.
        n_components: D.
        hidden: widths of the hidden layers.
        generator: of the start.
    """

    def __init__(
        self, widths: Mapping[str, int], n_components: int, hidden: list[int], generator: torch.Generator
    ) -> None:
        super().__init__()
        self.places = {name: v for v, name in enumerate(widths)}  # torch's own dict refuses some names
        self.encoders = nn.ModuleList(
            GaussianEncoder(layers([M, *hidden, 2 * n_components], generator)) for M in widths.values()
        )
        self.decoders = nn.ModuleList(
            GaussianDecoder(layers([n_components, *hidden, M], generator)) for M in widths.values()
        )

    @abstractmethod
    def bound(self, views: Tensors, generator: torch.Generator) -> Scalar:
        """Estimate what is to be raised, per row."""

    @abstractmethod
    def place(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Give the latents of rows of which any views are given."""

    def experts(self, views: Tensors) -> dict[str, Normals]:
        """Ask the expert of every view that is given."""
        return {name: self.encoders[self.places[name]](Y) for name, Y in views.items()}

    def log_density(self, views: Tensors, X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Give the log density of the given views, summed."""
        return torch.stack([self._decoder(name).log_density(Y, X) for name, Y in views.items()]).sum(dim=0)

    def rebuild(self, X: Float[Tensor, "N D"]) -> dict[str, Float[Tensor, "N _"]]:
        """Give the mean of every view."""
        return {name: self._decoder(name)(X) for name in self.places}

    def _decoder(self, name: str) -> GaussianDecoder:
        return cast(GaussianDecoder, self.decoders[self.places[name]])


class AbstractExpertAutoencoder(AbstractTrained[AbstractExperts], PredictsViews):
    """An autoencoder of several views."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        self._start(seed)
        tensors = {name: as_tensor(Y) for name, Y in views.items()}
        n_rows = len(next(iter(tensors.values())))
        self._train(
            lambda rows, draws: self._network.bound({name: Y[rows] for name, Y in tensors.items()}, draws), n_rows, seed
        )
        return self._place_some(views)

    @torch.no_grad()
    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._network.place({name: as_tensor(Y) for name, Y in views.items()}).double().numpy()

    @torch.no_grad()
    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: Y.double().numpy() for name, Y in self._network.rebuild(as_tensor(latents)).items()}
