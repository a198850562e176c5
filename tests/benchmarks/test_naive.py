import numpy as np
import torch
from scipy.stats import multivariate_normal

from mvlvm import NGMVLVM
from mvlvm.benchmarks.naive import PAPER_LEARNING_RATE, NaiveModel, log_evidence, scaled_views
from mvlvm.benchmarks.ours import untrained
from mvlvm.evidence.collapsed import log_evidence as library_log_evidence
from mvlvm.evidence.elbo import latent_kl
from mvlvm.models.spectral_mixture import SpectralMixture
from mvlvm.parameters import positive


def _model(n_samples=30, seed=0):
    rng = np.random.default_rng(seed)
    views = {"a": rng.normal(size=(n_samples, 6)), "b": rng.normal(size=(n_samples, 4))}
    return NaiveModel(scaled_views(views), n_points=5, seed=seed)


def test_the_bound_equals_that_of_the_library_for_equal_draws_and_parameters():
    naive = _model()
    for _ in range(3):  # away from the initialisation, where both components of a view have equal standard deviations
        naive.step()
    draws = naive.draw()
    X, terms = naive.mean + positive(naive.raw_std) * draws.latent, []
    for Y, mixture, eps, raw in zip(naive.Ys, naive.mixtures, draws.spectral, naive.raw_noise, strict=True):
        assert isinstance(mixture, SpectralMixture)
        terms.append(library_log_evidence(Y, mixture.feature_map(eps)(X), positive(raw)))
    library = sum(terms) - latent_kl(naive.mean, positive(naive.raw_std))
    torch.testing.assert_close(naive.bound(draws), library, rtol=1e-10, atol=0)


def test_the_gradient_equals_that_of_the_library():
    naive = _model()
    draws = naive.draw()
    naive.bound(draws).backward()
    by_autograd = naive.mean.grad.clone()
    naive.zero_grad()
    std = positive(naive.raw_std)
    X = naive.mean + std * draws.latent
    rows = zip(naive.Ys, naive.mixtures, draws.spectral, naive.raw_noise, strict=True)
    terms = [library_log_evidence(Y, mixture.feature_map(eps)(X), positive(raw)) for Y, mixture, eps, raw in rows]
    (sum(terms) - latent_kl(naive.mean, std)).backward()
    torch.testing.assert_close(by_autograd, naive.mean.grad, rtol=1e-8, atol=1e-10)


def test_the_evidence_is_the_normal_density_for_any_number_of_features():
    rng = np.random.default_rng(1)
    for n_features in (3, 12):
        Y, Phi, s = rng.normal(size=(8, 5)), rng.normal(size=(8, n_features)), 0.3
        expected = multivariate_normal(np.zeros(8), Phi @ Phi.T + s * np.eye(8)).logpdf(Y.T).sum()
        found = log_evidence(torch.tensor(Y), torch.tensor(Phi), torch.tensor(s, dtype=torch.float64))
        np.testing.assert_allclose(found.item(), expected, rtol=1e-10)


def test_steps_increase_the_bound_with_the_papers_optimiser():
    naive, bounds = _model(), []
    naive.fit(60, lambda step, bound: bounds.append(bound))
    assert np.mean(bounds[-10:]) > np.mean(bounds[:10])
    assert naive.optimiser.param_groups[0]["lr"] == PAPER_LEARNING_RATE == 0.01
    assert len(naive.optimiser.param_groups[0]["params"]) == 3 + 2 * 6  # latents, noise, six of each view's mixture


def test_the_initialisation_equals_that_of_the_library():
    rng = np.random.default_rng(2)
    views = {"a": rng.normal(size=(40, 6)), "b": rng.normal(size=(40, 4))}
    est = NGMVLVM(init="pca", dtype="float64", device="cpu", random_state=0)
    library, naive = untrained(est, views)[0].model, NaiveModel(scaled_views(views))
    torch.testing.assert_close(naive.mean.data, library.latent.mean.data)
    torch.testing.assert_close(naive.raw_std.data, library.latent.raw_std.data)
    for raw_noise, mixture, view in zip(naive.raw_noise, naive.mixtures, library.feature_views, strict=True):
        torch.testing.assert_close(positive(raw_noise).data, view.noise_variance.data)
        for name in ("raw_alpha", "raw_sigma1", "raw_sigma2", "raw_rho"):
            torch.testing.assert_close(mixture.get_parameter(name).data, view.mixture.get_parameter(name).data)
