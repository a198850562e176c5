import itertools
from functools import reduce

import numpy as np
import pytest
import torch
from scipy.special import expit
from torch.autograd import gradcheck

from mvlvm.likelihoods import categorical
from mvlvm.likelihoods.categorical import expected_logsumexp, softmax_moments
from tests.likelihoods.quadrature import normal_points

VARIANCES = [0.0, 0.3, 4.0]


def every_combination(n_classes, rng):
    """Return means in [-8, 8], and all combinations of variances."""
    variance = np.array(list(itertools.product(VARIANCES, repeat=n_classes)))
    return rng.uniform(-8, 8, size=variance.shape), variance


def tensor_product(mean, variance):
    """Return E logsumexp, E p and E p (1 - p) of one row, from a grid over all classes."""
    points, weights = zip(*(normal_points(m, v, n=61) for m, v in zip(mean, variance, strict=True)), strict=True)
    f, w = np.stack(np.meshgrid(*points, indexing="ij"), axis=-1), reduce(np.multiply.outer, weights)
    top = f.max(axis=-1, keepdims=True)
    sums = np.exp(f - top).sum(axis=-1, keepdims=True)
    p, axes = np.exp(f - top) / sums, tuple(range(len(mean)))
    w_p = w[..., None]
    return ((top + np.log(sums))[..., 0] * w).sum(), (p * w_p).sum(axis=axes), (p * (1 - p) * w_p).sum(axis=axes)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_value_and_gradients_match_the_integrals(n_classes):
    mean, variance = every_combination(n_classes, np.random.default_rng(0))
    expected = [np.array(part) for part in zip(*map(tensor_product, mean, variance), strict=True)]
    m, v = torch.tensor(mean, requires_grad=True), torch.tensor(variance, requires_grad=True)
    value = expected_logsumexp(m, v)
    value.sum().backward()
    assert np.abs(value.detach().numpy() - expected[0]).max() < 1e-6
    assert np.abs(m.grad.numpy() - expected[1]).max() < 1e-6
    assert np.abs(v.grad.numpy() - expected[2] / 2).max() < 1e-6


def test_expected_logsumexp_without_variance_is_logsumexp(generator):
    f = 5 * torch.randn(20, 10, generator=generator, dtype=torch.float64)
    f[0, 1], f[1, 2], f[2] = 80.0, -80.0, 3.0
    value = expected_logsumexp(f, torch.zeros_like(f))
    torch.testing.assert_close(value, f.logsumexp(dim=1), rtol=0.0, atol=1e-7)
    p, spread = softmax_moments(f, torch.zeros_like(f))
    torch.testing.assert_close(p, f.softmax(dim=1), rtol=0.0, atol=1e-7)
    assert spread.max() < 1e-6


@pytest.mark.parametrize("variance", [0.3, 16.0, 60.0])
def test_large_variances_and_many_classes_match_monte_carlo(variance, generator):
    C, draws = 12, 100_000
    mean = torch.randn(1, C, generator=generator, dtype=torch.float64)
    f = mean + variance**0.5 * torch.randn(draws, C, generator=generator, dtype=torch.float64)
    sampled = f.logsumexp(dim=1)
    value = expected_logsumexp(mean, torch.full_like(mean, variance))
    assert abs(value.item() - sampled.mean().item()) < 4 * sampled.std().item() / draws**0.5
    p, spread = softmax_moments(mean, torch.full_like(mean, variance))
    probabilities = f.softmax(dim=1)
    assert ((p[0] - probabilities.mean(dim=0)).abs() < 4 * probabilities.std(dim=0) / draws**0.5).all()
    squares = (probabilities - probabilities.mean(dim=0)).square()
    assert ((spread[0] - squares.mean(dim=0)).abs() < 4 * squares.std(dim=0) / draws**0.5).all()


