"""Experts that are multiplied, and experts that are mixed."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from mvlvm.baselines.gaussian_experts import mixture_log_density, product_of_experts, standard_normals
from tests.baselines.linear_networks import normals

MEANS = np.array([[[0.5, -1.0], [2.0, 0.0]], [[-0.3, 0.4], [1.0, 1.5]], [[3.0, 0.1], [0.2, -2.0]]])  # V N D
STDS = np.array([[[0.5, 2.0], [0.1, 1.0]], [[1.5, 0.7], [0.3, 0.4]], [[2.0, 0.2], [1.1, 0.6]]])


@pytest.fixture
def experts():
    return [normals(mean, std) for mean, std in zip(MEANS, STDS, strict=True)]


def test_the_product_weighs_means_by_precision_and_counts_the_prior(experts):
    product = product_of_experts(experts)
    precision = 1 + (1 / STDS**2).sum(axis=0)
    np.testing.assert_allclose(product.mean, (MEANS / STDS**2).sum(axis=0) / precision, rtol=1e-12)
    np.testing.assert_allclose(product.std, precision**-0.5, rtol=1e-12)


def test_the_product_is_what_multiplied_densities_are_on_a_grid(experts):
    product = product_of_experts(experts)
    x = np.linspace(-12, 12, 200_001)
    for n, d in np.ndindex(2, 2):
        density = norm.pdf(x) * norm.pdf(x[:, None], MEANS[:, n, d], STDS[:, n, d]).prod(axis=1)
        density /= np.trapezoid(density, x)
        mean = np.trapezoid(x * density, x)
        assert product.mean[n, d].item() == pytest.approx(mean, rel=1e-8)
        std = np.sqrt(np.trapezoid((x - mean) ** 2 * density, x))
        assert product.std[n, d].item() == pytest.approx(std, rel=1e-8)


def test_the_mixture_is_the_mean_of_the_densities(experts):
    X = np.array([[0.1, 0.2], [40.0, -3.0]])  # the second so far that densities alone would be zero
    each = norm.logpdf(X, MEANS, STDS).sum(axis=2)
    expected = logsumexp(each, axis=0, b=1 / 3)
    np.testing.assert_allclose(mixture_log_density(torch.as_tensor(X), experts), expected, rtol=1e-12)


def test_draws_have_the_moments_they_should(generator):
    wide = normals(np.full((40_000, 1), 2.0), np.full((40_000, 1), 0.5))
    draws = wide.sample(generator).numpy()
    assert abs(draws.mean() - 2.0) < 4 * 0.5 / 200
    assert abs(draws.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * 40_000)


def test_the_prior_is_standard():
    X = torch.tensor([[0.3, -2.0]], dtype=torch.float64)
    assert standard_normals(X).log_density(X).item() == pytest.approx(norm.logpdf([0.3, -2.0]).sum())
