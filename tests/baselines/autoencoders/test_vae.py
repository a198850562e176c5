"""The variational autoencoder, compared with the evidence of a linear model and with the paper."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from mvlvm import datasets
from mvlvm.baselines.autoencoders.vae import VAE, VariationalNetwork
from mvlvm.evaluation import nearest_neighbour_accuracy
from tests.baselines.autoencoders.linear_networks import decoder, encoder, expected, right_expert

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
