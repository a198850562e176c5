"""Principal components against a singular value decomposition."""

import numpy as np

from mvlvm import baselines


def standardised(Y):
    return (Y - Y.mean(0)) / Y.std(0)


def test_components_are_singular_vectors_of_views_with_the_same_say():
    draws = np.random.default_rng(0)
    # columns of very different spread, which are standardised one by one
    views = {"a": draws.normal(size=(40, 3)) * [1, 20, 300], "b": draws.normal(size=(40, 6)) * 10.0 ** np.arange(6)}
    # a has half the columns of b, and the same total variance
    joined = np.hstack([standardised(views["a"]) * np.sqrt(2), standardised(views["b"])])
    U, s, Vt = np.linalg.svd(joined, full_matrices=False)
    est = baselines.get("PCA")(n_components=2).fit(views)
    signs = np.sign((est.embedding_ * U[:, :2]).sum(0))
    np.testing.assert_allclose(est.embedding_, U[:, :2] * s[:2] * signs)
    np.testing.assert_allclose(est.transform(views), est.embedding_)
    low_rank = (U[:, :2] * s[:2]) @ Vt[:2]
    expected = views["b"].mean(0) + views["b"].std(0) * low_rank[:, 3:]
    np.testing.assert_allclose(est.reconstruct()["b"], expected)
