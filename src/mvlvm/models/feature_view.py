"""One view of the model: a mixture, its random features, its noise."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.errors import NumericalError
from mvlvm.evidence.hidden_entries import hidden_log_evidence
from mvlvm.evidence.random_features import log_evidence
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.observed import ObservedView
from mvlvm.models.spectral_mixture import AbstractMixture
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar


class FeatureView(nn.Module):
    """A view whose columns are Gaussian processes of the latent, y_m ~ N(0, Phi Phi' + s I).

    Args:
        name: how errors call it.
        mixture: its spectral density.
        n_points: spectral points per mixture, P.
        noise_variance: where the noise variance s starts.
    """

    def __init__(self, name: str, mixture: AbstractMixture, *, n_points: int, noise_variance: float) -> None:
        super().__init__()
        self.name = name
        self.mixture = mixture
        self.n_points = n_points
        self.raw_noise_variance = nn.Parameter(torch.tensor(raw_positive(noise_variance)))

    @property
    def noise_variance(self) -> Scalar:
        """The noise variance s."""
        return positive(self.raw_noise_variance)

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Draw fresh spectral points, W^v ~ p(W^v)."""
        return self.mixture(self.n_points, generator)

    def log_evidence(self, view: ObservedView, X: Float[Tensor, "N D"], generator: torch.Generator) -> Scalar:
        """Estimate the log evidence of what was seen given latents, by one draw of spectral points.

        Where single entries are hidden it is a lower bound, and their guesses move a step.
        """
        Phi = self.draw_features(generator)(view.of(X))
        with self.named_in_errors():
            if view.hidden is None:
                return log_evidence(view.Y, Phi, self.noise_variance)
            bound = hidden_log_evidence(view.Y, view.hidden, Phi, self.noise_variance)
        view.guess(bound.Z)
        return bound.value

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Say which view it was when a factorisation fails."""
        try:
            yield
        except NumericalError as error:
            raise NumericalError(f"View '{self.name}': {error}") from error
