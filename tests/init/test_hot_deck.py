import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from mvlvm.init import hot_deck
from mvlvm.init.graph_embedding import graph_init
from mvlvm.init.hot_deck import hot_deck_impute
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix
from tests.gpu import needs_gpu


def views(widths=(6, 9, 4), n=60, noise=0.1):
    """Give views of the same factors, of unit norm."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, 4))
    made = [shared @ rng.normal(size=(4, m)) + noise * rng.normal(size=(n, m)) for m in widths]
    return [torch.as_tensor(Y / np.linalg.norm(Y)) for Y in made]


def who_has(n=60):
    """Give rows of which ten lack the last view, ten more the first and the last, and one the second."""
    present = torch.ones((n, 3), dtype=torch.bool)
    present[:20, 2] = False
    present[10:20, 0] = False
    present[30, 1] = False
    return present


def alike(parts):
    return ConcatenatedMatrix(parts, [1.0] * len(parts))


def lent(parts, present):
    """Give views after lending, in the units they had."""
    return [Y.numpy() for Y in hot_deck_impute(alike(parts), present).parts]


def nearest_lender(parts, present, row, view):
    """Look at all rows, one by one."""
    best, least = None, np.inf
    for other in range(len(present)):
        common = [v for v in range(len(parts)) if present[row, v] and present[other, v]]
        if present[other, view] and common:
            far = np.mean([float((parts[v][row] - parts[v][other]).square().sum()) for v in common])
            best, least = (other, far) if far < least else (best, least)
    return best


@pytest.mark.parametrize("block", [2**24, 100])
def test_a_row_that_lacks_a_view_gets_that_of_the_nearest_in_views_that_both_have(block, monkeypatch):
    monkeypatch.setattr(hot_deck, "DISTANCES_PER_BLOCK", block)
    parts, present = views(), who_has()
    result = lent(parts, present)
    for row, view in (~present).nonzero().tolist():
        np.testing.assert_array_equal(result[view][row], parts[view][nearest_lender(parts, present, row, view)])


def test_distances_are_means_over_the_views_that_both_rows_have():
    """Donors share one, two or three views with a recipient: a sum would favour those that share few."""
    parts = views(widths=(6, 9, 4, 7))
    present = torch.rand((60, 4), generator=torch.Generator().manual_seed(0)) < 0.6
    result = lent(parts, present)
    donors = {(row, view): nearest_lender(parts, present, row, view) for row, view in (~present).nonzero().tolist()}
    for (row, view), donor in donors.items():
        if donor is not None:
            np.testing.assert_array_equal(result[view][row], parts[view][donor])
    assert sum(donor is not None for donor in donors.values()) > 60


@needs_gpu
def test_views_are_lent_alike_on_a_gpu():
    parts, present = views(), who_has()
    there = hot_deck_impute(alike([Y.cuda() for Y in parts]), present.cuda()).parts
    for here, Y in zip(lent(parts, present), there, strict=True):
        np.testing.assert_allclose(Y.cpu().numpy(), here)


def test_what_rows_have_is_theirs_and_what_is_given_stays_as_it_is():
    parts, present = views(), who_has()
    before = [Y.clone() for Y in parts]
    result = lent(parts, present)
    for view in range(3):
        assert torch.equal(parts[view], before[view])
        np.testing.assert_array_equal(result[view][present[:, view]], before[view][present[:, view]])


def test_a_view_stays_as_it_is_where_nobody_who_has_it_can_be_compared():
    first, second = views((6, 9))
    present = torch.ones((60, 2), dtype=torch.bool)
    present[:30, 1] = False
    present[30:, 0] = False
    result = lent([first, second], present)
    np.testing.assert_array_equal(result[0], first)
    np.testing.assert_array_equal(result[1], second)


def test_views_weigh_the_same_however_few_rows_have_them():
    parts = views()
    present = torch.ones((60, 3), dtype=torch.bool)
    present[6:, 2] = False
    parts[2] = parts[2] / torch.linalg.matrix_norm(parts[2][:6])
    result = hot_deck_impute(alike(parts), present)
    norms = [
        factor * float(torch.linalg.matrix_norm(Y)) for Y, factor in zip(result.parts, result.factors, strict=True)
    ]
    np.testing.assert_allclose(norms, 1.0)


def share_of_own_kind(Ys, kind, who):
    """Give the share of some rows' ten nearest in a layout that have the same views as they."""
    centred = [Y - Y.nanmean(dim=0) for Y in Ys]
    X = graph_init(["neighbors"], centred, 2, torch.Generator().manual_seed(0))["neighbors"].numpy()
    near = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(return_distance=False)
    return np.mean((kind[near] == kind[:, None])[who])


@pytest.mark.parametrize("n_whole", [0, 1, 40])
def test_rows_of_a_mosaic_lie_among_each_other(n_whole):
    """Half of the rows have the first two views, half the last two, and few or none all three."""
    first, second, third = views((20, 20, 20), n=400, noise=0.3)
    kind = np.random.default_rng(1).permutation(np.arange(400) % 2)
    kind[:n_whole] = 2
    first[kind == 1], third[kind == 0] = torch.nan, torch.nan
    assert share_of_own_kind([first, second, third], kind, kind < 2) < 0.55  # 0.6 to 0.7 if nothing is lent


def test_rows_that_lack_a_view_lie_among_the_others():
    first, second = views((50, 50), n=400, noise=0.3)
    lacks = np.random.default_rng(1).random(400) < 0.2
    second[lacks] = torch.nan
    assert share_of_own_kind([first, second], lacks, lacks) < 0.27  # 0.36 if nothing is lent


def test_rows_without_a_class_start_among_the_rows_of_theirs():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(8), 40)
    images = 1.5 * rng.normal(size=(8, 20))[classes] + rng.normal(size=(320, 20))
    labels = np.eye(8)[classes]
    unseen = rng.random(320) < 0.2
    labels[unseen] = np.nan
    Ys = [torch.as_tensor(Y - np.nanmean(Y, axis=0)) for Y in (images, labels)]
    X = graph_init(["neighbors"], Ys, 2, torch.Generator().manual_seed(0))["neighbors"].numpy()
    told = KNeighborsClassifier(1).fit(X[~unseen], classes[~unseen]).predict(X[unseen])
    assert np.mean(told == classes[unseen]) > 0.9
