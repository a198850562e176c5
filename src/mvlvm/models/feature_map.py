"""A feature map with its spectral points drawn: what a mixture module returns when it is called."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.features import expected_features, features_and_slopes, random_features
from mvlvm.spectral.sampling import SpectralPoints


@dataclass(frozen=True)
class FeatureMap:
    """phi of one view, for one draw of its spectral points."""

    points: SpectralPoints
    alpha: Float[Tensor, " Q"]

    def __call__(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Give the features of latents."""
        return random_features(X, self.points, self.alpha)

    def expectation(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Give the expected features of normally distributed latents."""
        return expected_features(mean, std, self.points, self.alpha)

    def with_slopes(self, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "N F"], Float[Tensor, "D N F"]]:
        """Give the features of latents, and their derivatives by the latents."""
        return features_and_slopes(X, self.points, self.alpha)

    def double(self) -> "FeatureMap":
        """Give the same map in float64."""
        return FeatureMap(SpectralPoints(self.points.w1.double(), self.points.w2.double()), self.alpha.double())
