import numpy as np
import torch
from torch.autograd import gradcheck

from mvlvm.likelihoods.expectations import expected_softplus, logistic_moments
from tests.likelihoods.quadrature import normal_points

MEANS, VARIANCES = np.linspace(-30, 30, 121), [0.0, 1e-4, 0.1, 0.5, 1.0, 4.0, 10.0, 30.0]


def grid():
    mean, variance = np.meshgrid(MEANS, VARIANCES)
    return torch.tensor(mean), torch.tensor(variance)


def average(function):
    """Return the expectation of a function at all points of the grid."""
    rows = []
    for variance in VARIANCES:
        f, weights = normal_points(MEANS[:, None], variance, n=2001)
        rows.append((function(f) * weights).sum(axis=1))
    return np.array(rows)


def sigma(f):
    return 0.5 * (1 + np.tanh(0.5 * f))


def test_expected_softplus_matches_the_integral():
    error = expected_softplus(*grid()).numpy() - average(lambda f: np.logaddexp(0, f))
    assert np.abs(error).max() < 2e-10


def test_gradients_match_the_integrals_of_sigma_and_its_derivative():
    mean, variance = (x.requires_grad_() for x in grid())
    expected_softplus(mean, variance).sum().backward()
    assert np.abs(mean.grad.numpy() - average(sigma)).max() < 1.3e-9
    assert np.abs(variance.grad.numpy() - average(lambda f: sigma(f) * sigma(-f)) / 2).max() < 3.9e-9


def test_logistic_moments_match_the_integrals():
    mean, variance = logistic_moments(*grid())
    first, second = average(sigma), average(lambda f: sigma(f) ** 2)
    assert np.abs(mean.numpy() - first).max() < 1.3e-9
    assert np.abs(variance.numpy() - (second - first**2)).max() < 3 * 1.3e-9 + 7.8e-9


def test_expected_softplus_is_linear_or_zero_far_from_the_origin():
    far = torch.tensor([1e3, 1e6, -1e3, -1e6], dtype=torch.float64)
    values = expected_softplus(far, torch.ones_like(far))
    assert values.tolist() == [1e3, 1e6, 0.0, 0.0]


def test_gradient_matches_finite_differences(generator):
    mean = 3 * torch.randn(4, 3, generator=generator, dtype=torch.float64)
    variance = torch.rand(4, 3, generator=generator, dtype=torch.float64) + 0.01
    assert gradcheck(expected_softplus, (mean.requires_grad_(), variance.requires_grad_()))
