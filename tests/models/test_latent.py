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


def test_posterior_starts_where_it_was_told_to(generator):
    start = normal((3, 2), generator)
    latent = GaussianLatent(start, 0.4)
    assert torch.equal(latent.mean, start)
    torch.testing.assert_close(latent.std, torch.full((3, 2), 0.4).double(), rtol=1e-6, atol=0.0)


def test_training_the_mean_leaves_the_start_alone(generator):
    start = normal((3, 2), generator)
    before = start.clone()
    latent = GaussianLatent(start, 0.4)
    with torch.no_grad():
        latent.mean.zero_()
    assert torch.equal(start, before)


def test_draws_are_differentiable_by_mean_and_deviation(generator):
    latent = make_latent(generator)
    X = latent.sample(generator)
    by_mean, by_raw_std = torch.autograd.grad(X.sum(), [latent.mean, latent.raw_std])
    eps = (X - latent.mean) / latent.std
    assert torch.equal(by_mean, torch.ones_like(by_mean))
    torch.testing.assert_close(by_raw_std, eps * torch.sigmoid(latent.raw_std), rtol=1e-10, atol=0.0)


def test_divergence_is_that_of_the_posterior_from_the_prior(generator):
    latent = make_latent(generator)
    expected = diagonal_normal_kl(latent.mean.detach().numpy(), latent.std.detach().numpy())
    torch.testing.assert_close(latent.kl().item(), expected, rtol=1e-12, atol=0.0)


def test_rows_by_themselves_are_what_they_were_among_all(generator):
    latent = make_latent(generator)
    with torch.no_grad():
        latent.raw_std.add_(normal(latent.raw_std.shape, generator))
    latent.set_sample_weight(torch.arange(len(latent.mean)).double())
    rows = torch.tensor([2, 0])
    part = latent.subset(rows)
    assert torch.equal(part.mean, latent.mean[rows])
    assert torch.equal(part.std, latent.std[rows])
    assert torch.equal(part.sample_weight, torch.tensor([2.0, 0.0]).double())
    with torch.no_grad():
        part.mean.zero_()
    assert (latent.mean[rows] != 0).all()
