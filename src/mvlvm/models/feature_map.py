"""A feature map with its spectral points drawn: what a mixture module returns when it is called."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.features import expected_features, features_and_slopes, random_features
from mvlvm.spectral.frequencies import Frequencies, envelope_form
from mvlvm.spectral.sampling import SpectralPoints


@dataclass(frozen=True)
class FeatureMap:
    """phi of one view, for one draw of its spectral points.

    Attributes:
        points: the spectral points.
        alpha: the weights of the mixtures.
        constant: one more feature of this value everywhere, for views that cannot be centred; zero for none.
    """

    points: SpectralPoints
    alpha: Float[Tensor, " Q"]
    constant: float = 0.0

    @property
    def n_features(self) -> int:
        """The number of features, F."""
        Q, P, _ = self.points.w1.shape
        return 2 * Q * P + (self.constant != 0.0)

    def __call__(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Give the features of latents."""
        return self._with_last(random_features(X, self.points, self.alpha), self.constant)

    def frequencies(self) -> Frequencies:
        """Give the spectral points in envelope form; a constant feature has none."""
        return envelope_form(self.points, self.alpha)

    def expectation(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Give the expected features of normally distributed latents."""
        return self._with_last(expected_features(mean, std, self.points, self.alpha), self.constant)

    def with_slopes(self, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "N F"], Float[Tensor, "D N F"]]:
        """Give the features of latents, and their derivatives by the latents."""
        Phi, slopes = features_and_slopes(X, self.points, self.alpha)
        return self._with_last(Phi, self.constant), self._with_last(slopes, 0.0)

    def double(self) -> "FeatureMap":
        """Give the same map in float64."""
        points = SpectralPoints(self.points.w1.double(), self.points.w2.double())
        return FeatureMap(points, self.alpha.double(), self.constant)

    def _with_last(self, features: Float[Tensor, "*n F"], value: float) -> Float[Tensor, "*n F1"]:
        if self.constant == 0.0:
            return features
        return torch.cat([features, features.new_full((*features.shape[:-1], 1), value)], dim=-1)
