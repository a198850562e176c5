"""Closed forms of kernel regression, against refits, dense Gaussian processes and finite differences."""

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime

from mvlvm.inference.kernel_regression import (
    Blend,
    KernelRegression,
    LeaveOneOutObjective,
    ViewKernel,
    choose_blend,
    choose_kernels,
    fit_blend,
    least_squares_share,
    project_targets,
    squared_distances,
)

VIEW_OF = np.array([0, 0, 0, 1, 1, 1, 1])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 7))
    Y = np.sin(A @ rng.standard_normal((7, 5))) + 0.1 * rng.standard_normal((40, 5))
    return A, Y, Y + 0.5 * rng.standard_normal(Y.shape)


@pytest.fixture
def kernel():
    return ViewKernel(VIEW_OF, np.array([0.4, 0.1]), np.array([0.3, 0.7]), np.array([0.5, 0.2]), np.array([2.0, 0.4]))


def test_kernel_is_the_sum_in_its_definition(data, kernel):
    A, B = data[0], data[0][:6] + 1
    K = np.zeros((6, 40))
    for i, b in enumerate(B):
        for j, a in enumerate(A):
            parts = [slice(0, 3), slice(3, 7)]
            g = [a[part] @ b[part] / len(a[part]) for part in parts]
            d = sum(m * np.mean((a[part] - b[part]) ** 2) for m, part in zip(kernel.metric, parts, strict=True))
            K[i, j] = kernel.linear @ g + sum(kernel.amplitudes * np.exp(-d / kernel.ranges))
    np.testing.assert_allclose(kernel.matrix(B, A), K, rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(A), kernel.matrix(A, A).diagonal(), rtol=1e-12)


def test_distances_are_weighted_and_never_negative():
    A = np.random.default_rng(0).normal(size=(5, 3))
    weight = np.array([1.0, 2.0, 0.5])
    expected = ((A[:, None] - A[None]) ** 2 * weight).sum(axis=2)
    found = squared_distances(A, A, weight)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found >= 0).all()


def test_regression_is_a_gaussian_process_with_an_unknown_mean(data, kernel):
    """The limit of a prior variance of the mean that is much larger than all other variances."""
    A, Y, _ = data
    new = np.random.default_rng(1).standard_normal((8, 7))
    K, K_new, noise, large = kernel.matrix(A, A), kernel.matrix(new, A), 0.3, 1e4
    regression = KernelRegression(K, noise)
    inverse = np.linalg.inv(K + large + noise * np.eye(len(A)))
    mean = (K_new + large) @ inverse @ Y
    variance = kernel.diagonal(new) + large - np.einsum("ij,jk,ik->i", K_new + large, inverse, K_new + large)
    np.testing.assert_allclose(regression.mean(Y) + K_new @ regression.solve(Y), mean, atol=1e-3)
    np.testing.assert_allclose(regression.variance(K_new, kernel.diagonal(new)), variance, atol=1e-3)
    P = regression.precision()
    np.testing.assert_allclose(P @ Y, regression.solve(Y), atol=1e-10)
    np.testing.assert_allclose(P.diagonal(), regression.precision_diagonal(), rtol=1e-10)


def test_leave_one_out_errors_and_variances_equal_those_of_refits(data, kernel):
    A, Y, F = data
    K, noise, share = kernel.matrix(A, A), 0.3, 0.4
    blend = Blend.of(K, noise, share)
    errors = blend.errors(Y, F)
    for i in range(len(A)):
        kept = np.arange(len(A)) != i
        refit = KernelRegression(K[np.ix_(kept, kept)], noise)
        D = Y[kept] - share * F[kept]
        predicted = refit.mean(D) + K[i, kept] @ refit.solve(D) + share * F[i]
        np.testing.assert_allclose(errors[i], Y[i] - predicted, atol=1e-10)
        variance = refit.variance(K[[i]][:, kept], K[[i], i]) + noise
        np.testing.assert_allclose(blend.variance[i], variance[0], rtol=1e-9)


def test_coefficient_of_the_latent_minimises_the_leave_one_out_error(data, kernel):
    A, Y, F = data
    K = kernel.matrix(A, A)
    found = fit_blend(K, 0.3, Y, F)
    on_grid = [np.mean(Blend.of(K, 0.3, share).errors(Y, F) ** 2) for share in np.linspace(0, 1, 101)]
    assert found.mean_square <= min(on_grid) + 1e-12
    assert found.mean_square == pytest.approx(np.mean(found.errors(Y, F) ** 2), rel=1e-9)
    assert least_squares_share(Y, -Y) == 0
    assert least_squares_share(Y, 0.5 * Y) == 1
    assert least_squares_share(Y, 0 * Y) == 0


@pytest.mark.parametrize("with_latent", [True, False])
def test_gradient_of_the_leave_one_out_error_equals_finite_differences(data, with_latent):
    A, Y, F = data
    start = np.log([0.4, 0.6, 0.1, 0.2, 0.5, 0.2, 2.0, 0.4, 0.1])
    objective = LeaveOneOutObjective(A, VIEW_OF, Y, F if with_latent else 0 * F, start)
    at = start + 0.3 * np.random.default_rng(0).standard_normal(len(start))
    numerical = approx_fprime(at, lambda parameters: objective(parameters)[0], 1e-6)
    np.testing.assert_allclose(objective(at)[1], numerical, atol=1e-4)


def test_chosen_kernel_has_the_smallest_error_of_all(data):
    A, Y, F = data
    kernels = choose_kernels(A, VIEW_OF, Y, F)
    _, best = choose_blend(kernels, A, Y, F)
    errors = [fit_blend(kernel.matrix(A, A), noise, Y, F).mean_square for kernel, noise in kernels]
    assert best.mean_square <= min(errors)


def test_a_useless_view_is_ignored():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 7))
    Y = A[:, :3] @ rng.standard_normal((3, 4)) + 0.05 * rng.standard_normal((120, 4))
    (kernel, _), *_ = choose_kernels(A, VIEW_OF, Y, np.zeros_like(Y))
    assert kernel.linear[0] > 10 * kernel.linear[1]


def test_projections_keep_sums_of_squares():
    rng = np.random.default_rng(0)
    Y, F = rng.standard_normal((200, 400)), rng.standard_normal((200, 400))
    projected = project_targets(Y, F, torch.Generator().manual_seed(0))
    assert projected[0].shape == (200, 64)
    for before, after in zip((Y, F, Y - F), (*projected, projected[0] - projected[1]), strict=True):
        # independent columns: the relative standard error is about sqrt(2 / (64 * 200))
        assert np.sum(after**2) == pytest.approx(np.sum(before**2), rel=0.08)
    narrow = project_targets(Y[:, :10], F[:, :10], torch.Generator())
    assert narrow[0].shape == (200, 10)
