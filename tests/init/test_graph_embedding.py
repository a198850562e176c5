import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.manifold import SpectralEmbedding
from sklearn.neighbors import NearestNeighbors

from mvlvm import ViewError
from mvlvm.init import graph_embedding
from mvlvm.init import knn_graph as knn_module
from mvlvm.init.graph_embedding import graph_eigenmap, graph_init, graph_layout
from mvlvm.init.knn_graph import knn_graph
from mvlvm.init.pca import pca_init

KINDS = ("spectral", "neighbors")


def generator_at(seed=0):
    return torch.Generator().manual_seed(seed)


def start(kind, Ys, D=2, seed=0):
    return graph_init([kind], Ys, D, generator_at(seed))[kind]


def centred(Y):
    return torch.as_tensor(Y - np.nanmean(Y, axis=0))


def clusters(n=12, n_clusters=40, d=30):
    """Clusters in all directions, more than a plane through them can keep apart."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_clusters, d)) * 2
    return centred(np.repeat(centres, n, axis=0) + rng.normal(size=(n * n_clusters, d)))


def roll(n=400, turns=1.0):
    """A swiss roll, and how far along it every row lies."""
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(1.5 * np.pi, (1.5 + 2 * turns) * np.pi, size=n))
    return centred(np.column_stack([t * np.cos(t), rng.uniform(0, 4, size=n), t * np.sin(t)])), t


def kept_neighbours(before, after, k=10):
    """Give the share of a row's k nearest that are still among its k nearest."""
    first, second = (NearestNeighbors(n_neighbors=k).fit(Z).kneighbors(return_distance=False) for Z in (before, after))
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(first, second, strict=True)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("D", [1, 2, 5])
def test_a_start_is_finite_uncorrelated_of_unit_variance_and_repeatable(kind, D):
    Ys = [clusters(), clusters(d=9)]
    first, again = start(kind, Ys, D), start(kind, Ys, D)
    assert first.shape == (480, D)
    assert torch.equal(first, again)
    torch.testing.assert_close(first.T @ first / 480, torch.eye(D, dtype=torch.float64), atol=1e-6, rtol=0)
    torch.testing.assert_close(first.mean(dim=0), torch.zeros(D, dtype=torch.float64), atol=1e-6, rtol=0)


def test_starts_made_together_are_those_made_alone():
    Ys = [clusters()]
    together = graph_init(KINDS, Ys, 2, generator_at())
    for kind in KINDS:
        assert torch.equal(together[kind], start(kind, Ys))


def test_another_seed_gives_another_layout():
    assert not torch.allclose(start("neighbors", [clusters()], seed=0), start("neighbors", [clusters()], seed=1))


def test_neighbours_are_kept_where_components_lose_them():
    Y = clusters()
    components, eigenmap, layout = pca_init([Y], 2), start("spectral", [Y]), start("neighbors", [Y])
    assert kept_neighbours(Y, layout) > 2 * kept_neighbours(Y, components)
    assert kept_neighbours(Y, eigenmap) > 2 * kept_neighbours(Y, components)


def test_a_roll_is_unrolled():
    Y, along = roll()
    found = start("spectral", [Y])
    assert abs(spearmanr(found[:, 0], along).statistic) > 0.99
    assert kept_neighbours(Y, start("neighbors", [Y])) > 1.4 * kept_neighbours(Y, pca_init([Y], 2))


def test_the_eigenmap_is_that_of_scikit_learn():
    graph = knn_graph(roll()[0].float(), generator_at())
    ours = graph_eigenmap(graph, 3).numpy()
    theirs = SpectralEmbedding(3, affinity="precomputed", random_state=0).fit_transform(graph.matrix().toarray())
    correlation = np.abs([np.corrcoef(a, b)[0, 1] for a, b in zip(ours.T, theirs.T, strict=True)])
    np.testing.assert_allclose(correlation, 1, atol=1e-6)


def test_layout_does_not_shrink_as_edge_weights_grow():
    """Attraction and repulsion are both proportional to a row's weights, and steps of Adam have no unit of force."""
    graph = knn_graph(roll(n=8)[0].float(), generator_at())
    first = torch.randn((8, 2), generator=generator_at())
    sizes = [
        graph_layout(graph._replace(weight=unit * graph.weight), first, generator_at()).square().mean().sqrt().item()
        for unit in (1.0, 64.0)
    ]
    # all that differs is Adam's epsilon; a repulsion regardless of the weights gives a tenth of the size
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_many_rows_are_mapped_by_way_of_some(monkeypatch):
    Y, along = roll(n=1500)
    monkeypatch.setattr(graph_embedding, "_MAX_ROWS_DENSE", 300)
    monkeypatch.setattr(knn_module, "MAX_ROWS_EXACT", 500)
    monkeypatch.setattr(knn_module, "_LEAF", 100)
    assert abs(spearmanr(start("spectral", [Y])[:, 0], along).statistic) > 0.99
    assert kept_neighbours(Y, start("neighbors", [Y])) > 1.5 * kept_neighbours(Y, pca_init([Y], 2))


def test_distances_are_taken_in_few_directions(monkeypatch):
    seen = []
    original = graph_embedding.knn_graph
    monkeypatch.setattr(graph_embedding, "knn_graph", lambda Z, g: seen.append(Z.shape) or original(Z, g))
    start("neighbors", [centred(np.random.default_rng(0).normal(size=(100, 90)))])
    assert seen == [(100, 50)] * 2  # of the eigenmap and of the layout


@pytest.mark.parametrize("kind", KINDS)
def test_views_weigh_the_same_whatever_their_units(kind):
    A, B = clusters(), centred(np.random.default_rng(2).normal(size=(480, 5)))
    torch.testing.assert_close(start(kind, [A, B]), start(kind, [1e3 * A, B / 1e3]), atol=1e-2, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_are_filled_and_rows_without_entries_start_at_zero(kind):
    A, B = clusters(), clusters(d=9)
    A[np.random.default_rng(0).random(A.shape) < 0.1] = torch.nan
    A[:3], B[:2], B[5:9] = torch.nan, torch.nan, torch.nan
    found = start(kind, [A, B])
    assert torch.isfinite(found).all()
    assert (found[:2] == 0).all()
    torch.testing.assert_close(found[2:].square().mean(dim=0), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "Y",
    [np.eye(3), np.random.default_rng(0).normal(size=(4, 6)), np.repeat(np.eye(4), 40, axis=0),
     np.vstack([np.random.default_rng(0).normal(size=(99, 3)), np.full((1, 3), 1e4)])],
    ids=["three rows", "four rows", "copies", "an outlier"],
)  # fmt: skip
def test_odd_data_have_a_start(kind, Y):
    found = start(kind, [centred(Y)])
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found.square().mean(dim=0), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_components_are_refused(kind):
    with pytest.raises(ViewError, match="n_components=4 is too large.*rank 3"):
        start(kind, [centred(np.random.default_rng(0).normal(size=(20, 3)))], D=4)
