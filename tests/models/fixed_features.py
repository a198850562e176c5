"""A mixture with fixed spectral points that records the latents at which its features are evaluated."""

from dataclasses import dataclass, field

import torch

from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap, frequencies_by_autograd
from tests.mixtures import draw_points, random_mixture
from tests.models.model_views import gaussian_view


@dataclass(frozen=True)
class RecordingMap(FeatureMap):
    evaluated_at: list = field(default_factory=list)

    def __call__(self, X):
        self.evaluated_at.append(X)
        return super().__call__(X)


class FixedMixture(AbstractMixture):
    def __init__(self, density, points):
        super().__init__(len(density.alpha), points.w1.shape[-1])
        self.fixed_density = density
        self.map = RecordingMap(points, density.alpha)

    def density(self):
        return self.fixed_density

    def base_draws(self, n_points, generator):
        return torch.zeros(0)

    def feature_map(self, draws):
        return self.map

    frequencies = frequencies_by_autograd


def fixed_view(generator, *, name="view", D=2, n_points=4, noise_variance=0.3, complete=True):
    """Return a view in float64 whose F = 4 n_points features are always the same."""
    density = random_mixture(2, D, generator)
    mixture = FixedMixture(density, draw_points(density, n_points, generator))
    view = gaussian_view(name, mixture, n_points=n_points, noise_variance=noise_variance, complete=complete)
    return view.to(torch.float64)
