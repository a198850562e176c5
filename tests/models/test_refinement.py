import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import norm

from mvlvm.models.refinement import refine
from tests.mixtures import normal
from tests.models.quadratic_features import linear_function
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
    placed = refine(seen, torch.as_tensor(modes + 0.02), tempering=tempering, n_steps=ENOUGH_STEPS)
    # both stop when heights agree to their rounding, 1e-15 of some tens, and heights are flat to second order
    np.testing.assert_allclose(placed.mean.numpy(), modes, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("certain", [True, False])
def test_no_step_goes_down(certain, generator):
    seen, start = draw_seen(2, generator, certain=certain), 2 * normal((N, 2), generator)
    climbs = [refine(seen, start, tempering=0.5, n_steps=n_steps).mean.numpy() for n_steps in range(12)]
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
    placed = refine(seen, normal((N, D), generator), tempering=tempering, n_steps=ENOUGH_STEPS)
    for n in range(N):
        y = np.concatenate([Y[n].numpy() for _, Y in seen])
        mean, covariance, log_evidence = factor_analysis(y, loadings, offset, noise_variance, tempering)
        np.testing.assert_allclose(placed.mean[n].numpy(), mean, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(placed.std[n].numpy(), np.sqrt(np.diag(covariance)), rtol=1e-12)
        np.testing.assert_allclose(placed.log_evidence[n].item(), log_evidence, rtol=1e-12)


def test_row_in_which_nothing_was_seen_keeps_the_prior(generator):
    seen = [(function, torch.full_like(Y, torch.nan)) for function, Y in draw_seen(2, generator, certain=False)]
    mean, std, log_evidence = refine(seen, normal((N, 2), generator), tempering=1.0, n_steps=ENOUGH_STEPS)
    torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0.0, atol=1e-7)
    assert torch.equal(std, torch.ones_like(std))
    torch.testing.assert_close(log_evidence, torch.zeros_like(log_evidence), rtol=0.0, atol=1e-14)
