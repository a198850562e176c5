import torch

from mvlvm.models.latent import GaussianLatent
from tests.mixtures import normal
from tests.monte_carlo import assert_mean
from tests.oracles import diagonal_normal_kl


def make_latent(generator, std=0.4):
    return GaussianLatent(normal((3, 2), generator), std)


def test_draws_have_the_mean_and_variance_of_the_posterior(generator):
    latent = make_latent(generator)
    draws = torch.stack([latent.sample(generator) for _ in range(4000)]).detach()
    assert_mean(draws, latent.mean)
    assert_mean((draws - latent.mean.detach()).square(), latent.std**2)


def test_posterior_is_initialised_at_the_given_latents(generator):
    initial = normal((3, 2), generator)
    latent = GaussianLatent(initial, 0.4)
    assert torch.equal(latent.mean, initial)
    torch.testing.assert_close(latent.std, torch.full((3, 2), 0.4).double(), rtol=1e-6, atol=0.0)


def test_training_the_mean_does_not_modify_the_initial_latents(generator):
    initial = normal((3, 2), generator)
    before = initial.clone()
    latent = GaussianLatent(initial, 0.4)
    with torch.no_grad():
        latent.mean.zero_()
    assert torch.equal(initial, before)


def test_draws_are_differentiable_with_respect_to_mean_and_standard_deviation(generator):
    latent = make_latent(generator)
    X = latent.sample(generator)
    grad_mean, grad_raw_std = torch.autograd.grad(X.sum(), [latent.mean, latent.raw_std])
    eps = (X - latent.mean) / latent.std
    assert torch.equal(grad_mean, torch.ones_like(grad_mean))
    torch.testing.assert_close(grad_raw_std, eps * torch.sigmoid(latent.raw_std), rtol=1e-10, atol=0.0)


def test_kl_divergence_from_the_prior_matches_its_definition(generator):
    latent = make_latent(generator)
    expected = diagonal_normal_kl(latent.mean.detach().numpy(), latent.std.detach().numpy())
    torch.testing.assert_close(latent.kl().item(), expected, rtol=1e-12, atol=0.0)


def test_subset_keeps_the_posterior_and_weights_of_its_rows(generator):
    latent = make_latent(generator)
    with torch.no_grad():
        latent.raw_std.add_(normal(latent.raw_std.shape, generator))
    latent.set_sample_weight(torch.arange(len(latent.mean)).double())
    rows = torch.tensor([2, 0])
    subset = latent.subset(rows)
    assert torch.equal(subset.mean, latent.mean[rows])
    assert torch.equal(subset.std, latent.std[rows])
    assert torch.equal(subset.sample_weight, torch.tensor([2.0, 0.0]).double())
    with torch.no_grad():
        subset.mean.zero_()
    assert (latent.mean[rows] != 0).all()
