import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from mvlvm.datasets import load
from mvlvm.init import covariance
from mvlvm.init.covariance import covariance_embedding, double_centred, latent_distances, variance_of_differences


def views_from(X, n_columns, seed=0, noise=0.0):
    """Return draws of a Gaussian process with a squared exponential kernel of unit length scale."""
    rng = np.random.default_rng(seed)
    K = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    L = np.linalg.cholesky(K + 1e-8 * np.eye(len(X)))
    return torch.tensor(L @ rng.normal(size=(len(X), n_columns)) + noise * rng.normal(size=(len(X), n_columns)))


def explained(truth, found):
    return LinearRegression().fit(found, truth).score(found, truth)


def test_distances_of_the_latents_are_recovered():
    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = views_from(X, 200_000)
    found = latent_distances(Y, Y, 200_000.0).numpy()
    expected = np.square(X[:, None] - X).sum(axis=2)
    near = (expected < 4) & (expected > 0)
    np.testing.assert_allclose(found[near], expected[near], rtol=0.1, atol=0.03)


def test_distances_do_not_depend_on_the_mean_or_the_unit():
    Y = views_from(np.random.default_rng(0).normal(size=(40, 2)), 50)
    shifted = 1000 * (Y + 3.0)
    first, second = (latent_distances(V, V, variance_of_differences(V)) for V in (Y, shifted))
    torch.testing.assert_close(first, second, rtol=1e-6, atol=1e-6)


def test_double_centring_gives_the_gram_matrix():
    X = torch.tensor(np.random.default_rng(0).normal(size=(20, 3)))
    X = X - X.mean(dim=0)
    torch.testing.assert_close(double_centred(torch.cdist(X, X).square()), X @ X.T)


@pytest.mark.parametrize("seed", [5, 6])
def test_curves_that_principal_components_fold_are_unfolded(seed, generator):
    data = load("s-curve", random_state=seed)
    views = [torch.tensor(Y) for Y in data.values()]
    assert explained(data.truth["latents"], covariance_embedding(views, 2, generator)) > 0.85


def test_landmarks_give_a_similar_embedding(monkeypatch, generator):
    X = 0.7 * np.random.default_rng(0).normal(size=(300, 2))
    views = [views_from(X, 500)]
    everything = covariance_embedding(views, 2, generator)
    monkeypatch.setattr(covariance, "MAX_LANDMARKS", 150)
    assert explained(everything, covariance_embedding(views, 2, generator)) > 0.97
    assert explained(X, everything) > 0.7


def test_the_view_of_the_most_euclidean_distances_is_used(generator):
    X = 0.7 * np.random.default_rng(0).normal(size=(150, 2))
    views = [torch.tensor(np.random.default_rng(1).normal(size=(150, 80))), views_from(X, 80)]
    assert explained(X, covariance_embedding(views, 2, generator)) > 0.7


def test_equal_rows_give_finite_latents(generator):
    Y = views_from(np.random.default_rng(0).normal(size=(30, 2)), 20)
    assert torch.isfinite(covariance_embedding([torch.cat([Y, Y[:10]])], 2, generator)).all()
    assert torch.isfinite(covariance_embedding([torch.cat([Y[:1]] * 20 + [Y[1:2]])], 2, generator)).all()
