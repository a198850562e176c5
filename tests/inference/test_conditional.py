"""The conditional layer on drawn rows: calibration, extrapolation, stacking and sources."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from mvlvm.inference.conditional import (
    KnownRows,
    NearestRows,
    Standardisation,
    VarianceModel,
    VarianceParts,
    choose_layer,
    condition_layer,
    fit_stack,
)


def draw(n, seed=0, noise=0.3):
    """Return given columns, a target that is a function of them, and a latent prediction of half of it."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, 8))
    weights = np.random.default_rng(100).standard_normal((8, 5))
    shared, own = np.sin(U[:, :4] @ weights[:4]), np.cos(U[:, 4:] @ weights[4:])
    Y = 3 + 2 * (shared + own + noise * rng.standard_normal((n, 5)))
    variance = np.full_like(Y, 0.1)
    return KnownRows(U, 3 + 2 * shared + 0.1 * rng.standard_normal(Y.shape), variance), Y


def fit(rows, Y):
    view_of = np.repeat([0, 1], [4, rows.given.shape[1] - 4])
    return condition_layer(rows, Y, choose_layer(rows, view_of, Y, torch.Generator().manual_seed(0)))


@pytest.fixture(scope="module")
def layer():
    return fit(*draw(400))


def test_intervals_cover_and_predictions_beat_the_latents(layer):
    new, truth = draw(1000, seed=1)
    mean, variance, function_variance = layer.predict(new)
    inside = np.abs(truth - mean) < 1.96 * np.sqrt(variance)
    assert 0.92 < inside.mean() < 0.97
    assert np.mean((truth - mean) ** 2) < 0.6 * np.mean((truth - new.latent) ** 2)
    assert (function_variance < variance).all()
    assert (function_variance >= 0).all()


def test_leave_one_out_error_is_that_of_new_rows(layer):
    new, truth = draw(1000, seed=1)
    error = np.sqrt(np.mean(((truth - layer.predict(new).mean) / layer.target_units.std) ** 2))
    assert layer.sources.rmse == pytest.approx(error, rel=0.1)


def test_error_bars_grow_far_from_the_training_rows(layer):
    new, _ = draw(100, seed=1)
    widths = [np.median(layer.predict(new._replace(given=k * new.given)).variance) ** 0.5 for k in (1, 3, 10, 30)]
    assert widths[0] < widths[1] < widths[2] < widths[3]
    spread = np.median(layer.target_units.std)
    assert widths[2] > 3 * spread  # rows at ten standard deviations
    assert widths[3] == pytest.approx(3 * widths[2], rel=0.5)


def test_sources_divide_the_explained_variance(layer):
    sources = layer.sources
    assert sources.latent_share > 0.2
    assert sources.view_share > 0.1
    explained = sources.latent_share + sources.view_share + sources.neighbour_share
    assert explained == pytest.approx(1 - sources.rmse**2, abs=0.05)


def test_latents_are_ignored_if_they_predict_nothing():
    rows, Y = draw(150)
    noise = np.random.default_rng(5).standard_normal(Y.shape)
    assert fit(rows._replace(latent=noise), Y).sources.latent_coefficient < 0.1


def test_latents_are_used_alone_if_the_given_views_know_nothing_else():
    rows, Y = draw(150)
    layer = fit(rows._replace(given=np.random.default_rng(5).standard_normal(rows.given.shape)), Y)
    assert layer.sources.latent_coefficient > 0.8
    assert abs(layer.sources.view_share) < 0.1


@pytest.mark.parametrize("n", [10, 11, 40, 99])
def test_few_rows_and_constant_columns_are_accepted(n):
    rows, Y = draw(n)
    rows.given[:, 2], Y[:, 1] = 1.0, 7.0
    new, _ = draw(5, seed=1)
    mean, variance, _ = fit(rows, Y).predict(new)
    assert np.isfinite(mean).all()
    assert np.isfinite(variance).all()
    assert (variance > 0).all()


def test_stack_is_the_non_negative_least_squares_solution():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((150, 3)) + 5
    good, bad = Y + rng.standard_normal(Y.shape), -Y + rng.standard_normal(Y.shape)

    def error(weights, one, other):
        centred = (part - part.mean(axis=0) for part in (Y, one, other))
        target, one, other = centred
        return np.sum((target - weights[0] * one - weights[1] * other) ** 2)

    for pair in ((good, bad), (good, Y + rng.standard_normal(Y.shape))):
        stack = fit_stack(Y, *pair)
        found = minimize(error, [0.5, 0.5], args=pair, bounds=[(0, None)] * 2)
        np.testing.assert_allclose(stack.weights, found.x, atol=1e-4)
        np.testing.assert_allclose(stack.combine(*pair).mean(axis=0), Y.mean(axis=0))
    assert fit_stack(Y[:50], good[:50], good[:50]).weights.tolist() == [1, 0]


def test_neighbours_are_those_of_brute_force():
    given = np.random.default_rng(0).standard_normal((60, 4))
    nearest, indices = NearestRows.of(given)
    distance = ((given[:, None] - given[None]) ** 2).mean(axis=2)
    np.fill_diagonal(distance, np.inf)
    np.testing.assert_array_equal(np.sort(indices), np.sort(distance.argsort(axis=1)[:, :10]))
    _, inside = nearest.find(given[:5])
    _, outside = nearest.find(given[:5] + 20)
    assert (inside == 0).all()
    assert (outside > 10).all()


def test_variance_model_finds_the_parts_that_errors_were_drawn_from():
    rng = np.random.default_rng(0)
    parts = VarianceParts(rng.gamma(2, 1, 4000), rng.gamma(2, 1, 4000), rng.gamma(2, 1, (4000, 3)))
    variance = 0.5 + 1.5 * parts.regression[:, None] + 0.0 * parts.latent
    model = VarianceModel.fit(rng.standard_normal((4000, 3)) * np.sqrt(variance), parts)
    np.testing.assert_allclose(model.variance(parts), variance, rtol=0.3)
    constant, regression, *others = model.weights
    assert regression > 5 * max(others)
    assert constant > 0.05


def test_units_of_constant_columns_are_one():
    units = Standardisation.of(np.array([[1.0, 2.0], [1.0, 4.0]]))
    np.testing.assert_array_equal(units.apply(np.array([[1.0, 3.0], [2.0, 5.0]])), [[0, 0], [1, 2]])
