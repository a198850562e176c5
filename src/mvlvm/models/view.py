"""What every kind of view module has: a name, a mixture, and a likelihood around its function."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm.errors import NumericalError
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.spectral_mixture import AbstractMixture
from mvlvm.models.weight_posterior import AbstractWeightPosterior
from mvlvm.shapes import Scalar


class AbstractView(nn.Module, ABC):
    """One view of the model.

    Args:
        name: how errors call it.
        mixture: its spectral density.
        likelihood: how its entries are drawn around its function.
        n_points: spectral points per mixture, P.

    Attributes:
        redraws: whether every feature map has fresh spectral points.
    """

    redraws: ClassVar[bool] = True

    def __init__(self, name: str, mixture: AbstractMixture, likelihood: AbstractLikelihood, *, n_points: int) -> None:
        super().__init__()
        self.name = name
        self.mixture = mixture
        self.likelihood = likelihood
        self.n_points = n_points

    @abstractmethod
    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Give a feature map, with fresh spectral points where the view has no points of its own."""

    @abstractmethod
    def log_evidence(self, view: ObservedView, X: Float[Tensor, "N D"], generator: torch.Generator) -> Scalar:
        """Estimate or bound the log evidence of what was seen, given latents."""

    @abstractmethod
    def infer_weights(
        self, latent: GaussianLatent, seen: ObservedView, *, n_latent_draws: int, generator: torch.Generator
    ) -> AbstractWeightPosterior:
        """Give the posterior of the weights for one feature map, averaged over q(X)."""

    def settle(self, view: ObservedView, n_steps: int) -> Hashable | None:
        """Choose how the evidence is computed in the steps to come, after so many.

        Returns:
            What `log_evidence` takes for granted when a GPU records it; None if it cannot be recorded.
        """
        return None

    def keep_dimensions(self, kept: Bool[Tensor, " D"]) -> None:
        """Forget all other latent dimensions."""
        self.mixture.keep(kept)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Say which view it was when a factorisation fails."""
        try:
            yield
        except NumericalError as error:
            raise NumericalError(f"View '{self.name}': {error}") from error
