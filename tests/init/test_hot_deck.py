import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from mvlvm.init import hot_deck
from mvlvm.init.graph_embedding import GraphEmbeddings
from mvlvm.init.hot_deck import hot_deck_impute
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix
from tests.gpu import needs_gpu


def make_views(widths=(6, 9, 4), n=60, noise=0.1):
    """Return views of the same factors, each of unit norm."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, 4))
    views = [shared @ rng.normal(size=(4, m)) + noise * rng.normal(size=(n, m)) for m in widths]
    return [torch.as_tensor(Y / np.linalg.norm(Y)) for Y in views]


def presence_pattern(n=60):
    """Return a pattern in which ten rows lack the last view, ten more the first and the last, and one the second."""
    present = torch.ones((n, 3), dtype=torch.bool)
    present[:20, 2] = False
    present[10:20, 0] = False
    present[30, 1] = False
    return present


def concatenate(parts):
    return ConcatenatedMatrix(parts, [1.0] * len(parts))


def impute(parts, present):
    """Return the imputed views in their original units."""
    return [Y.numpy() for Y in hot_deck_impute(concatenate(parts), present).parts]


def nearest_donor(parts, present, row, view):
    """Find the nearest donor by a loop over all rows."""
    best, least = None, np.inf
    for other in range(len(present)):
        common = [v for v in range(len(parts)) if present[row, v] and present[other, v]]
        if present[other, view] and common:
            distance = np.mean([float((parts[v][row] - parts[v][other]).square().sum()) for v in common])
            best, least = (other, distance) if distance < least else (best, least)
    return best


@pytest.mark.parametrize("block", [2**24, 100])
def test_missing_view_is_copied_from_the_nearest_row_in_shared_views(block, monkeypatch):
    monkeypatch.setattr(hot_deck, "DISTANCES_PER_BLOCK", block)
    parts, present = make_views(), presence_pattern()
    result = impute(parts, present)
    for row, view in (~present).nonzero().tolist():
        np.testing.assert_array_equal(result[view][row], parts[view][nearest_donor(parts, present, row, view)])


def test_distances_are_means_over_the_views_that_both_rows_have():
    """Donors share one, two or three views with a recipient: a sum would favour those that share few."""
    parts = make_views(widths=(6, 9, 4, 7))
    present = torch.rand((60, 4), generator=torch.Generator().manual_seed(0)) < 0.6
    result = impute(parts, present)
    donors = {(row, view): nearest_donor(parts, present, row, view) for row, view in (~present).nonzero().tolist()}
    for (row, view), donor in donors.items():
        if donor is not None:
            np.testing.assert_array_equal(result[view][row], parts[view][donor])
    assert sum(donor is not None for donor in donors.values()) > 60


@needs_gpu
def test_imputation_on_a_gpu_equals_that_on_a_cpu():
    parts, present = make_views(), presence_pattern()
    on_gpu = hot_deck_impute(concatenate([Y.cuda() for Y in parts]), present.cuda()).parts
    for on_cpu, Y in zip(impute(parts, present), on_gpu, strict=True):
        np.testing.assert_allclose(Y.cpu().numpy(), on_cpu)


def test_observed_views_and_the_input_are_unchanged():
    parts, present = make_views(), presence_pattern()
    before = [Y.clone() for Y in parts]
    result = impute(parts, present)
    for view in range(3):
        assert torch.equal(parts[view], before[view])
        np.testing.assert_array_equal(result[view][present[:, view]], before[view][present[:, view]])


def test_view_is_unchanged_where_no_donor_shares_a_view():
    first, second = make_views((6, 9))
    present = torch.ones((60, 2), dtype=torch.bool)
    present[:30, 1] = False
    present[30:, 0] = False
    result = impute([first, second], present)
    np.testing.assert_array_equal(result[0], first)
    np.testing.assert_array_equal(result[1], second)


def test_imputed_views_have_unit_norm_however_few_rows_have_them():
    parts = make_views()
    present = torch.ones((60, 3), dtype=torch.bool)
    present[6:, 2] = False
    parts[2] = parts[2] / torch.linalg.matrix_norm(parts[2][:6])
    result = hot_deck_impute(concatenate(parts), present)
    norms = [
        factor * float(torch.linalg.matrix_norm(Y)) for Y, factor in zip(result.parts, result.factors, strict=True)
    ]
    np.testing.assert_allclose(norms, 1.0)


def same_pattern_fraction(Ys, pattern, rows):
    """Return the fraction of the ten nearest rows in a layout with the same missing views, averaged over some rows."""
    centred = [Y - Y.nanmean(dim=0) for Y in Ys]
    X = GraphEmbeddings(centred, 2, torch.Generator().manual_seed(0)).layout.numpy()
    near = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(return_distance=False)
    return np.mean((pattern[near] == pattern[:, None])[rows])


@pytest.mark.parametrize("n_complete", [0, 1, 40])
def test_rows_of_mosaic_data_mix_in_the_layout(n_complete):
    """Half of the rows have the first two views, half the last two, and few or none all three."""
    first, second, third = make_views((20, 20, 20), n=400, noise=0.3)
    pattern = np.random.default_rng(1).permutation(np.arange(400) % 2)
    pattern[:n_complete] = 2
    first[pattern == 1], third[pattern == 0] = torch.nan, torch.nan
    assert same_pattern_fraction([first, second, third], pattern, pattern < 2) < 0.55  # 0.6 to 0.7 without imputation


def test_rows_without_a_view_mix_with_the_others_in_the_layout():
    first, second = make_views((50, 50), n=400, noise=0.3)
    lacks = np.random.default_rng(1).random(400) < 0.2
    second[lacks] = torch.nan
    assert same_pattern_fraction([first, second], lacks, lacks) < 0.27  # 0.36 without imputation


def test_rows_without_a_label_are_embedded_near_rows_of_their_class():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(8), 40)
    images = 1.5 * rng.normal(size=(8, 20))[classes] + rng.normal(size=(320, 20))
    labels = np.eye(8)[classes]
    unlabelled = rng.random(320) < 0.2
    labels[unlabelled] = np.nan
    Ys = [torch.as_tensor(Y - np.nanmean(Y, axis=0)) for Y in (images, labels)]
    X = GraphEmbeddings(Ys, 2, torch.Generator().manual_seed(0)).layout.numpy()
    predicted = KNeighborsClassifier(1).fit(X[~unlabelled], classes[~unlabelled]).predict(X[unlabelled])
    assert np.mean(predicted == classes[unlabelled]) > 0.9
