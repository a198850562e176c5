import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.manifold import SpectralEmbedding
from sklearn.neighbors import NearestNeighbors

from mvlvm import ViewError
from mvlvm.init import graph_embedding
from mvlvm.init import knn_graph as knn_module
from mvlvm.init.graph_embedding import GraphEmbeddings, graph_eigenmap, graph_layout
from mvlvm.init.knn_graph import knn_graph
from mvlvm.init.pca import pca_init

KINDS = ("eigenmap", "layout")


def generator_at(seed=0):
    return torch.Generator().manual_seed(seed)


def embed(kind, Ys, D=2, seed=0):
    return getattr(GraphEmbeddings(Ys, D, generator_at(seed)), kind)


def centred(Y):
    return torch.as_tensor(Y - np.nanmean(Y, axis=0))


def clusters(n=12, n_clusters=40, d=30):
    """Return isotropically distributed clusters, more than two principal components can separate."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_clusters, d)) * 2
    return centred(np.repeat(centres, n, axis=0) + rng.normal(size=(n * n_clusters, d)))


def swiss_roll(n=400, turns=1.0):
    """Return a Swiss roll and the position of every row along it."""
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(1.5 * np.pi, (1.5 + 2 * turns) * np.pi, size=n))
    return centred(np.column_stack([t * np.cos(t), rng.uniform(0, 4, size=n), t * np.sin(t)])), t


def neighbour_recall(before, after, k=10):
    """Return the fraction of the k nearest neighbours that remain among the k nearest."""
    first, second = (NearestNeighbors(n_neighbors=k).fit(Z).kneighbors(return_distance=False) for Z in (before, after))
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(first, second, strict=True)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("D", [1, 2, 5])
def test_embedding_is_whitened_and_repeatable(kind, D):
    Ys = [clusters(), clusters(d=9)]
    first, again = embed(kind, Ys, D), embed(kind, Ys, D)
    assert first.shape == (480, D)
    assert torch.equal(first, again)
    torch.testing.assert_close(first.T @ first / 480, torch.eye(D, dtype=torch.float64), atol=1e-6, rtol=0)
    torch.testing.assert_close(first.mean(dim=0), torch.zeros(D, dtype=torch.float64), atol=1e-6, rtol=0)


def test_embeddings_computed_together_equal_those_computed_separately():
    Ys = [clusters()]
    together = GraphEmbeddings(Ys, 2, generator_at())
    for kind in KINDS:
        assert torch.equal(getattr(together, kind), embed(kind, Ys))


def test_layout_depends_on_the_seed():
    assert not torch.allclose(embed("layout", [clusters()], seed=0), embed("layout", [clusters()], seed=1))


def test_layout_does_not_shrink_as_edge_weights_grow():
    """Attraction and repulsion are both proportional to a row's weights, and Adam is invariant to scale."""
    graph = knn_graph(swiss_roll(n=8)[0].float(), generator_at())
    initial = torch.randn((8, 2), generator=generator_at())
    sizes = [
        graph_layout(graph._replace(weight=unit * graph.weight), initial, generator_at()).square().mean().sqrt().item()
        for unit in (1.0, 64.0)
    ]
    # only Adam's epsilon differs; a repulsion independent of the weights would give a tenth of the size
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_graph_embeddings_preserve_more_neighbours_than_principal_components():
    Y = clusters()
    components, eigenmap, layout = pca_init([Y], 2), embed("eigenmap", [Y]), embed("layout", [Y])
    assert neighbour_recall(Y, layout) > 2 * neighbour_recall(Y, components)
    assert neighbour_recall(Y, eigenmap) > 2 * neighbour_recall(Y, components)


def test_swiss_roll_is_unrolled():
    Y, position = swiss_roll()
    eigenmap = embed("eigenmap", [Y])
    assert abs(spearmanr(eigenmap[:, 0], position).statistic) > 0.99
    assert neighbour_recall(Y, embed("layout", [Y])) > 1.4 * neighbour_recall(Y, pca_init([Y], 2))


def test_eigenmap_equals_that_of_scikit_learn():
    graph = knn_graph(swiss_roll()[0].float(), generator_at())
    ours = graph_eigenmap(graph, 3).numpy()
    theirs = SpectralEmbedding(3, affinity="precomputed", random_state=0).fit_transform(graph.matrix().toarray())
    correlation = np.abs([np.corrcoef(a, b)[0, 1] for a, b in zip(ours.T, theirs.T, strict=True)])
    np.testing.assert_allclose(correlation, 1, atol=1e-6)


def test_many_rows_are_interpolated_from_a_mapped_subset(monkeypatch):
    Y, position = swiss_roll(n=1500)
    monkeypatch.setattr(graph_embedding, "_MAX_ROWS_DENSE", 300)
    monkeypatch.setattr(knn_module, "MAX_ROWS_EXACT", 500)
    monkeypatch.setattr(knn_module, "_LEAF_SIZE", 100)
    assert abs(spearmanr(embed("eigenmap", [Y])[:, 0], position).statistic) > 0.99
    assert neighbour_recall(Y, embed("layout", [Y])) > 1.5 * neighbour_recall(Y, pca_init([Y], 2))


def test_distances_are_computed_in_at_most_50_principal_components(monkeypatch):
    shapes = []
    original = graph_embedding.knn_graph
    monkeypatch.setattr(graph_embedding, "knn_graph", lambda Z, g: shapes.append(Z.shape) or original(Z, g))
    embed("layout", [centred(np.random.default_rng(0).normal(size=(100, 90)))])
    assert shapes == [(100, 50)] * 2  # of the eigenmap and of the layout


@pytest.mark.parametrize("kind", KINDS)
def test_embedding_does_not_depend_on_the_units_of_views(kind):
    A, B = clusters(), centred(np.random.default_rng(2).normal(size=(480, 5)))
    torch.testing.assert_close(embed(kind, [A, B]), embed(kind, [1e3 * A, B / 1e3]), atol=1e-2, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_entries_are_imputed_and_empty_rows_are_set_to_zero(kind):
    A, B = clusters(), clusters(d=9)
    A[np.random.default_rng(0).random(A.shape) < 0.1] = torch.nan
    A[:3], B[:2], B[5:9] = torch.nan, torch.nan, torch.nan
    X = embed(kind, [A, B])
    assert torch.isfinite(X).all()
    assert (X[:2] == 0).all()
    torch.testing.assert_close(X[2:].square().mean(dim=0), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "Y",
    [np.eye(3), np.random.default_rng(0).normal(size=(4, 6)), np.repeat(np.eye(4), 40, axis=0),
     np.vstack([np.random.default_rng(0).normal(size=(99, 3)), np.full((1, 3), 1e4)])],
    ids=["three rows", "four rows", "duplicates", "an outlier"],
)  # fmt: skip
def test_unusual_data_are_embedded(kind, Y):
    X = embed(kind, [centred(Y)])
    assert torch.isfinite(X).all()
    torch.testing.assert_close(X.square().mean(dim=0), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_more_components_than_the_rank_raise_an_error(kind):
    with pytest.raises(ViewError, match="n_components=4 is too large.*rank 3"):
        embed(kind, [centred(np.random.default_rng(0).normal(size=(20, 3)))], D=4)
