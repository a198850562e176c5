"""Simulated data have the documented covariance, latents and factors."""

import numpy as np
import pytest

from mvlvm.datasets import load
from tests import oracles


def test_columns_have_the_specified_covariance():
    data = load(
        "s-curve", kernels={"a": "rbf", "b": "gibbs"}, n_samples=12, n_features=40_000, noise_std=0.3, random_state=0
    )
    for name, Y in data.views.items():
        expected = data.truth["kernels"][name] + 0.09 * np.eye(12)
        # the variance of an entry of the sample covariance over M columns is (K_ii K_jj + K_ij^2) / M
        error = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / 40_000)
        assert np.abs(Y @ Y.T / 40_000 - expected).max() < 5 * error.max()


def test_true_kernels_are_evaluated_at_the_true_latents():
    data = load("s-curve", kernels={"a": "rbf", "b": "gibbs"}, n_samples=10, n_features=2, random_state=0)
    X = data.truth["latents"]

    def gibbs(x, y):
        return oracles.gibbs(x, y, oracles.paper_lengthscale, power=1.0)  # D / 2 for D = 2

    np.testing.assert_allclose(data.truth["kernels"]["a"], oracles.gram(oracles.rbf, X, X), rtol=1e-10)
    np.testing.assert_allclose(data.truth["kernels"]["b"], oracles.gram(gibbs, X, X), rtol=1e-10)


def test_latents_are_an_ordered_s_curve_of_unit_variance():
    data = load("s-curve", kernels={"a": "rbf"}, n_samples=400, n_features=2, random_state=0)
    np.testing.assert_allclose(data.truth["latents"].std(axis=0), 1)
    assert np.all(np.diff(data.truth["angle"]) >= 0)
    np.testing.assert_allclose(
        data.truth["latents"][:, 0] * np.sin(data.truth["angle"]).std(), np.sin(data.truth["angle"]), atol=1e-12
    )


def test_seed_determines_the_data():
    first, again, other = (
        load("s-curve", kernels={"a": "rbf"}, n_samples=20, random_state=seed).views["a"] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1


def test_message_for_an_unknown_kernel_lists_the_known_ones():
    with pytest.raises(ValueError, match="kernels must be one of 'rbf', 'gibbs'. Got 'matern'"):
        load("s-curve", kernels={"a": "matern"})


def linear_r2(Z, Y):
    """Return the fraction of the variance of Y explained by a linear regression on Z."""
    Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    fitted = Z @ np.linalg.lstsq(Z, Y, rcond=None)[0]
    return (fitted**2).sum() / (Y**2).sum()


def test_view_depends_only_on_shared_and_its_private_factors():
    data = load("shared-private", n_samples=400, random_state=0)
    shared, private = data.truth["shared"], data.truth["private"]
    for view, other in (("a", "b"), ("b", "a")):
        assert linear_r2(shared, data[view]) > 0.2
        assert linear_r2(private[view], data[view]) > 0.2
        # expected by chance: 1 / 400
        assert linear_r2(private[other], data[view]) < 0.02


def test_both_views_depend_on_all_factors_moderately_nonlinearly():
    data = load("factors", n_factors=5, random_state=0)
    Z = data.truth["latents"]
    assert Z.shape == (300, 5)
    for Y in data.values():
        assert 0.5 < linear_r2(Z, Y) < 0.95
        assert min(linear_r2(Z[:, [k]], Y) for k in range(5)) > 0.03


def test_sizes_match_the_options():
    data = load("shared-private", n_samples=30, n_features=4, n_shared=2, n_private=0, random_state=0)
    assert {view: Y.shape for view, Y in data.items()} == {"a": (30, 4), "b": (30, 4)}
    assert data.truth["shared"].shape == (30, 2)
    assert data.truth["private"]["a"].shape == (30, 0)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("shared-private", "n_shared"),
        ("factors", "n_factors"),
        ("factors", "n_features"),
        ("shared-private", "n_samples"),
    ],
)
def test_zero_sizes_are_rejected(name, option):
    with pytest.raises(ValueError, match=f"{option} must be an integer of at least"):
        load(name, **{option: 0})


def test_noise_has_the_specified_standard_deviation():
    noise_free, noisy = (load("factors", noise_std=std, random_state=0)["a"] for std in (0.0, 0.5))
    assert np.std(noisy - noise_free) == pytest.approx(0.5, rel=0.02)


def test_list_of_kernels_has_one_view_per_kernel():
    data = load("s-curve", kernels=["rbf", "gibbs", "rbf"], n_samples=10, n_features=2, random_state=0)
    assert list(data) == ["view1", "view2", "view3"]
    assert list(load("s-curve", kernels="gibbs", n_samples=10)) == ["view1"]
    with pytest.raises(ValueError, match="kernels must specify the kernel of at least one view"):
        load("s-curve", kernels=[])
    with pytest.raises(ValueError, match="noise_std must be a non-negative number. Got -1"):
        load("s-curve", noise_std=-1.0)
