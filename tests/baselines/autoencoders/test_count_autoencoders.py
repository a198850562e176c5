"""Autoencoders of counts, compared with SciPy's negative binomial."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import nbinom, norm

from mvlvm.baselines.autoencoders import count_autoencoders
from mvlvm.baselines.autoencoders.count_autoencoders import DCA, NBVAE, NegativeBinomialNetwork, ZeroInflatedNetwork

COUNTS = np.random.default_rng(3).negative_binomial(1.5, 0.2, (12, 5)).astype(float)
COUNTS[4] = 0.0


def negative_binomial(Y, mean, r):
    return nbinom.logpmf(Y, r, r / (r + mean))


@pytest.fixture(params=[NegativeBinomialNetwork, ZeroInflatedNetwork])
def network(request, generator):
    made = request.param(5, 2, [7, 6], generator).double()
    made.initialize(torch.as_tensor(COUNTS))
    return made


def test_row_without_counts_has_size_one():
    sizes = count_autoencoders.library_sizes(torch.as_tensor(COUNTS)).numpy()
    np.testing.assert_array_equal(sizes[:, 0], np.where(np.arange(12) == 4, 1.0, COUNTS.sum(axis=1)))


def test_zero_inflated_density_is_mixture_with_point_mass_at_zero():
    rng = np.random.default_rng(0)
    mean, r, logit = rng.uniform(0.1, 20, (12, 5)), rng.uniform(0.2, 5, 5), rng.normal(0, 3, (12, 5))
    density = negative_binomial(COUNTS, mean, r)
    loss = 1 / (1 + np.exp(-logit))
    expected = np.log(loss * (COUNTS == 0) + (1 - loss) * np.exp(density))
    found = count_autoencoders.zero_inflated_log_density(*map(torch.as_tensor, (COUNTS, density, logit)))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_counts_are_normalised_to_standardised_log_proportions():
    read = count_autoencoders.CountNormalizer(5).double()
    read.initialize(torch.as_tensor(COUNTS))
    sizes = np.maximum(COUNTS.sum(axis=1, keepdims=True), 1)
    logs = np.log1p(COUNTS / sizes * np.sort(sizes[:, 0])[5])  # torch returns the lower median
    expected = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    np.testing.assert_allclose(read(torch.as_tensor(COUNTS)), expected, atol=1e-10)


def test_networks_are_initialised_at_mean_proportions(network):
    head = network.shares if isinstance(network, NegativeBinomialNetwork) else network.log_shares
    np.testing.assert_allclose(head.bias.detach().exp(), COUNTS.sum(axis=0) / COUNTS.sum(), rtol=1e-10)


@torch.no_grad()
def test_nbvae_elbo_is_negative_binomial_likelihood_minus_kl(generator):
    network = NegativeBinomialNetwork(5, 2, [7, 6], generator).double()
    Y = torch.as_tensor(COUNTS)
    network.initialize(Y)
    q = network.encoder(network.read(Y))
    X = q.sample(torch.Generator().manual_seed(5))
    mean = np.maximum(COUNTS.sum(axis=1, keepdims=True), 1) * network.decode(X).numpy()
    likelihood = negative_binomial(COUNTS, mean, network.likelihood.describe()["dispersion"].numpy()).sum()
    divergence = 0.0
    for m, s in zip(q.mean.flatten().tolist(), q.std.flatten().tolist(), strict=True):
        here = norm(m, s)
        divergence += quad(lambda x: here.pdf(x) * (here.logpdf(x) - norm.logpdf(x)), m - 12 * s, m + 12 * s)[0]  # noqa: B023
    found = network.objective(Y, torch.Generator().manual_seed(5)).item()
    assert found == pytest.approx((likelihood - divergence) / 12, rel=1e-8)


@torch.no_grad()
def test_dca_objective_is_likelihood_of_zero_inflated_counts(generator):
    network = ZeroInflatedNetwork(5, 2, [7, 6], generator).double()
    Y = torch.as_tensor(COUNTS)
    network.initialize(Y)
    X = network.encode(Y)
    mean = np.maximum(COUNTS.sum(axis=1, keepdims=True), 1) * network.decode(X).numpy()
    density = np.exp(negative_binomial(COUNTS, mean, network.likelihood.describe()["dispersion"].numpy()))
    loss = 1 / (1 + np.exp(-network.dropout_logits(network.body(X).relu()).numpy()))
    expected = np.log(loss * (COUNTS == 0) + (1 - loss) * density).sum() / 12
    assert network.objective(Y, generator).item() == pytest.approx(expected, rel=1e-8)


def test_reconstructed_rows_keep_their_totals():
    views = {"a": COUNTS[:, :2], "b": COUNTS[:, 2:]}
    rebuilt = NBVAE(n_hidden=8, max_iter=5, random_state=0).fit(views).reconstruct()
    totals = np.hstack([rebuilt["a"], rebuilt["b"]]).sum(axis=1)
    np.testing.assert_allclose(totals, np.maximum(COUNTS.sum(axis=1), 1), rtol=1e-5)


@pytest.mark.parametrize("method", [NBVAE, DCA])
def test_training_separates_two_clusters_of_rows(method):
    rng = np.random.default_rng(1)
    kinds = np.repeat([0, 1], 40)
    rates = np.array([[9.0] * 5 + [1.0] * 5, [1.0] * 5 + [9.0] * 5])[kinds] * rng.uniform(0.5, 4, (80, 1))
    est = method(1, n_hidden=16, max_iter=200, learning_rate=5e-3, random_state=0).fit(rng.poisson(rates).astype(float))
    order = np.argsort(est.embedding_[:, 0])
    assert kinds[order[:40]].mean() in (0.0, 1.0)
    assert np.mean((est.reconstruct() - rates) ** 2) < 0.25 * np.mean((rates - rates.mean(axis=0)) ** 2)
