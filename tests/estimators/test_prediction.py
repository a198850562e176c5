import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mvlvm import NGMVLVM
from mvlvm.datasets import load


@pytest.fixture(scope="module")
def curve():
    return load("s-curve", kernels={"a": "rbf", "b": "rbf"}, n_samples=120, n_features=30, random_state=1)


@pytest.fixture(scope="module")
def fitted(curve):
    return NGMVLVM(max_iter=500, tol=0.0, random_state=1).fit(curve.views)


def test_reconstruction_is_accurate_and_its_error_bars_are_calibrated(curve, fitted):
    mean, std = fitted.reconstruct(return_std=True)
    for name, Y in curve.views.items():
        residual = np.abs(Y - mean[name])
        assert residual.std() < 0.3 * Y.std()
        assert 0.93 < np.mean(residual < 1.96 * std[name]) <= 1.0
        assert std[name].min() >= np.sqrt(fitted.noise_variance_[name]) * (1 - 1e-9)


def test_noise_variance_is_recovered_in_the_units_of_the_data(curve, fitted):
    scaled = NGMVLVM(max_iter=500, tol=0.0, random_state=1).fit({name: 50 * Y for name, Y in curve.views.items()})
    for name in curve.views:
        assert np.sqrt(fitted.noise_variance_[name]) == pytest.approx(0.1, rel=0.25)
        assert scaled.noise_variance_[name] == pytest.approx(2500 * fitted.noise_variance_[name], rel=1e-3)


def test_mean_is_equal_with_and_without_return_std(fitted):
    np.testing.assert_equal(fitted.reconstruct(return_std=True)[0], fitted.reconstruct())


def test_every_view_has_its_own_noise_variance():
    clean = load(
        "s-curve", kernels={"quiet": "rbf", "loud": "rbf"}, n_samples=150, n_features=30, noise_std=0.05, random_state=0
    )
    noise = np.random.default_rng(0).normal(size=(150, 30))
    views = clean.views | {"loud": clean.views["loud"] + 0.5 * noise}
    est = NGMVLVM(max_iter=500, tol=0.0, random_state=0).fit(views)
    assert np.sqrt(est.noise_variance_["quiet"]) == pytest.approx(0.05, rel=0.5)
    assert np.sqrt(est.noise_variance_["loud"]) == pytest.approx(0.5, rel=0.25)


def test_explained_variance_is_that_of_the_reconstruction(curve, fitted):
    for name, Y in curve.views.items():
        residual = Y - fitted.reconstruct()[name]
        expected = 1 - (residual**2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum()
        assert fitted.explained_variance_[name] == pytest.approx(expected, abs=1e-9)


def test_relevance_identifies_the_dimensions_that_a_view_uses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    views = {
        "first": np.outer(X[:, 0], rng.normal(size=6)) + 0.05 * rng.normal(size=(150, 6)),
        "second": np.outer(X[:, 1], rng.normal(size=6)) + 0.05 * rng.normal(size=(150, 6)),
    }
    est = NGMVLVM(init=X, max_iter=300, tol=0.0, random_state=0, learning_rate=0.01).fit(views)
    np.testing.assert_allclose(est.relevance_.sum(axis=1), 1)
    assert est.relevance_[0, 0] > 0.9
    assert est.relevance_[1, 1] > 0.9


def test_samples_have_the_spread_of_the_data_and_are_reproducible(curve, fitted):
    samples = fitted.sample(2000, random_state=0)
    repeated, other = fitted.sample(2000, random_state=0), fitted.sample(2000, random_state=1)
    for name, Y in curve.views.items():
        # latents of the data lie on a curve and those of samples in the whole plane, so only the scales are comparable
        assert 0.5 < samples[name].std() / Y.std() < 1.5
        np.testing.assert_array_equal(samples[name], repeated[name])
        assert np.abs(samples[name] - other[name]).max() > 0


def test_samples_have_latents_from_the_prior():
    """All training rows lie at the origin, where the function has one value; samples vary."""
    Y = np.random.default_rng(0).normal(size=(30, 20))
    settings = {"max_iter": 1, "tol": 0.0, "learning_rate": 1e-12, "n_draws_predict": 1, "scale": None}
    est = NGMVLVM(init=np.zeros((30, 2)), random_state=0, **settings).fit({"y": Y})
    samples = est.sample(500, random_state=0)["y"]
    assert samples.var(axis=0).mean() > 2 * est.noise_variance_["y"]


def test_kernel_matrix_is_a_covariance_and_rejects_unknown_views(fitted):
    K = fitted.kernel_matrix("a")
    assert np.linalg.eigvalsh(K).min() > -1e-9
    np.testing.assert_allclose(K, K.T)
    with pytest.raises(ValueError, match="no view 'c'. The views are: a, b"):
        fitted.kernel_matrix("c")


def test_methods_require_a_fitted_estimator(tmp_path):
    for method in (
        lambda est: est.reconstruct(),
        lambda est: est.sample(1),
        lambda est: est.kernel_matrix("a"),
        lambda est: est.save(tmp_path / "m"),
    ):
        with pytest.raises(NotFittedError):
            method(NGMVLVM())