def test_adding_a_constant_to_all_classes_adds_it_to_the_value(generator):
    mean = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    variance = torch.rand(5, 4, generator=generator, dtype=torch.float64)
    moved, value = expected_logsumexp(mean + 1e3, variance), expected_logsumexp(mean, variance)
    torch.testing.assert_close(moved, value + 1e3, rtol=0.0, atol=1e-10)


def test_result_does_not_depend_on_the_chunk_size(generator, monkeypatch):
    mean = torch.randn(7, 4, generator=generator, dtype=torch.float64)
    variance = torch.rand(7, 4, generator=generator, dtype=torch.float64)
    whole = expected_logsumexp(mean, variance)
    monkeypatch.setattr(categorical, "_CHUNK_SIZE", 1)
    torch.testing.assert_close(expected_logsumexp(mean, variance), whole, rtol=0.0, atol=1e-12)


def test_gradient_matches_finite_differences(generator):
    mean = 2 * torch.randn(3, 4, generator=generator, dtype=torch.float64)
    variance = torch.rand(3, 4, generator=generator, dtype=torch.float64) + 0.01
    assert gradcheck(expected_logsumexp, (mean.requires_grad_(), variance.requires_grad_()))


@pytest.mark.parametrize("variance", [1.0, 30.0, 200.0])
@pytest.mark.parametrize("distance", [10.0, 30.0, 50.0])
def test_an_unlikely_class_contributes_at_large_variance(distance, variance):
    # two classes depend on their difference only: logsumexp(f) = f_1 + softplus(f_2 - f_1)
    difference, weights = normal_points(-distance, 2 * variance, n=20_001)
    mean, v = torch.tensor([[0.0, -distance]], dtype=torch.float64), torch.full((1, 2), variance, dtype=torch.float64)
    value = expected_logsumexp(mean, v).item()
    assert value == pytest.approx((weights * np.logaddexp(0, difference)).sum(), rel=0.0, abs=1e-6)
    probability = softmax_moments(mean, v).mean[0, 1].item()
    assert probability == pytest.approx((weights * expit(difference)).sum(), rel=0.0, abs=1e-6)


def test_quadrature_nodes_have_double_precision(generator):
    f = torch.randn(200, 6, generator=generator, dtype=torch.float64)
    p, _ = softmax_moments(f, torch.zeros_like(f))
    # rounded nodes would cause errors of 1e-8; the error of the trapezoidal rule is exp(-pi^2 / step) = 3e-9
    torch.testing.assert_close(p, f.softmax(dim=1), rtol=0.0, atol=3e-9)


@pytest.mark.parametrize("variance", [1e3, 1e6, 1e12])
def test_beyond_the_largest_variance_the_value_is_a_bound_and_probabilities_are_accurate(variance, generator):
    C, draws, k = 4, 100_000, (categorical._MAX_VARIANCE / variance) ** 0.5
    std = variance**0.5
    mean = std * torch.tensor([[0.0, 0.5, -0.5, 1.0]], dtype=torch.float64)
    f = mean + std * torch.randn(draws, C, generator=generator, dtype=torch.float64)
    value, largest = expected_logsumexp(mean, torch.full_like(mean, variance)).item(), f.max(dim=1).values
    error = 4 * largest.std().item() / draws**0.5
    assert f.logsumexp(dim=1).mean().item() - error < value < largest.mean().item() + np.log(C) / k + error
    p, _ = softmax_moments(mean, torch.full_like(mean, variance))
    probabilities = f.softmax(dim=1)
    # classes are separated unless they are closer than the width of a logistic step, 2 of 16 sqrt(2)
    assert (p[0] - probabilities.mean(dim=0)).abs().max() < 0.02


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_non_finite_variance_makes_only_its_own_row_non_finite(value):
    mean, variance = torch.zeros(2, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64)
    expected = expected_logsumexp(mean, variance)[1]
    variance[0, 1] = value
    got = expected_logsumexp(mean, variance)
    assert not torch.isfinite(got[0])
    assert got[1].item() == pytest.approx(expected.item(), abs=1e-8)
