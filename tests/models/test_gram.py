import torch

from mvlvm.kernels import ngsm_kernel
from mvlvm.likelihoods.poisson import Poisson
from mvlvm.models.feature_view import FeatureView
from mvlvm.models.gram import learned_gram
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import SpectralMixture
from mvlvm.models.weight_view import WeightView
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view
from tests.monte_carlo import assert_mean


def make(generator, std):
    view = FeatureView("view", SpectralMixture(2, 2, generator), n_points=5, noise_variance=0.1).double()
    return view, GaussianLatent(normal((4, 2), generator), std)


@torch.no_grad()
def test_gram_of_certain_latents_estimates_the_kernel(generator):
    view, latent = make(generator, std=1e-9)
    draws = torch.stack([learned_gram(view, latent, 1, generator) for _ in range(1000)])
    assert_mean(draws, ngsm_kernel(latent.mean, latent.mean, view.mixture.density()))


@torch.no_grad()
def test_gram_of_uncertain_latents_is_that_of_expected_features_off_the_diagonal(generator):
    view, latent = fixed_view(generator), GaussianLatent(normal((4, 2), generator), 0.8)
    draws = torch.stack([learned_gram(view, latent, 1, generator) for _ in range(2000)])
    # rows are independent, so that the expectation of their product is the product of their expectations
    Phi = view.draw_features(generator).expectation(latent.mean, latent.std)
    row, column = torch.triu_indices(4, 4, offset=1)
    assert_mean(draws[:, row, column], (Phi @ Phi.T)[row, column])


@torch.no_grad()
def test_several_draws_are_averaged(generator):
    view, latent = make(generator, std=0.5)
    together, one_by_one = (torch.Generator().manual_seed(5) for _ in range(2))
    averaged = learned_gram(view, latent, 3, together)
    singles = torch.stack([learned_gram(view, latent, 1, one_by_one) for _ in range(3)])
    torch.testing.assert_close(averaged, singles.mean(dim=0), rtol=1e-12, atol=1e-14)


@torch.no_grad()
def test_the_level_of_a_column_is_no_part_of_the_kernel(generator):
    mixture, latent = SpectralMixture(2, 2, generator), GaussianLatent(normal((4, 2), generator), 0.5)
    view = WeightView("view", mixture, Poisson(), n_points=200, generator=generator).double()
    gram = learned_gram(view, latent, 1, generator)
    # features without a constant give at most k(0, 0), the sum of the mixtures' weights
    assert gram.abs().max() <= mixture.density().alpha.sum() + 1e-9
