import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import norm

from mvlvm.inference import laplace
from mvlvm.inference.laplace import find_modes, laplace_approximation, track_modes
from tests.inference.observed_views import WIDTHS, N, draw_observed, remove_entries
from tests.inference.quadratic_features import linear_function, quadratic_function
from tests.mixtures import normal
from tests.oracles import factor_analysis

TEMPERINGS = (1.0, 0.3, 0.01)
# Gauss-Newton converges only linearly where residuals are large.
ENOUGH_STEPS = 60


def log_posterior(observed, n, X, tempering):
    """Return the log posterior of row n at latents X, without the constant of the prior."""
    total = -0.5 * (X**2).sum(axis=1)
    for function, Y in observed:
        mean, variance = (value.numpy() for value in function.linearise(torch.as_tensor(X)).moments)
        std = np.sqrt(variance + function.likelihood.noise_variance.item())
        total = total + tempering * np.nansum(norm.logpdf(Y[n].numpy(), mean, std), axis=1)
    return total


def mode_by_grid_search(observed, n, D, tempering):
    """Return the mode of row n: the best point of a grid, refined by Nelder-Mead."""
    line = np.linspace(-3.5, 3.5, {1: 7001, 2: 141}[D])
    grid = np.stack(np.meshgrid(*[line] * D, indexing="ij"), axis=-1).reshape(-1, D)
    initial = grid[log_posterior(observed, n, grid, tempering).argmax()]
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
    found = minimize(
        lambda x: -log_posterior(observed, n, x[None], tempering)[0], initial, method="Nelder-Mead", options=options
    )
    return found.x


@pytest.mark.parametrize("certain", [True, False], ids=["certain", "uncertain"])
@pytest.mark.parametrize("tempering", [1.0, 0.2])
@pytest.mark.parametrize("D", [1, 2])
def test_gauss_newton_converges_to_the_mode_nearby(D, tempering, certain, generator):
    observed = draw_observed(D, generator, certain=certain)
    modes = np.stack([mode_by_grid_search(observed, n, D, tempering) for n in range(N)])
    approximation = laplace_approximation(
        observed, torch.as_tensor(modes + 0.02), tempering=tempering, n_steps=ENOUGH_STEPS
    )
    # both stop when values agree to rounding, 1e-15 of some tens, and values are flat to second order at the mode
    np.testing.assert_allclose(approximation.mean.numpy(), modes, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("certain", [True, False])
def test_no_step_decreases_the_log_posterior(certain, generator):
    observed, initial = draw_observed(2, generator, certain=certain), 2 * normal((N, 2), generator)
    iterates = [
        laplace_approximation(observed, initial, tempering=0.5, n_steps=n_steps).mean.numpy() for n_steps in range(12)
    ]
    for n in range(N):
        values = log_posterior(observed, n, np.stack([X[n] for X in iterates]), 0.5)
        assert (np.diff(values) >= -1e-12 * np.abs(values).max()).all()
        assert values[-1] > values[0]


def linear_views(D, generator):
    """Return two linear views with missing entries, and their loadings, offsets and noise variances."""
    parts, observed, X = [], [], normal((N, D), generator)
    for M, noise_variance in zip(WIDTHS, (0.3, 0.05), strict=True):
        loadings, offset = normal((M, D), generator), normal((M,), generator)
        Y = X @ loadings.T + offset + noise_variance**0.5 * normal((N, M), generator)
        parts.append((loadings.numpy(), offset.numpy(), np.full(M, noise_variance)))
        observed.append((linear_function(loadings, offset, noise_variance), Y))
    remove_entries([Y for _, Y in observed])
    return observed, [np.concatenate(values) for values in zip(*parts, strict=True)]


@pytest.mark.parametrize("tempering", TEMPERINGS)
@pytest.mark.parametrize("D", [1, 2, 5])
def test_posterior_of_linear_views_is_that_of_factor_analysis(D, tempering, generator):
    observed, (loadings, offset, noise_variance) = linear_views(D, generator)
    approximation = laplace_approximation(
        observed, normal((N, D), generator), tempering=tempering, n_steps=ENOUGH_STEPS
    )
    for n in range(N):
        y = np.concatenate([Y[n].numpy() for _, Y in observed])
        mean, covariance, log_evidence = factor_analysis(y, loadings, offset, noise_variance, tempering)
        np.testing.assert_allclose(approximation.mean[n].numpy(), mean, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(approximation.std[n].numpy(), np.sqrt(np.diag(covariance)), rtol=1e-12)
        np.testing.assert_allclose(approximation.log_evidence[n].item(), log_evidence, rtol=1e-12)


def test_posterior_of_a_row_without_entries_is_the_prior(generator):
    observed = [(function, torch.full_like(Y, torch.nan)) for function, Y in draw_observed(2, generator, certain=False)]
    mean, std, log_evidence = laplace_approximation(
        observed, normal((N, 2), generator), tempering=1.0, n_steps=ENOUGH_STEPS
    )
    torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0.0, atol=1e-7)
    assert torch.equal(std, torch.ones_like(std))
    torch.testing.assert_close(log_evidence, torch.zeros_like(log_evidence), rtol=0.0, atol=1e-14)


# f(x) = (x^2 + x / 5, x^2 / 2 + x / 10) is nearly symmetric, so that every row has two modes.
LINEAR, SQUARE = torch.tensor([[0.2, 0.1]]).double(), torch.tensor([[1.0, 0.5]]).double()
ROWS = torch.tensor([[1.6, 0.9], [0.7, 0.2], [2.5, torch.nan]], dtype=torch.float64)
LINE = np.linspace(-4.0, 4.0, 80001)


def bimodal_function(noise_variance=0.05):
    return quadratic_function(LINEAR, SQUARE, torch.zeros(2, dtype=torch.float64), noise_variance)


def initial_at(*points):
    return torch.tensor(points, dtype=torch.float64)[None, :, None].repeat(len(ROWS), 1, 1)


def log_joint(y, *, noise_variance=0.05, tempering=1.0):
    """Return the log of likelihood times prior of one row on a grid."""
    f = LINE[:, None] * LINEAR.numpy() + LINE[:, None] ** 2 * SQUARE.numpy()
    return tempering * np.nansum(norm.logpdf(y, f, math.sqrt(noise_variance)), axis=1) + norm.logpdf(LINE)


def peaks(values):
    """Return the local maxima on the grid, the highest first."""
    inside = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])) + 1
    return LINE[inside[np.argsort(-values[inside])]]


