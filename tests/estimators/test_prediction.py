import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mvlvm import NGMVLVM
from mvlvm.datasets import load


@pytest.fixture(scope="module")
def curve():
    return load("s-curve", kernels={"a": "rbf", "b": "rbf"}, n_samples=120, n_features=30, random_state=1)


@pytest.fixture(scope="module")
def trained(curve):
    return NGMVLVM(max_iter=500, tol=0.0, random_state=1).fit(curve.views)


def test_reconstruction_is_close_and_its_error_bars_cover(curve, trained):
    mean, std = trained.reconstruct(return_std=True)
    for name, Y in curve.views.items():
        residual = np.abs(Y - mean[name])
        assert residual.std() < 0.3 * Y.std()
        assert 0.93 < np.mean(residual < 1.96 * std[name]) <= 1.0
        assert std[name].min() >= np.sqrt(trained.noise_variance_[name]) * (1 - 1e-9)


def test_the_noise_is_found_in_the_datas_units(curve, trained):
    scaled = NGMVLVM(max_iter=500, tol=0.0, random_state=1).fit({name: 50 * Y for name, Y in curve.views.items()})
    for name in curve.views:
        assert np.sqrt(trained.noise_variance_[name]) == pytest.approx(0.1, rel=0.25)
        assert scaled.noise_variance_[name] == pytest.approx(2500 * trained.noise_variance_[name], rel=1e-3)


def test_the_mean_is_the_same_with_and_without_its_error_bars(trained):
    np.testing.assert_equal(trained.reconstruct(return_std=True)[0], trained.reconstruct())


def test_every_view_has_a_noise_of_its_own():
    clean = load(
        "s-curve", kernels={"quiet": "rbf", "loud": "rbf"}, n_samples=150, n_features=30, noise_std=0.05, random_state=0
    )
    noise = np.random.default_rng(0).normal(size=(150, 30))
    views = clean.views | {"loud": clean.views["loud"] + 0.5 * noise}
    est = NGMVLVM(max_iter=500, tol=0.0, random_state=0).fit(views)
    assert np.sqrt(est.noise_variance_["quiet"]) == pytest.approx(0.05, rel=0.5)
    assert np.sqrt(est.noise_variance_["loud"]) == pytest.approx(0.5, rel=0.25)


def test_explained_variance_is_that_of_the_reconstruction(curve, trained):
    for name, Y in curve.views.items():
        residual = Y - trained.reconstruct()[name]
        expected = 1 - (residual**2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum()
        assert trained.explained_variance_[name] == pytest.approx(expected, abs=1e-9)


def test_relevance_finds_the_dimension_a_view_uses():
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


def test_samples_have_the_spread_of_the_data_and_repeat_by_seed(curve, trained):
    rows = trained.sample(2000, random_state=0)
    again, other = trained.sample(2000, random_state=0), trained.sample(2000, random_state=1)
    for name, Y in curve.views.items():
        # the data lie on a curve in the latent plane and samples all over it, so only the size is alike
        assert 0.5 < rows[name].std() / Y.std() < 1.5
        np.testing.assert_array_equal(rows[name], again[name])
        assert np.abs(rows[name] - other[name]).max() > 0


def test_the_kernel_matrix_is_a_covariance_and_an_unknown_view_is_named(trained):
    K = trained.kernel_matrix("a")
    assert np.linalg.eigvalsh(K).min() > -1e-9
    np.testing.assert_allclose(K, K.T)
    with pytest.raises(ValueError, match="no view 'c'. The views are: a, b"):
        trained.kernel_matrix("c")


def test_nothing_can_be_asked_before_fit(tmp_path):
    for ask in (
        lambda est: est.reconstruct(),
        lambda est: est.sample(1),
        lambda est: est.kernel_matrix("a"),
        lambda est: est.save(tmp_path / "m"),
    ):
        with pytest.raises(NotFittedError):
            ask(NGMVLVM())


def test_samples_have_latents_from_the_prior():
    """All rows of training lie at the origin, where their function is one value; samples have many."""
    Y = np.random.default_rng(0).normal(size=(30, 20))
    settings = {"max_iter": 1, "tol": 0.0, "learning_rate": 1e-12, "n_draws_predict": 1, "scale": None}
    est = NGMVLVM(init=np.zeros((30, 2)), random_state=0, **settings).fit({"y": Y})
    drawn = est.sample(500, random_state=0)["y"]
    assert drawn.var(axis=0).mean() > 2 * est.noise_variance_["y"]
