"""Manifold learning preserves neighbourhoods."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.manifold
import torch

from mvlvm import baselines
from mvlvm.baselines.manifold import neighbour_embedding


def three_clusters(seed=0):
    draws = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 30)
    Y = draws.normal(size=(90, 6)) + 20 * np.eye(6)[labels]
    return {"a": Y[:, :2], "b": Y[:, 2:]}, labels


@pytest.mark.parametrize(("name", "parameters"), [
    ("Isomap", {}), ("t-SNE", {"perplexity": 10.0, "max_iter": 500}),
    pytest.param("UMAP", {"max_iter": 100}, marks=pytest.mark.xdist_group("umap")),
])  # fmt: skip
def test_nearest_row_in_embedding_belongs_to_same_cluster(name, parameters):
    if name == "UMAP":
        pytest.importorskip("umap")
    views, labels = three_clusters()
    X = baselines.get(name)(n_components=2, random_state=0, **parameters).fit_transform(views)
    distances = ((X[:, None] - X) ** 2).sum(2)
    np.fill_diagonal(distances, np.inf)
    assert (labels[distances.argmin(1)] == labels).all()


def test_umap_preserves_number_of_torch_threads(monkeypatch):
    """Numba sets the number once, on first use in a process; the stub does so every time."""

    class Threading:
        def __init__(self, **parameters):
            torch.set_num_threads(before + 1)

        def fit_transform(self, Y):
            return Y[:, :2]

    before = torch.get_num_threads()
    monkeypatch.setattr(neighbour_embedding, "_import_umap", lambda: SimpleNamespace(UMAP=Threading))
    baselines.get("UMAP")(n_components=2, random_state=0).fit(three_clusters()[0])
    assert torch.get_num_threads() == before


def test_isomap_with_complete_graph_is_pca():
    Y = np.random.default_rng(0).normal(size=(30, 5)) * [5, 3, 1, 1, 1]
    U, s, _ = np.linalg.svd((Y - Y.mean(0)) / Y.std(0), full_matrices=False)
    X = baselines.get("Isomap")(n_components=2, n_neighbors=29, random_state=0).fit_transform(Y)
    for d in range(2):
        assert abs(np.corrcoef(X[:, d], U[:, d])[0, 1]) == pytest.approx(1, abs=1e-8)
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), s[:2])


def test_isomap_transform_matches_scikit_learn():
    views, _ = three_clusters()
    Y = np.hstack(list(views.values()))
    train, new = Y[::2], Y[1::2]
    est = baselines.get("Isomap")(n_components=3, n_neighbors=4, random_state=0).fit(train)
    np.testing.assert_allclose(est.transform(train), est.embedding_, atol=1e-8)
    (scaling,) = est._validated.scalings.values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it joins the components of a graph
        model = sklearn.manifold.Isomap(n_components=3, n_neighbors=4).fit(scaling.apply(train))
    np.testing.assert_allclose(est.transform(new), model.transform(scaling.apply(new)), atol=1e-8)


def test_t_sne_supports_four_dimensions():
    views, _ = three_clusters()
    X = baselines.get("t-SNE")(n_components=4, max_iter=250, random_state=0).fit_transform(views)
    assert np.linalg.matrix_rank(X) == 4


@pytest.mark.parametrize(("name", "parameters", "message"), [
    ("Isomap", {"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
    ("t-SNE", {"max_iter": 10}, "max_iter must be an integer of at least 250"),
    ("t-SNE", {"perplexity": -1.0}, "perplexity must be a positive number"),
    ("t-SNE", {"learning_rate": "fast"}, "learning_rate must be a positive number"),
    ("UMAP", {"n_neighbors": 1}, "n_neighbors must be an integer of at least 2"),
])  # fmt: skip
def test_invalid_parameters_are_rejected(name, parameters, message):
    if name == "UMAP":
        pytest.importorskip("umap")
    with pytest.raises(ValueError, match=message):
        baselines.get(name)(**parameters).fit(three_clusters()[0])
