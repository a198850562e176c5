import numpy as np
import pytest

from mvlvm.datasets import load
from tests import oracles


def test_columns_have_the_covariance_they_were_drawn_from():
    data = load(
        "s-curve", kernels={"a": "rbf", "b": "gibbs"}, n_samples=12, n_features=40_000, noise_std=0.3, random_state=0
    )
    for name, Y in data.views.items():
        expected = data.truth["kernels"][name] + 0.09 * np.eye(12)
        # an entry of a sample covariance over M columns has a variance of (K_ii K_jj + K_ij^2) / M
        error = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / 40_000)
        assert np.abs(Y @ Y.T / 40_000 - expected).max() < 5 * error.max()


def test_kernels_are_those_of_the_true_latents():
    data = load("s-curve", kernels={"a": "rbf", "b": "gibbs"}, n_samples=10, n_features=2, random_state=0)
    X = data.truth["latents"]

    def gibbs(x, y):
        return oracles.gibbs(x, y, oracles.paper_lengthscale, power=1.0)  # D / 2 for D = 2

    np.testing.assert_allclose(data.truth["kernels"]["a"], oracles.gram(oracles.rbf, X, X), rtol=1e-10)
    np.testing.assert_allclose(data.truth["kernels"]["b"], oracles.gram(gibbs, X, X), rtol=1e-10)


def test_latents_are_an_s_of_unit_variance_in_order():
    data = load("s-curve", kernels={"a": "rbf"}, n_samples=400, n_features=2, random_state=0)
    np.testing.assert_allclose(data.truth["latents"].std(axis=0), 1)
    assert np.all(np.diff(data.truth["angle"]) >= 0)
    np.testing.assert_allclose(
        data.truth["latents"][:, 0] * np.sin(data.truth["angle"]).std(), np.sin(data.truth["angle"]), atol=1e-12
    )


def test_the_seed_decides():
    first, again, other = (
        load("s-curve", kernels={"a": "rbf"}, n_samples=20, random_state=seed).views["a"] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1


def test_an_unknown_kernel_lists_the_known_ones():
    with pytest.raises(ValueError, match="kernels must be one of 'rbf', 'gibbs'. Got 'matern'"):
        load("s-curve", kernels={"a": "matern"})


def test_the_halves_make_whole_digits():
    data = load("digits-halves")
    from sklearn.datasets import load_digits

    whole = np.concatenate([Y.reshape(-1, 8, 4) for Y in data.views.values()], axis=2)
    np.testing.assert_array_equal(whole, load_digits().images)
    np.testing.assert_array_equal(data.labels, load_digits().target)