@pytest.mark.parametrize("tempering", [1.0, 0.3])
def test_modes_are_the_peaks_of_the_posterior(tempering):
    modes = find_modes([(bimodal_function(), ROWS)], initial_at(-2.0, 2.0), tempering=tempering)
    for n, y in enumerate(ROWS.numpy()):
        expected = peaks(log_joint(y, tempering=tempering))
        assert len(expected) == 2
        np.testing.assert_allclose(np.sort(modes.mean[n, :, 0]), np.sort(expected), rtol=0.0, atol=LINE[1] - LINE[0])


def test_modes_are_sorted_by_decreasing_evidence():
    for order in ((-2.0, 2.0), (2.0, -2.0)):
        modes = find_modes([(bimodal_function(), ROWS)], initial_at(*order), tempering=1.0)
        assert (modes.log_evidence[:, 0] > modes.log_evidence[:, 1]).all()
        for n, y in enumerate(ROWS.numpy()):
            density = np.exp(log_joint(y))
            heavier = 1 if np.trapezoid(density[LINE > 0], LINE[LINE > 0]) > 0.5 * np.trapezoid(density, LINE) else -1
            assert math.copysign(1, modes.mean[n, 0, 0]) == heavier


def test_evidence_converges_to_the_integral_as_noise_vanishes():
    """The error of the Laplace approximation is of the order of the noise variance."""
    errors = []
    for noise_variance in (0.02, 0.005):
        Y = torch.tensor([[1.68, 0.84]], dtype=torch.float64)
        modes = find_modes([(bimodal_function(noise_variance), Y)], initial_at(-2.0, 2.0)[:1], tempering=1.0)
        integral = np.trapezoid(np.exp(log_joint(Y[0].numpy(), noise_variance=noise_variance)), LINE)
        errors.append(abs(torch.logsumexp(modes.log_evidence, dim=1).item() - math.log(integral)))
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 3


