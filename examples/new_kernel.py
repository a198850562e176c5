"""The RBF kernel with a lengthscale per latent dimension, as one more value of the parameter `kernel`."""

import torch
from torch import nn

from mvlvm import NGMVLVM, datasets
from mvlvm.models.spectral_mixture import MIXTURES, AbstractMixture, FeatureMap, frequencies_by_autograd
from mvlvm.parameters import positive
from mvlvm.spectral import StationaryMixture
from mvlvm.spectral.density import stationary_sample


class RBF(AbstractMixture):
    """Its spectral density is a normal density at the origin, with a standard deviation of one over the lengthscale."""

    def __init__(self, n_mixtures, n_components, generator):
        super().__init__(1, n_components)  # one component, whatever n_mixtures
        self.raw_inverse_lengthscale = nn.Parameter(torch.zeros(1, n_components))

    def density(self):
        sigma = self._masked(positive(self.raw_inverse_lengthscale))
        return StationaryMixture(self.alpha, torch.zeros_like(sigma), sigma)

    def base_draws(self, n_points, generator):
        shape = (1, 1, n_points, self.raw_inverse_lengthscale.shape[1])
        return torch.randn(shape, generator=generator, device=generator.device).to(self.raw_alpha)

    def feature_map(self, draws):
        density = self.density()
        return FeatureMap(stationary_sample(density, draws[0]), density.alpha)

    frequencies = frequencies_by_autograd


MIXTURES["rbf"] = RBF

if __name__ == "__main__":
    data = datasets.load("s-curve", kernels=["rbf", "rbf"], n_samples=200, random_state=0)
    est = NGMVLVM(kernel="rbf", random_state=0).fit(data)
    print({name: f"noise {variance:.3f}" for name, variance in est.noise_variance_.items()})
