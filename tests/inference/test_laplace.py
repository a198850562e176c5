""" """

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import norm

from mvlvm.inference.laplace import find_modes, laplace_approximation, track_modes
from tests.inference.quadratic_features import linear_function, quadratic_function
from tests.mixtures import normal
from tests.models.seen_views import WIDTHS, N, draw_seen, open_gaps
from tests.oracles import factor_analysis

TEMPERINGS = (1.0, 0.3, 0.01)
# Gauss-Newton steps gain digits at a steady rate where residuals are large.
ENOUGH_STEPS = 60


def height(seen, n, X, tempering):
    """The log posterior of row n at latents X, but for the prior's constant."""
    total = -0.5 * (X**2).sum(axis=1)
    for function, Y in seen:
        mean, variance = (value.numpy() for value in function.linearise(torch.as_tensor(X))[:2])
        std = np.sqrt(variance + function.likelihood.noise_variance.item())
        total = total + tempering * np.nansum(norm.logpdf(Y[n].numpy(), mean, std), axis=1)
    return total


def highest_on_a_grid(seen, n, D, tempering):
    """The mode of row n: the highest point of a grid, and then of its surroundings."""
    line = np.linspace(-3.5, 3.5, {1: 7001, 2: 141}[D])
    grid = np.stack(np.meshgrid(*[line] * D, indexing="ij"), axis=-1).reshape(-1, D)
    start = grid[height(seen, n, grid, tempering).argmax()]
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
    found = minimize(lambda x: -height(seen, n, x[None], tempering)[0], start, method="Nelder-Mead", options=options)
    return found.x


@pytest.mark.parametrize("certain", [True, False], ids=["certain", "uncertain"])
@pytest.mark.parametrize("tempering", [1.0, 0.2])
@pytest.mark.parametrize("D", [1, 2])
def test_climb_from_nearby_ends_at_the_mode(D, tempering, certain, generator):
    seen = draw_seen(D, generator, certain=certain)
    modes = np.stack([highest_on_a_grid(seen, n, D, tempering) for n in range(N)])
    placed = laplace_approximation(seen, torch.as_tensor(modes + 0.02), tempering=tempering, n_steps=ENOUGH_STEPS)
    # both stop when heights agree to their rounding, 1e-15 of some tens, and heights are flat to second order
    np.testing.assert_allclose(placed.mean.numpy(), modes, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("certain", [True, False])
def test_no_step_goes_down(certain, generator):
    seen, start = draw_seen(2, generator, certain=certain), 2 * normal((N, 2), generator)
    climbs = [laplace_approximation(seen, start, tempering=0.5, n_steps=n_steps).mean.numpy() for n_steps in range(12)]
    for n in range(N):
        course = height(seen, n, np.stack([climb[n] for climb in climbs]), 0.5)
        assert (np.diff(course) >= -1e-12 * np.abs(course).max()).all()
        assert course[-1] > course[0]


def linear_views(D, generator):
    """Two linear views of rows drawn from them, with gaps; and the loadings, offsets and noise variances."""
    parts, seen, X = [], [], normal((N, D), generator)
    for M, noise_variance in zip(WIDTHS, (0.3, 0.05), strict=True):
        loadings, offset = normal((M, D), generator), normal((M,), generator)
        Y = X @ loadings.T + offset + noise_variance**0.5 * normal((N, M), generator)
        parts.append((loadings.numpy(), offset.numpy(), np.full(M, noise_variance)))
        seen.append((linear_function(loadings, offset, noise_variance), Y))
    open_gaps([Y for _, Y in seen])
    return seen, [np.concatenate(values) for values in zip(*parts, strict=True)]


@pytest.mark.parametrize("tempering", TEMPERINGS)
@pytest.mark.parametrize("D", [1, 2, 5])
def test_linear_views_are_factor_analysis(D, tempering, generator):
    seen, (loadings, offset, noise_variance) = linear_views(D, generator)
    placed = laplace_approximation(seen, normal((N, D), generator), tempering=tempering, n_steps=ENOUGH_STEPS)
    for n in range(N):
        y = np.concatenate([Y[n].numpy() for _, Y in seen])
        mean, covariance, log_evidence = factor_analysis(y, loadings, offset, noise_variance, tempering)
        np.testing.assert_allclose(placed.mean[n].numpy(), mean, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(placed.std[n].numpy(), np.sqrt(np.diag(covariance)), rtol=1e-12)
        np.testing.assert_allclose(placed.log_evidence[n].item(), log_evidence, rtol=1e-12)


def test_row_in_which_nothing_was_seen_keeps_the_prior(generator):
    seen = [(function, torch.full_like(Y, torch.nan)) for function, Y in draw_seen(2, generator, certain=False)]
    mean, std, log_evidence = laplace_approximation(
        seen, normal((N, 2), generator), tempering=1.0, n_steps=ENOUGH_STEPS
    )
    torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0.0, atol=1e-7)
    assert torch.equal(std, torch.ones_like(std))
    torch.testing.assert_close(log_evidence, torch.zeros_like(log_evidence), rtol=0.0, atol=1e-14)


# f(x) = (x^2 + x / 5, x^2 / 2 + x / 10): nearly symmetric, so that two latents explain every row.
LINEAR, SQUARE = torch.tensor([[0.2, 0.1]]).double(), torch.tensor([[1.0, 0.5]]).double()
ROWS = torch.tensor([[1.6, 0.9], [0.7, 0.2], [2.5, torch.nan]], dtype=torch.float64)
LINE = np.linspace(-4.0, 4.0, 80001)


def valley(noise_variance=0.05):
    return quadratic_function(LINEAR, SQUARE, torch.zeros(2, dtype=torch.float64), noise_variance)


def start_at(*places):
    return torch.tensor(places, dtype=torch.float64)[None, :, None].repeat(len(ROWS), 1, 1)


def log_joint(y, *, noise_variance=0.05, tempering=1.0):
    """The log of likelihood times prior of one row, along a line."""
    f = LINE[:, None] * LINEAR.numpy() + LINE[:, None] ** 2 * SQUARE.numpy()
    return tempering * np.nansum(norm.logpdf(y, f, math.sqrt(noise_variance)), axis=1) + norm.logpdf(LINE)


def peaks(values):
    """Where along the line the values are higher than on both sides, the highest first."""
    inside = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])) + 1
    return LINE[inside[np.argsort(-values[inside])]]


