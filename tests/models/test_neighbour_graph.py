import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components

from mvlvm.models.nearest_rows import Neighbours
from mvlvm.models.neighbour_graph import neighbour_graph, neighbour_weights


def test_the_weights_of_a_row_have_the_entropy_of_a_third_as_many_equal_neighbours(generator):
    squared = torch.rand((50, 15), generator=generator).mul(100).sort(dim=1).values
    weight = neighbour_weights(Neighbours(torch.zeros((50, 15), dtype=torch.long), squared))
    torch.testing.assert_close(weight.sum(dim=1), torch.ones(50, dtype=torch.float64))
    torch.testing.assert_close(torch.exp(-(weight * weight.log()).sum(dim=1)), torch.full((50,), 5.0).double())
    # a normal density: logarithms of weights are on a straight line over squared distances
    slopes = weight.log().diff(dim=1) / squared.double().diff(dim=1)
    torch.testing.assert_close(slopes, slopes[:, :1].expand(-1, 14), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("squared", [torch.zeros((3, 15)), torch.full((3, 15), 7.0)], ids=["copies", "equally far"])
def test_equally_near_neighbours_weigh_the_same(squared):
    weight = neighbour_weights(Neighbours(torch.zeros((3, 15), dtype=torch.long), squared))
    torch.testing.assert_close(weight, torch.full((3, 15), 1 / 15, dtype=torch.float64))


def test_a_graph_has_every_edge_in_both_directions_sorted_and_none_to_itself(generator):
    graph = neighbour_graph(torch.randn((80, 3), generator=generator), generator)
    A = graph.matrix().toarray()
    np.testing.assert_array_equal(A, A.T)
    assert (np.diag(A) == 0).all()
    assert A.sum() == pytest.approx(80, rel=1e-6)
    assert (graph.start.diff() >= 0).all()
    assert ((A > 0).sum(axis=1) >= 30).all()


@pytest.mark.parametrize("n", [2, 3, 10])
def test_few_rows_are_all_neighbours(generator, n):
    A = neighbour_graph(torch.randn((n, 2), generator=generator), generator).matrix().toarray()
    assert ((A > 0) == ~np.eye(n, dtype=bool)).all()


def test_islands_are_tied_together_by_their_nearest(generator):
    centres = torch.tensor([0.0, 100.0, 200.0, 1000.0, 1100.0])
    Z = torch.randn((5, 40, 1), generator=generator) + centres[:, None, None]
    graph = neighbour_graph(Z.reshape(200, 1), generator)
    island = np.repeat(np.arange(5), 40)
    ends = island[graph.start.numpy()], island[graph.end.numpy()]
    ties = {(int(a), int(b)) for a, b in zip(*ends, strict=True) if a < b}
    assert {(0, 1), (1, 2), (3, 4)} < ties
    assert len(ties) == 4  # and one between the two groups
    assert connected_components(graph.matrix())[0] == 1


def test_many_copies_of_few_rows_make_one_graph(generator):
    graph = neighbour_graph(torch.randn((4, 3), generator=generator).repeat_interleave(40, dim=0), generator)
    assert connected_components(graph.matrix())[0] == 1
