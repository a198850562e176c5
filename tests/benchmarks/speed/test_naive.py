import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

import mvlvm
from benchmarks.speed.naive import PAPER_LEARNING_RATE, NaiveModel, NaiveNGMVLVM, log_evidence, scaled_tensors
from benchmarks.speed.step_profile import untrained
from mvlvm import NGMVLVM
from mvlvm.evidence.collapsed import log_evidence as library_log_evidence
from mvlvm.evidence.elbo import latent_kl
from mvlvm.models.spectral_mixture import SpectralMixture
from mvlvm.parameters import positive


def two_views(n_samples=30, seed=0):
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(size=(n_samples, 6)), "b": rng.normal(size=(n_samples, 4))}


def make_model(n_samples=30, seed=0):
    return NaiveModel(scaled_tensors(two_views(n_samples, seed)), n_points=5, seed=seed)


def test_the_bound_equals_that_of_the_library_for_equal_draws_and_parameters():
    naive = make_model()
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
    naive = make_model()
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
    est = NaiveNGMVLVM(n_points=5, max_iter=60, random_state=0).fit(two_views())
    bounds, seconds = est.history_["objective"], est.history_["seconds"]
    assert len(bounds) == len(seconds) == est.n_iter_ == 60
    assert (np.diff(seconds) > 0).all()
    assert bounds[-10:].mean() > bounds[:10].mean()
    naive = make_model()
    assert naive.optimiser.param_groups[0]["lr"] == PAPER_LEARNING_RATE == 0.01
    assert len(naive.optimiser.param_groups[0]["params"]) == 3 + 2 * 6  # latents, noise, six of each view's mixture


def test_the_initialisation_equals_that_of_the_library():
    views = two_views(40, 2)
    est = NGMVLVM(init="pca", dtype="float64", device="cpu", random_state=0)
    library, naive = untrained(est, views)[0].model, NaiveModel(scaled_tensors(views))
    torch.testing.assert_close(naive.mean.data, library.latent.mean.data)
    torch.testing.assert_close(naive.raw_std.data, library.latent.raw_std.data)
    for raw_noise, mixture, view in zip(naive.raw_noise, naive.mixtures, library.views, strict=True):
        torch.testing.assert_close(positive(raw_noise).data, view.likelihood.noise_variance.data)
        for name in ("raw_alpha", "raw_sigma1", "raw_sigma2", "raw_rho"):
            torch.testing.assert_close(mixture.get_parameter(name).data, view.mixture.get_parameter(name).data)


def test_the_estimator_takes_the_steps_of_the_model():
    naive = make_model(seed=3)
    for _ in range(4):
        naive.step()
    est = NaiveNGMVLVM(n_points=5, max_iter=4, random_state=3).fit(two_views(seed=3))
    np.testing.assert_array_equal(est.embedding_, naive.latents)


def test_an_interrupted_fit_keeps_the_current_result(monkeypatch):
    step, n_steps = NaiveModel.step, 0

    def interrupted(self):
        nonlocal n_steps
        n_steps += 1
        if n_steps == 6:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(NaiveModel, "step", interrupted)
    est = NaiveNGMVLVM(n_points=5, max_iter=50, random_state=0)
    with pytest.warns(mvlvm.ConvergenceWarning, match="interrupted after 5 of 50 steps"):
        est.fit(two_views())
    monkeypatch.undo()
    complete = NaiveNGMVLVM(n_points=5, max_iter=5, random_state=0).fit(two_views())
    np.testing.assert_array_equal(est.embedding_, complete.embedding_)
    assert est.n_iter_ == 5