@pytest.mark.parametrize("tempering", [1.0, 0.3])
def test_modes_are_the_peaks_of_the_posterior(tempering):
    modes = find_modes([(valley(), ROWS)], start_at(-2.0, 2.0), tempering=tempering)
    for n, y in enumerate(ROWS.numpy()):
        expected = peaks(log_joint(y, tempering=tempering))
        assert len(expected) == 2
        np.testing.assert_allclose(np.sort(modes.mean[n, :, 0]), np.sort(expected), rtol=0.0, atol=LINE[1] - LINE[0])


def test_the_mode_of_most_evidence_comes_first():
    for order in ((-2.0, 2.0), (2.0, -2.0)):
        modes = find_modes([(valley(), ROWS)], start_at(*order), tempering=1.0)
        assert (modes.log_evidence[:, 0] > modes.log_evidence[:, 1]).all()
        for n, y in enumerate(ROWS.numpy()):
            density = np.exp(log_joint(y))
            heavier = 1 if np.trapezoid(density[LINE > 0], LINE[LINE > 0]) > 0.5 * np.trapezoid(density, LINE) else -1
            assert math.copysign(1, modes.mean[n, 0, 0]) == heavier


def test_modes_have_the_evidence_of_the_integral_as_noise_vanishes():
    """Laplace's approximation: its error is of the order of the noise variance."""
    errors = []
    for noise_variance in (0.02, 0.005):
        Y = torch.tensor([[1.68, 0.84]], dtype=torch.float64)
        modes = find_modes([(valley(noise_variance), Y)], start_at(-2.0, 2.0)[:1], tempering=1.0)
        integral = np.trapezoid(np.exp(log_joint(Y[0].numpy(), noise_variance=noise_variance)), LINE)
        errors.append(abs(torch.logsumexp(modes.log_evidence, dim=1).item() - math.log(integral)))
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 3


def test_mode_that_was_found_before_has_no_evidence():
    modes = find_modes([(valley(), ROWS)], start_at(1.0, 1.1), tempering=1.0)
    assert torch.isfinite(modes.log_evidence[:, 0]).all()
    assert (modes.log_evidence[:, 1] == -torch.inf).all()
    assert (modes.mean[:, :, 0] > 0).all()


def test_many_climbs_to_one_mode_do_not_hide_the_other():
    crowd, pair = (
        find_modes([(valley(), ROWS)], start_at(*places), tempering=1.0)
        for places in ((1.0, 1.1, 1.2, 1.3, -1.5), (1.0, -1.5))
    )
    for found, expected in zip(crowd, pair, strict=True):
        torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-6)
    assert torch.isfinite(crowd.log_evidence).all()


def test_one_start_gives_one_mode():
    one, two = (find_modes([(valley(), ROWS)], start_at(*places), tempering=1.0) for places in ((1.0,), (1.0, -1.5)))
    assert one.mean.shape == (3, 1, 1)
    for n in range(3):
        which = int(two.mean[n, :, 0].argmax())
        torch.testing.assert_close(one.log_evidence[n, 0], two.log_evidence[n, which], rtol=0.0, atol=1e-9)


def test_followed_modes_are_those_of_the_new_tempering():
    seen = [(valley(), ROWS)]
    _, followed = track_modes(seen, find_modes(seen, start_at(-2.0, 2.0), tempering=1.0), (1.0, 0.5))
    found = find_modes(seen, start_at(-2.0, 2.0), tempering=0.5)
    # one step is enough from nearby, but not for the last digits
    assert ((followed.mean - found.mean).abs() < 0.02 * found.std).all()
    torch.testing.assert_close(followed.log_evidence, found.log_evidence, rtol=0.0, atol=1e-3)
    assert (followed.log_evidence[:, 0] > followed.log_evidence[:, 1]).all()


def test_modes_that_meet_as_the_likelihood_fades_count_once():
    seen = [(valley(), ROWS)]
    _, modes = track_modes(seen, find_modes(seen, start_at(-2.0, 2.0), tempering=1.0), (1.0, 0.0))
    torch.testing.assert_close(modes.log_evidence[:, 0], torch.zeros(3).double(), rtol=0.0, atol=1e-6)
    assert (modes.log_evidence[:, 1] == -torch.inf).all()


def test_modes_that_differ_in_one_dimension_are_distinct():
    """The first dimension is seen through its square, the second directly: both modes agree on the second."""
    linear = torch.tensor([[0.2, 0.0], [0.0, 1.0]], dtype=torch.float64)
    square = torch.tensor([[1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    function = quadratic_function(linear, square, torch.zeros(2, dtype=torch.float64), 0.05)
    start = torch.tensor([[[-2.0, 0.5], [2.0, 0.5]]], dtype=torch.float64)
    modes = find_modes([(function, torch.tensor([[1.6, 0.7]], dtype=torch.float64))], start, tempering=1.0)
    apart = (modes.mean[0, 0] - modes.mean[0, 1]).abs() / modes.std[0, 0]
    assert apart[0] > 10
    assert apart[1] < 1e-3
    assert torch.isfinite(modes.log_evidence).all()
