import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from mvlvm.init import knn_graph as module
from mvlvm.init.knn_graph import Neighbours, edge_weights, knn_graph, nearest_neighbours, nearest_neighbours_among


def rows(n, generator, d=6):
    return torch.randn((n, d), generator=generator)


def kd_tree_search(Z, k, queries=None):
    return NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(Z.numpy()).kneighbors(queries)


def test_exact_search_finds_the_neighbours_of_a_kd_tree(generator):
    Z = rows(200, generator)
    near = nearest_neighbours(Z, 7, generator)
    distance, index = kd_tree_search(Z, 7)
    assert torch.equal(near.indices, torch.as_tensor(index))
    torch.testing.assert_close(near.squared_distances.sqrt(), torch.as_tensor(distance).float())


def test_duplicates_are_neighbours_but_no_row_is_its_own(generator):
    Z = rows(30, generator).repeat(2, 1)
    near = nearest_neighbours(Z, 3, generator)
    assert torch.equal(near.indices[:, 0], torch.arange(60).roll(30))
    assert (near.squared_distances[:, 0] == 0).all()
    assert (near.indices != torch.arange(60)[:, None]).all()


def test_distances_far_from_the_origin_keep_their_precision(generator):
    Z = rows(50, generator).double() * 1e-3
    near, shifted = nearest_neighbours(Z, 1, generator), nearest_neighbours(Z + 1e3, 1, generator)
    torch.testing.assert_close(near.squared_distances, shifted.squared_distances, rtol=1e-3, atol=0)


@pytest.mark.parametrize("block", [2**24, 30_000], ids=["one block", "many blocks"])
def test_trees_find_most_neighbours_without_repetition(block, generator, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS_EXACT", 100)
    monkeypatch.setattr(module, "_LEAF_SIZE", 100)
    monkeypatch.setattr(module, "DISTANCES_PER_BLOCK", block)
    Z = rows(1501, generator)  # not divisible into leaves of equal size
    near = nearest_neighbours(Z, 10, generator)
    distance, index = kd_tree_search(Z, 10)
    recall = (near.indices[:, :, None] == torch.as_tensor(index)[:, None, :]).any(dim=2).float().mean()
    assert recall > 0.7  # a single tree finds a third of them
    assert all(len(set(found)) == 10 for found in near.indices.tolist())
    assert (near.indices != torch.arange(1501)[:, None]).all()
    torch.testing.assert_close(near.squared_distances, (Z[:, None] - Z[near.indices]).square().sum(dim=2))
    assert (near.squared_distances.sqrt() >= torch.as_tensor(distance).float() - 1e-5).all()


def test_nearest_among_other_rows_may_be_the_row_itself(generator):
    Z = rows(40, generator)
    near = nearest_neighbours_among(Z, Z[:10], 3)
    distance, index = kd_tree_search(Z[:10], 3, queries=Z.numpy())
    assert torch.equal(near.indices, torch.as_tensor(index))
    torch.testing.assert_close(near.squared_distances.sqrt(), torch.as_tensor(distance).float(), atol=1e-6, rtol=1e-5)


def test_perplexity_of_edge_weights_is_a_third_of_the_number_of_neighbours(generator):
    squared = torch.rand((50, 15), generator=generator).mul(100).sort(dim=1).values
    weight = edge_weights(Neighbours(torch.zeros((50, 15), dtype=torch.long), squared))
    torch.testing.assert_close(weight.sum(dim=1), torch.ones(50, dtype=torch.float64))
    torch.testing.assert_close(torch.exp(-(weight * weight.log()).sum(dim=1)), torch.full((50,), 5.0).double())
    # a Gaussian kernel: log weights are linear in squared distances
    rate = weight.log().diff(dim=1) / squared.double().diff(dim=1)
    torch.testing.assert_close(rate, rate[:, :1].expand(-1, 14), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("squared", [torch.zeros((3, 15)), torch.full((3, 15), 7.0)], ids=["duplicates", "equally far"])
def test_equidistant_neighbours_have_equal_weights(squared):
    weight = edge_weights(Neighbours(torch.zeros((3, 15), dtype=torch.long), squared))
    torch.testing.assert_close(weight, torch.full((3, 15), 1 / 15, dtype=torch.float64))


def test_graph_is_symmetric_sorted_and_has_no_loops(generator):
    graph = knn_graph(torch.randn((80, 3), generator=generator), generator)
    A = graph.matrix().toarray()
    np.testing.assert_array_equal(A, A.T)
    assert (np.diag(A) == 0).all()
    assert A.sum() == pytest.approx(80, rel=1e-6)
    assert (graph.source.diff() >= 0).all()
    assert ((A > 0).sum(axis=1) >= 30).all()


@pytest.mark.parametrize("n", [2, 3, 10])
def test_graph_of_few_rows_is_complete(generator, n):
    A = knn_graph(torch.randn((n, 2), generator=generator), generator).matrix().toarray()
    assert ((A > 0) == ~np.eye(n, dtype=bool)).all()


def test_components_are_connected_to_their_nearest(generator):
    centres = torch.tensor([0.0, 100.0, 200.0, 1000.0, 1100.0])
    Z = torch.randn((5, 40, 1), generator=generator) + centres[:, None, None]
    graph = knn_graph(Z.reshape(200, 1), generator)
    component = np.repeat(np.arange(5), 40)
    ends = component[graph.source.numpy()], component[graph.target.numpy()]
    bridges = {(int(a), int(b)) for a, b in zip(*ends, strict=True) if a < b}
    assert {(0, 1), (1, 2), (3, 4)} < bridges
    assert len(bridges) == 4  # and one between the two groups
    assert connected_components(graph.matrix())[0] == 1


def test_graph_of_many_duplicates_is_connected(generator):
    graph = knn_graph(torch.randn((4, 3), generator=generator).repeat_interleave(40, dim=0), generator)
    assert connected_components(graph.matrix())[0] == 1