def test_duplicate_modes_have_no_evidence():
    modes = find_modes([(bimodal_function(), ROWS)], initial_at(1.0, 1.1), tempering=1.0)
    assert torch.isfinite(modes.log_evidence[:, 0]).all()
    assert (modes.log_evidence[:, 1] == -torch.inf).all()
    assert (modes.mean[:, :, 0] > 0).all()


def test_many_duplicates_of_one_mode_do_not_displace_the_other():
    many, pair = (
        find_modes([(bimodal_function(), ROWS)], initial_at(*points), tempering=1.0)
        for points in ((1.0, 1.1, 1.2, 1.3, -1.5), (1.0, -1.5))
    )
    for found, expected in zip(many, pair, strict=True):
        torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-6)
    assert torch.isfinite(many.log_evidence).all()


def test_one_initial_latent_gives_one_mode():
    one, two = (
        find_modes([(bimodal_function(), ROWS)], initial_at(*points), tempering=1.0) for points in ((1.0,), (1.0, -1.5))
    )
    assert one.mean.shape == (3, 1, 1)
    for n in range(3):
        which = int(two.mean[n, :, 0].argmax())
        torch.testing.assert_close(one.log_evidence[n, 0], two.log_evidence[n, which], rtol=0.0, atol=1e-9)


def test_tracked_modes_equal_those_found_at_the_new_level():
    observed = [(bimodal_function(), ROWS)]
    _, tracked = track_modes(observed, initial_at(-2.0, 2.0), levels=(1.0, 0.5))
    found = find_modes(observed, initial_at(-2.0, 2.0), tempering=0.5)
    # one Gauss-Newton step from nearby, which leaves a small error
    assert ((tracked.mean - found.mean).abs() < 0.02 * found.std).all()
    torch.testing.assert_close(tracked.log_evidence, found.log_evidence, rtol=0.0, atol=1e-3)
    assert (tracked.log_evidence[:, 0] > tracked.log_evidence[:, 1]).all()


def test_modes_that_merge_at_the_prior_count_once():
    observed = [(bimodal_function(), ROWS)]
    _, modes = track_modes(observed, initial_at(-2.0, 2.0), levels=(1.0, 0.0))
    torch.testing.assert_close(modes.log_evidence[:, 0], torch.zeros(3).double(), rtol=0.0, atol=1e-6)
    assert (modes.log_evidence[:, 1] == -torch.inf).all()


def test_modes_that_differ_in_one_dimension_are_distinct():
    """The first dimension enters by its square, the second linearly: both modes agree on the second."""
    linear = torch.tensor([[0.2, 0.0], [0.0, 1.0]], dtype=torch.float64)
    square = torch.tensor([[1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    function = quadratic_function(linear, square, torch.zeros(2, dtype=torch.float64), 0.05)
    initial = torch.tensor([[[-2.0, 0.5], [2.0, 0.5]]], dtype=torch.float64)
    modes = find_modes([(function, torch.tensor([[1.6, 0.7]], dtype=torch.float64))], initial, tempering=1.0)
    distance = (modes.mean[0, 0] - modes.mean[0, 1]).abs() / modes.std[0, 0]
    assert distance[0] > 10
    assert distance[1] < 1e-3
    assert torch.isfinite(modes.log_evidence).all()


def test_covariances_are_at_most_the_prior_where_the_hessian_is_singular_to_rounding():
    """J'J + I loses its second term to rounding where J is large, and its null space is that of J."""
    J = torch.tensor([[3e9, 4e9]], dtype=torch.float64)
    singular = (J.T @ J + torch.eye(2, dtype=torch.float64)).expand(3, 2, 2)
    A = torch.cat([singular, 2 * torch.eye(2, dtype=torch.float64)[None]])
    inverse = laplace._inverse(A)
    null_space = torch.tensor([[0.8], [-0.6]], dtype=torch.float64)
    for part in inverse[:3]:
        torch.testing.assert_close(part, null_space @ null_space.T, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(inverse[3], 0.5 * torch.eye(2, dtype=torch.float64))


def test_singular_systems_are_solved_by_their_eigenvectors():
    A = torch.stack([torch.full((2, 2), 4e18, dtype=torch.float64), torch.eye(2, dtype=torch.float64)])
    b = torch.tensor([[1.0, -1.0], [2.0, 3.0]], dtype=torch.float64)
    torch.testing.assert_close(laplace._solve(A, b), b)
