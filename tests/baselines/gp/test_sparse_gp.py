"""Sparse GP compared with formulas without whitening, and its ELBO with the collapsed ELBO."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch.distributions import MultivariateNormal, kl_divergence

from mvlvm.baselines.gp.sparse_gp import INDUCING_NOISE, DeepGP, SparseGP, independent_noise
from mvlvm.parameters import raw_positive
from tests.baselines.gp.kernel_oracles import as_numpy, rbf

VARIANCE, LENGTHSCALE, NOISE = 1.3, np.array([0.8, 1.5]), 0.2
U, N, M = 5, 12, 3


@pytest.fixture(name="X")
def latents():
    return np.random.default_rng(0).normal(size=(N, 2))


@pytest.fixture(name="Y")
def view():
    return np.random.default_rng(1).normal(size=(N, M))


def with_values(process):
    process.kernel.raw_variance.data.fill_(raw_positive(VARIANCE))
    process.kernel.raw_lengthscale.data.copy_(torch.tensor([raw_positive(value) for value in LENGTHSCALE]))
    return process


@pytest.fixture(params=[True, False], ids=["one covariance", "own covariances"])
def process(request):
    generator = torch.Generator().manual_seed(2)
    process = SparseGP(torch.randn(U, 2, generator=generator), M, one_covariance=request.param)
    for values in (process.mean, process.raw_factor):
        values.data += 0.5 * torch.randn(values.shape, generator=generator, dtype=torch.float64)
    return with_values(process)


def kernel_matrices(process, X):
    (Z,) = as_numpy(process.Z)
    Kzz = rbf(Z, Z, VARIANCE, LENGTHSCALE) + INDUCING_NOISE * VARIANCE * np.eye(U)
    return Kzz, rbf(Z, X, VARIANCE, LENGTHSCALE)


def inducing_moments(process, Kzz):
    """Return the mean and covariance of q(u) for every function."""
    L = np.linalg.cholesky(Kzz)
    m, R = as_numpy(process.mean, process.factor)
    R = np.broadcast_to(R, (M, U, U))
    return [(L @ m[:, i], L @ R[i] @ R[i].T @ L.T) for i in range(M)]


def test_marginals_match_conditioning_on_inducing_variables(process, X):
    mean, variance = as_numpy(*process(torch.from_numpy(X)))
    variance = np.broadcast_to(variance, (N, M))
    Kzz, Kzx = kernel_matrices(process, X)
    weights = np.linalg.solve(Kzz, Kzx)
    for i, (mean_u, covariance_u) in enumerate(inducing_moments(process, Kzz)):
        np.testing.assert_allclose(mean[:, i], weights.T @ mean_u, rtol=1e-8)
        expected = VARIANCE - np.diag(weights.T @ (Kzz - covariance_u) @ weights)
        np.testing.assert_allclose(variance[:, i], expected, rtol=1e-8)


def test_kl_matches_kl_of_normals(process, X):
    Kzz, _ = kernel_matrices(process, X)
    prior = MultivariateNormal(torch.zeros(U, dtype=torch.float64), torch.from_numpy(Kzz))
    expected = sum(
        kl_divergence(MultivariateNormal(*map(torch.from_numpy, moments)), prior)
        for moments in inducing_moments(process, Kzz)
    )
    assert process.kl().item() == pytest.approx(expected.item(), rel=1e-8)


def settled_stack(X, Y):
    stack = DeepGP(torch.from_numpy(X[:U] + 0.1), M, n_layers=1)
    with_values(stack.last)
    stack.raw_noise_variance.data.fill_(raw_positive(NOISE))
    stack.initialize(torch.from_numpy(X), torch.from_numpy(Y))
    return stack


def elbo_at_fixed_latents(stack, X, Y):
    noise = independent_noise(torch.Generator())
    fit = stack.expected_log_likelihood(torch.from_numpy(X), torch.from_numpy(Y), noise).sum()
    return fit - stack.kl()


def test_optimal_elbo_equals_collapsed_elbo_and_is_below_evidence(X, Y):
    stack = settled_stack(X, Y)
    Kzz, Kzx = kernel_matrices(stack.last, X)
    Q = Kzx.T @ np.linalg.solve(Kzz, Kzx)
    K = rbf(X, X, VARIANCE, LENGTHSCALE)
    collapsed = multivariate_normal(np.zeros(N), Q + NOISE * np.eye(N)).logpdf(Y.T).sum()
    collapsed -= M * np.trace(K - Q) / (2 * NOISE)
    bound = elbo_at_fixed_latents(stack, X, Y)
    assert bound.item() == pytest.approx(collapsed, rel=1e-9)
    assert bound.item() < multivariate_normal(np.zeros(N), K + NOISE * np.eye(N)).logpdf(Y.T).sum()


def test_gradient_vanishes_at_optimal_posterior(X, Y):
    stack = settled_stack(X, Y)
    elbo_at_fixed_latents(stack, X, Y).backward()
    for values in (stack.last.mean, stack.last.raw_factor):
        assert values.grad.abs().max() < 1e-8
    assert stack.last.Z.grad.abs().max() > 1e-3
    assert all(torch.isfinite(parameter.grad).all() for parameter in stack.parameters())


def test_elbo_with_inducing_points_at_all_rows_equals_evidence(X, Y):
    stack = DeepGP(torch.from_numpy(X), M, n_layers=1)
    with_values(stack.last)
    stack.raw_noise_variance.data.fill_(raw_positive(NOISE))
    stack.initialize(torch.from_numpy(X), torch.from_numpy(Y))
    K = rbf(X, X, VARIANCE, LENGTHSCALE)
    evidence = multivariate_normal(np.zeros(N), K + NOISE * np.eye(N)).logpdf(Y.T).sum()
    # inducing noise j reduces K by at most j I: this costs at most j N M / (2 s) in the trace term, and in the density
    # y' ((K - j I + s I)^-1 - (K + s I)^-1) y / 2, which is at most j |y|^2 / (2 s (s - j))
    j = INDUCING_NOISE * VARIANCE
    allowed = j / 2 * (N * M / NOISE + np.square(Y).sum() / (NOISE * (NOISE - j)))
    assert evidence - allowed < elbo_at_fixed_latents(stack, X, Y).item() <= evidence
