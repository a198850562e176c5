"""RFLVM estimators: averaging of samples, latents of new rows, and recovery of curves."""

import numpy as np
import pytest
from scipy import optimize, stats

from mvlvm import baselines
from mvlvm.baselines.rflvm.random_feature_lvm import (
    RandomFeatureView,
    aligned_mean,
    find_latents,
    latent_objective,
    predict_view,
)

RFLVM, MVRFLVM = baselines.get("RFLVM"), baselines.get("MV-RFLVM")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def fitted_views(rng, widths=(4, 3)):
    return [RandomFeatureView(rng.standard_normal((5, 2)), rng.standard_normal((10, M)), np.array(0.1)) for M in widths]


def test_aligned_mean_is_invariant_to_rotations_of_samples(rng):
    X = rng.standard_normal((20, 3))
    turned = [X @ stats.ortho_group.rvs(3, random_state=i) for i in range(4)]
    np.testing.assert_allclose(aligned_mean([*turned, X]), X, atol=1e-12)


def test_aligned_mean_of_noisy_samples_is_closer_to_truth(rng):
    X = rng.standard_normal((50, 2))
    draws = [X + 0.3 * rng.standard_normal(X.shape) for _ in range(40)]
    # the mean of 40 samples has an error of at most 0.3 / sqrt(40), apart from the rotation to the last one
    assert np.abs(aligned_mean([*draws, X]) - X).std() < 0.3 / np.sqrt(40)


def test_gradient_of_latent_objective_matches_finite_differences(rng):
    views = fitted_views(rng)
    Ys = [rng.standard_normal((3, M)) for M in (4, 3)]
    objective = latent_objective(Ys, views)
    X = rng.standard_normal((3, 2))
    numeric = optimize.approx_fprime(X.ravel(), lambda flat: objective(flat.reshape(3, 2))[0], 1e-7)
    np.testing.assert_allclose(objective(X)[1], numeric, rtol=1e-4, atol=1e-4)
    exact = -stats.norm.logpdf(X).sum()
    for Y, view in zip(Ys, views, strict=True):
        exact -= stats.norm.logpdf(Y, predict_view(X, view), np.sqrt(0.1)).sum()
    constant = 6 / 2 * np.log(2 * np.pi) + 21 / 2 * np.log(2 * np.pi * 0.1)
    np.testing.assert_allclose(objective(X)[0], exact - constant, rtol=1e-10)


def test_latents_of_new_rows_are_posterior_modes(rng):
    views, known = fitted_views(rng), rng.standard_normal((30, 2))
    Ys = [predict_view(known[:4], view) + 0.1 for view in views]
    placed = find_latents(Ys, views, known)
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 3, 31)] * 2), axis=-1).reshape(-1, 2)
    for n, x in enumerate(placed):
        objective = latent_objective([Y[n : n + 1] for Y in Ys], views)
        assert objective(x[None])[0] <= min(objective(point[None])[0] for point in grid)


@pytest.fixture(scope="module")
def curve():
    """Two views that are sinusoids of a point on a line."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-1.5, 1.5, 150)
    views = {}
    for name, M in (("a", 8), ("b", 5)):
        phases, rates = rng.uniform(0, 2 * np.pi, M), rng.uniform(0.5, 1.2, M)
        views[name] = np.sin(t[:, None] * rates + phases) + 0.05 * rng.standard_normal((150, M))
    return t, views


@pytest.mark.parametrize("estimator", [RFLVM, MVRFLVM])
def test_curve_is_recovered(curve, estimator):
    t, views = curve
    est = estimator(n_components=1, n_points=15, max_iter=80, n_samples=20, random_state=0).fit(views)
    assert abs(stats.spearmanr(est.embedding_[:, 0], t).statistic) > 0.99
    for name, Y in est.reconstruct().items():
        # the noise has a standard deviation of 0.05; the signal must be recovered
        assert np.sqrt(((Y - views[name]) ** 2).mean()) < 0.07
    new = {name: Y[:20] for name, Y in views.items()}
    assert abs(stats.spearmanr(est.transform(new)[:, 0], t[:20]).statistic) > 0.98


def test_view_is_predicted_from_other_view(curve):
    _, views = curve
    train, new = ({name: Y[rows] for name, Y in views.items()} for rows in (slice(120), slice(120, None)))
    est = MVRFLVM(n_components=1, n_points=15, max_iter=80, n_samples=20, random_state=0).fit(train)
    predicted = est.predict({"a": new["a"]}, target="b")
    assert ((predicted - new["b"]) ** 2).mean() < 0.05 * new["b"].var()


def test_more_samples_than_sweeps_are_rejected():
    with pytest.raises(ValueError, match="n_samples.*must not exceed max_iter.*Got 9 and 5"):
        RFLVM(max_iter=5, n_samples=9).fit(np.eye(6))


@pytest.mark.parametrize("parameter", ["n_points", "max_iter", "n_samples"])
def test_invalid_parameters_are_rejected(parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be an integer of at least 1. Got 0"):
        RFLVM().set_params(**{parameter: 0}).fit(np.random.default_rng(0).standard_normal((6, 3)))


def test_verbose_shows_progress(capsys, rng):
    RFLVM(n_points=2, max_iter=2, n_samples=1, verbose=1, random_state=0).fit(rng.standard_normal((6, 3)))
    assert "2/2" in capsys.readouterr().out
