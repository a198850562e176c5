"""The variational autoencoder, compared with the evidence of a linear model and with the paper.

Multimodal VAEs: products and mixtures of experts, compared with linear models, quadrature and on images.
"""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from torch import nn

from mvlvm import datasets
from mvlvm.baselines.autoencoders.base import standard_normal
from mvlvm.baselines.autoencoders.vae import (
    MMVAE,
    MVAE,
    VAE,
    MixtureOfExpertsNetwork,
    ProductOfExpertsNetwork,
    VariationalNetwork,
    mixture_log_density,
    product_of_experts,
)
from mvlvm.evaluation import nearest_neighbour_accuracy
from tests.baselines.autoencoders.linear_networks import decoder, encoder, expected, normals, right_expert

W, B, NOISE = np.array([1.0, -0.5, 2.0]), np.array([0.2, 0.0, -1.0]), 0.3
Y = np.random.default_rng(0).normal(size=(20, 3))


def log_evidence():
    return multivariate_normal(B, np.outer(W, W) + NOISE * np.eye(3)).logpdf(Y).mean()


def bound_with(expert):
    network = VariationalNetwork(expert, decoder(W, B, NOISE))
    return expected(lambda draws: network.objective(torch.as_tensor(Y), draws))


def test_elbo_equals_evidence_for_exact_posterior():
    mean, error = bound_with(right_expert(W, B, NOISE, prior_precision=1.0))
    assert abs(mean - log_evidence()) < 4 * error < 0.1


@pytest.mark.parametrize("wrong", [{"offset": 0.4}, {"std": 0.6}, {"scale": 0.7}])
def test_elbo_is_below_evidence_for_other_posteriors(wrong):
    precision = 1 + W @ W / NOISE
    slope = wrong.get("scale", 1.0) * W / NOISE / precision
    mean, error = bound_with(encoder(slope, -slope @ B + wrong.get("offset", 0.0), wrong.get("std", precision**-0.5)))
    assert mean + 4 * error < log_evidence()


def test_training_recovers_line_and_denoises():
    rng = np.random.default_rng(2)
    line = rng.normal(size=(400, 1)) * np.array([2.0, 1.0, -1.0])
    data = line + 0.3 * rng.normal(size=(400, 3))
    est = VAE(1, n_hidden=16, max_iter=200, learning_rate=1e-2, random_state=0).fit(data)
    assert np.mean((est.reconstruct() - line) ** 2) < np.mean((data - line) ** 2)


