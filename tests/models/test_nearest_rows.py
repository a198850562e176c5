import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from mvlvm.models import nearest_rows as module
from mvlvm.models.nearest_rows import nearest_among, nearest_rows


def rows(n, generator, d=6):
    return torch.randn((n, d), generator=generator)


def found_by_sklearn(Z, k, of=None):
    return NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(Z.numpy()).kneighbors(of)


@pytest.mark.parametrize("block", [2**24, 1000])
def test_all_pairs_find_what_scikit_learn_finds(generator, monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    Z = rows(200, generator)
    near = nearest_rows(Z, 7, generator)
    distance, index = found_by_sklearn(Z, 7)
    assert torch.equal(near.rows, torch.as_tensor(index))
    torch.testing.assert_close(near.squared.sqrt(), torch.as_tensor(distance).float())


def test_a_copy_of_a_row_is_its_neighbour_and_the_row_itself_is_not(generator):
    Z = rows(30, generator).repeat(2, 1)
    near = nearest_rows(Z, 3, generator)
    assert torch.equal(near.rows[:, 0], torch.arange(60).roll(30))
    assert (near.squared[:, 0] == 0).all()
    assert (near.rows != torch.arange(60)[:, None]).all()


def test_distances_far_from_the_origin_are_not_rounded_away(generator):
    Z = rows(50, generator).double() * 1e-3
    near, shifted = nearest_rows(Z, 1, generator), nearest_rows(Z + 1e3, 1, generator)
    torch.testing.assert_close(near.squared, shifted.squared, rtol=1e-3, atol=0)


def test_trees_find_most_neighbours_with_their_distances_and_no_row_twice(generator, monkeypatch):
    monkeypatch.setattr(module, "MOST_FOR_ALL_PAIRS", 100)
    monkeypatch.setattr(module, "_LEAF", 100)
    Z = rows(1501, generator)  # leaves do not come out even
    near = nearest_rows(Z, 10, generator)
    distance, index = found_by_sklearn(Z, 10)
    hits = (near.rows[:, :, None] == torch.as_tensor(index)[:, None, :]).any(dim=2).float().mean()
    assert hits > 0.7  # a tree alone finds a third of them
    assert all(len(set(found)) == 10 for found in near.rows.tolist())
    assert (near.rows != torch.arange(1501)[:, None]).all()
    torch.testing.assert_close(near.squared, (Z[:, None] - Z[near.rows]).square().sum(dim=2))
    assert (near.squared.sqrt() >= torch.as_tensor(distance).float() - 1e-5).all()


def test_the_nearest_among_others_may_be_the_row_itself(generator):
    Z = rows(40, generator)
    near = nearest_among(Z, Z[:10], 3)
    distance, index = found_by_sklearn(Z[:10], 3, of=Z.numpy())
    assert torch.equal(near.rows, torch.as_tensor(index))
    torch.testing.assert_close(near.squared.sqrt(), torch.as_tensor(distance).float(), atol=1e-6, rtol=1e-5)
