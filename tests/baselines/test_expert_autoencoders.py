"""Autoencoders of several views, against the evidence of a linear model, quadrature, and images."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from torch import nn

from mvlvm import datasets
from mvlvm.baselines.mmvae import MMVAE, MixtureNetwork
from mvlvm.baselines.mvae import MVAE, ProductNetwork
from tests.baselines.linear_networks import decoder, encoder, expected, right_expert

W = {"a": np.array([1.0, -0.5, 2.0]), "b": np.array([0.3, 1.2])}
B = {"a": np.array([0.2, 0.0, -1.0]), "b": np.array([0.0, 0.5])}
NOISE = {"a": 0.8, "b": 0.4}
rng = np.random.default_rng(0)
VIEWS = {"a": rng.normal(size=(6, 3)), "b": rng.normal(size=(6, 2))}


def network(kind, experts):
    made = kind({"a": 3, "b": 2}, 1, [4], torch.Generator().manual_seed(0))
    made.encoders = nn.ModuleList(experts)
    made.decoders = nn.ModuleList(decoder(W[name], B[name], NOISE[name]) for name in W)
    return made


def tensors(views):
    return {name: torch.as_tensor(Y) for name, Y in views.items()}


def log_evidence(*names):
    w, b = np.concatenate([W[name] for name in names]), np.concatenate([B[name] for name in names])
    noise = np.concatenate([np.full(len(W[name]), NOISE[name]) for name in names])
    rows = np.hstack([VIEWS[name] for name in names])
    return multivariate_normal(b, np.outer(w, w) + np.diag(noise)).logpdf(rows)


def test_a_product_of_right_experts_bounds_all_evidences_exactly():
    right = [right_expert(W[name], B[name], NOISE[name], prior_precision=0.0) for name in W]
    mvae = network(ProductNetwork, right)
    mean, error = expected(lambda draws: mvae.bound(tensors(VIEWS), draws))
    evidence = log_evidence("a", "b") + log_evidence("a") + log_evidence("b")
    assert abs(mean - evidence.mean()) < 4 * error < 0.2


def test_a_product_places_rows_where_their_posterior_is_whatever_views_are_there():
    right = [right_expert(W[name], B[name], NOISE[name], prior_precision=0.0) for name in W]
    mvae = network(ProductNetwork, right)
    for names in (["a"], ["b"], ["b", "a"]):
        precision = 1 + sum(W[name] @ W[name] / NOISE[name] for name in names)
        mean = sum((VIEWS[name] - B[name]) @ W[name] / NOISE[name] for name in names) / precision
        with torch.no_grad():
            found = mvae.place(tensors({name: VIEWS[name] for name in names}))
        np.testing.assert_allclose(found[:, 0], mean, rtol=1e-8)


def test_a_mixtures_bound_is_what_quadrature_finds():
    slopes, offsets, stds = {"a": np.array([0.3, -0.1, 0.4]), "b": np.array([0.2, 0.5])}, (0.1, -0.3), (0.5, 0.9)
    mmvae = network(MixtureNetwork, [encoder(slopes[name], offsets[v], stds[v]) for v, name in enumerate(W)])
    x, bounds = np.linspace(-15, 15, 6001), []
    for n in range(6):
        experts = [norm(VIEWS[name][n] @ slopes[name] + offsets[v], stds[v]) for v, name in enumerate(W)]
        gain = norm.logpdf(x) - logsumexp([e.logpdf(x) for e in experts], axis=0, b=0.5)
        for name in W:
            gain += norm.logpdf(VIEWS[name][n], np.outer(x, W[name]) + B[name], NOISE[name] ** 0.5).sum(axis=1)
        bounds.append(np.mean([np.trapezoid(e.pdf(x) * gain, x) for e in experts]))
    assert (np.array(bounds) < log_evidence("a", "b")).all()
    mean, error = expected(lambda draws: mmvae.bound(tensors(VIEWS), draws), n_batches=300)
    assert abs(mean - np.mean(bounds)) < 4 * error < 0.5


def test_a_mixture_places_rows_at_the_mean_of_those_who_are_there():
    mmvae = network(MixtureNetwork, [encoder(np.ones(3), 0.0, 0.5), encoder(np.ones(2), 3.0, 0.5)])
    a, b = VIEWS["a"].sum(axis=1), VIEWS["b"].sum(axis=1) + 3
    with torch.no_grad():
        both, one = mmvae.place(tensors(VIEWS)), mmvae.place(tensors({"b": VIEWS["b"]}))
    np.testing.assert_allclose(both[:, 0], (a + b) / 2, rtol=1e-8)
    np.testing.assert_allclose(one[:, 0], b, rtol=1e-8)


@pytest.mark.parametrize("method", [MVAE, MMVAE])
def test_names_of_views_may_be_anything(method):
    views = {"a.b": VIEWS["a"], "forward": VIEWS["b"]}
    est = method(1, n_hidden=4, max_iter=2, random_state=0).fit(views)
    assert est.predict({"a.b": VIEWS["a"]}, target="forward").shape == (6, 2)


@pytest.mark.slow
@pytest.mark.parametrize("method", [MVAE, MMVAE])
def test_half_an_image_tells_more_of_the_other_half_than_the_mean_does(method):
    views = datasets.load("digits-halves", random_state=0).views
    (left, right) = views
    new = np.random.default_rng(0).permutation(len(views[left]))[:300]
    known = {name: np.delete(Y, new, axis=0) for name, Y in views.items()}
    est = method(random_state=0).fit(known)
    predicted = est.predict({left: views[left][new]}, target=right)
    error = np.sqrt(np.mean((predicted - views[right][new]) ** 2))
    error_of_mean = np.sqrt(np.mean((known[right].mean(axis=0) - views[right][new]) ** 2))
    assert error < error_of_mean