@pytest.mark.parametrize("name", ["n_hidden", "batch_size", "max_iter"])
def test_invalid_sizes_are_rejected(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1. Got 0"):
        VAE().set_params(**{name: 0}).fit(np.eye(5))


def test_invalid_learning_rate_is_rejected():
    with pytest.raises(ValueError, match="learning_rate must be a positive number. Got -1"):
        VAE().set_params(learning_rate=-1).fit(np.eye(5))


@pytest.mark.slow
def test_accuracy_on_digits_matches_paper():
    data = datasets.load("r-mnist", random_state=0)
    latents = VAE(random_state=0).fit_transform(data.views)
    papers = 0.6437  # the paper's table of single-view methods
    assert nearest_neighbour_accuracy(latents, data.labels) > papers - 0.05


MEANS = np.array([[[0.5, -1.0], [2.0, 0.0]], [[-0.3, 0.4], [1.0, 1.5]], [[3.0, 0.1], [0.2, -2.0]]])  # V N D
STDS = np.array([[[0.5, 2.0], [0.1, 1.0]], [[1.5, 0.7], [0.3, 0.4]], [[2.0, 0.2], [1.1, 0.6]]])


@pytest.fixture
def experts():
    return [normals(mean, std) for mean, std in zip(MEANS, STDS, strict=True)]


def test_product_of_experts_weights_means_by_precision_and_includes_prior(experts):
    product = product_of_experts(experts)
    precision = 1 + (1 / STDS**2).sum(axis=0)
    np.testing.assert_allclose(product.mean, (MEANS / STDS**2).sum(axis=0) / precision, rtol=1e-12)
    np.testing.assert_allclose(product.std, precision**-0.5, rtol=1e-12)


def test_product_of_experts_matches_product_of_densities_on_grid(experts):
    product = product_of_experts(experts)
    x = np.linspace(-12, 12, 200_001)
    for n, d in np.ndindex(2, 2):
        density = norm.pdf(x) * norm.pdf(x[:, None], MEANS[:, n, d], STDS[:, n, d]).prod(axis=1)
        density /= np.trapezoid(density, x)
        mean = np.trapezoid(x * density, x)
        assert product.mean[n, d].item() == pytest.approx(mean, rel=1e-8)
        std = np.sqrt(np.trapezoid((x - mean) ** 2 * density, x))
        assert product.std[n, d].item() == pytest.approx(std, rel=1e-8)


def test_mixture_density_is_mean_of_densities(experts):
    X = np.array([[0.1, 0.2], [40.0, -3.0]])  # the second is so far away that the densities underflow
    each = norm.logpdf(X, MEANS, STDS).sum(axis=2)
    expected = logsumexp(each, axis=0, b=1 / 3)
    np.testing.assert_allclose(mixture_log_density(torch.as_tensor(X), experts), expected, rtol=1e-12)


def test_samples_have_mean_and_standard_deviation(generator):
    wide = normals(np.full((40_000, 1), 2.0), np.full((40_000, 1), 0.5))
    draws = wide.sample(generator).numpy()
    assert abs(draws.mean() - 2.0) < 4 * 0.5 / 200
    assert abs(draws.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * 40_000)


def test_prior_is_standard_normal():
    X = torch.tensor([[0.3, -2.0]], dtype=torch.float64)
    assert standard_normal(X).log_density(X).item() == pytest.approx(norm.logpdf([0.3, -2.0]).sum())


W_multimodal_vae = {"a": np.array([1.0, -0.5, 2.0]), "b": np.array([0.3, 1.2])}
B_multimodal_vae = {"a": np.array([0.2, 0.0, -1.0]), "b": np.array([0.0, 0.5])}
NOISE_multimodal_vae = {"a": 0.8, "b": 0.4}
rng = np.random.default_rng(0)
VIEWS = {"a": rng.normal(size=(6, 3)), "b": rng.normal(size=(6, 2))}


def network(kind, experts):
    made = kind({"a": 3, "b": 2}, 1, [4], torch.Generator().manual_seed(0))
    made.encoders = nn.ModuleList(experts)
    made.decoders = nn.ModuleList(
        decoder(W_multimodal_vae[name], B_multimodal_vae[name], NOISE_multimodal_vae[name]) for name in W_multimodal_vae
    )
    return made


def tensors(views):
    return {name: torch.as_tensor(Y) for name, Y in views.items()}


def log_evidence_multimodal_vae(*names):
    w, b = (
        np.concatenate([W_multimodal_vae[name] for name in names]),
        np.concatenate([B_multimodal_vae[name] for name in names]),
    )
    noise = np.concatenate([np.full(len(W_multimodal_vae[name]), NOISE_multimodal_vae[name]) for name in names])
    rows = np.hstack([VIEWS[name] for name in names])
    return multivariate_normal(b, np.outer(w, w) + np.diag(noise)).logpdf(rows)


def test_mvae_objective_is_exact_for_exact_experts():
    right = [
        right_expert(W_multimodal_vae[name], B_multimodal_vae[name], NOISE_multimodal_vae[name], prior_precision=0.0)
        for name in W_multimodal_vae
    ]
    mvae = network(ProductOfExpertsNetwork, right)
    mean, error = expected(lambda draws: mvae.objective(tensors(VIEWS), draws))
    evidence = (
        log_evidence_multimodal_vae("a", "b") + log_evidence_multimodal_vae("a") + log_evidence_multimodal_vae("b")
    )
    assert abs(mean - evidence.mean()) < 4 * error < 0.2


def test_mvae_latents_are_posterior_means_for_any_subset_of_views():
    right = [
        right_expert(W_multimodal_vae[name], B_multimodal_vae[name], NOISE_multimodal_vae[name], prior_precision=0.0)
        for name in W_multimodal_vae
    ]
    mvae = network(ProductOfExpertsNetwork, right)
    for names in (["a"], ["b"], ["b", "a"]):
        precision = 1 + sum(
            W_multimodal_vae[name] @ W_multimodal_vae[name] / NOISE_multimodal_vae[name] for name in names
        )
        mean = (
            sum(
                (VIEWS[name] - B_multimodal_vae[name]) @ W_multimodal_vae[name] / NOISE_multimodal_vae[name]
                for name in names
            )
            / precision
        )
        with torch.no_grad():
            found = mvae.encode(tensors({name: VIEWS[name] for name in names}))
        np.testing.assert_allclose(found[:, 0], mean, rtol=1e-8)


def test_mmvae_objective_matches_quadrature():
    slopes, offsets, stds = {"a": np.array([0.3, -0.1, 0.4]), "b": np.array([0.2, 0.5])}, (0.1, -0.3), (0.5, 0.9)
    mmvae = network(
        MixtureOfExpertsNetwork, [encoder(slopes[name], offsets[v], stds[v]) for v, name in enumerate(W_multimodal_vae)]
    )
    x, bounds = np.linspace(-15, 15, 6001), []
    for n in range(6):
        experts = [norm(VIEWS[name][n] @ slopes[name] + offsets[v], stds[v]) for v, name in enumerate(W_multimodal_vae)]
        gain = norm.logpdf(x) - logsumexp([e.logpdf(x) for e in experts], axis=0, b=0.5)
        for name in W_multimodal_vae:
            gain += norm.logpdf(
                VIEWS[name][n],
                np.outer(x, W_multimodal_vae[name]) + B_multimodal_vae[name],
                NOISE_multimodal_vae[name] ** 0.5,
            ).sum(axis=1)
        bounds.append(np.mean([np.trapezoid(e.pdf(x) * gain, x) for e in experts]))
    assert (np.array(bounds) < log_evidence_multimodal_vae("a", "b")).all()
    mean, error = expected(lambda draws: mmvae.objective(tensors(VIEWS), draws), n_batches=300)
    assert abs(mean - np.mean(bounds)) < 4 * error < 0.5


def test_mmvae_latents_are_means_over_available_views():
    mmvae = network(MixtureOfExpertsNetwork, [encoder(np.ones(3), 0.0, 0.5), encoder(np.ones(2), 3.0, 0.5)])
    a, b = VIEWS["a"].sum(axis=1), VIEWS["b"].sum(axis=1) + 3
    with torch.no_grad():
        both, one = mmvae.encode(tensors(VIEWS)), mmvae.encode(tensors({"b": VIEWS["b"]}))
    np.testing.assert_allclose(both[:, 0], (a + b) / 2, rtol=1e-8)
    np.testing.assert_allclose(one[:, 0], b, rtol=1e-8)


@pytest.mark.parametrize("method", [MVAE, MMVAE])
def test_view_names_are_arbitrary(method):
    views = {"a.b": VIEWS["a"], "forward": VIEWS["b"]}
    est = method(1, n_hidden=4, max_iter=2, random_state=0).fit(views)
    assert est.predict({"a.b": VIEWS["a"]}, target="forward").shape == (6, 2)


@pytest.mark.slow
@pytest.mark.parametrize("method", [MVAE, MMVAE])
def test_predicted_half_image_is_better_than_mean(method):
    views = datasets.load("digits-halves", random_state=0).views
    (left, right) = views
    new = np.random.default_rng(0).permutation(len(views[left]))[:300]
    known = {name: np.delete(Y, new, axis=0) for name, Y in views.items()}
    est = method(random_state=0).fit(known)
    predicted = est.predict({left: views[left][new]}, target=right)
    error = np.sqrt(np.mean((predicted - views[right][new]) ** 2))
    error_of_mean = np.sqrt(np.mean((known[right].mean(axis=0) - views[right][new]) ** 2))
    assert error < error_of_mean
