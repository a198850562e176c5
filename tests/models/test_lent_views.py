import numpy as np
import torch
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from mvlvm.linalg.leading import JoinedColumns
from mvlvm.models.graph_start import graph_starts
from mvlvm.models.lent_views import lend_views


def three_views(n=60):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, 3))
    return [torch.as_tensor(shared @ rng.normal(size=(3, m)) + 0.1 * rng.normal(size=(n, m))) for m in (6, 9, 4)]


def who_has(n=60):
    """Give rows of which ten lack the last view, ten more the first and the last, and one the second."""
    has = torch.ones((n, 3), dtype=torch.bool)
    has[:20, 2] = False
    has[10:20, 0] = False
    has[30, 1] = False
    return has


def test_a_row_that_lacks_a_view_gets_the_mean_of_its_nearest_by_the_views_it_has():
    parts, has = three_views(), who_has()
    lent = lend_views(JoinedColumns(parts, [1.0, 2.0, 1.0]), has)
    first_two = torch.cat([parts[0], 2 * parts[1]], dim=1).numpy()
    lenders = has.all(dim=1).numpy()
    expected = KNeighborsRegressor(5).fit(first_two[lenders], parts[2][lenders]).predict(first_two[:10])
    np.testing.assert_allclose(lent.parts[2][:10], expected)
    second_alone = parts[1].numpy()
    expected = KNeighborsRegressor(5).fit(second_alone[lenders], parts[2][lenders]).predict(second_alone[10:20])
    np.testing.assert_allclose(lent.parts[2][10:20], expected)


def test_what_rows_have_is_theirs_and_what_is_given_stays_as_it_is():
    parts, has = three_views(), who_has()
    before = [Y.clone() for Y in parts]
    lent = lend_views(JoinedColumns(parts, [1.0] * 3), has)
    for view in range(3):
        assert torch.equal(parts[view], before[view])
        assert torch.equal(lent.parts[view][has[:, view]], before[view][has[:, view]])
        assert not torch.isclose(lent.parts[view], before[view]).all(dim=1)[~has[:, view]].any()


def test_fewer_lenders_than_wanted_all_lend_and_none_leave_a_view_as_it_is():
    first, second = three_views()[:2]
    has = torch.ones((60, 2), dtype=torch.bool)
    has[2:, 1] = False
    lent = lend_views(JoinedColumns([first, second], [1.0] * 2), has)
    np.testing.assert_allclose(lent.parts[1][2:], second[:2].mean(dim=0).expand(58, -1))
    has[:2, 0] = False
    torch.testing.assert_close(lend_views(JoinedColumns([first, second], [1.0] * 2), has).parts[1], second)


def test_rows_without_a_class_start_among_the_rows_of_theirs():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(8), 40)
    images = 1.5 * rng.normal(size=(8, 20))[classes] + rng.normal(size=(320, 20))
    labels = np.eye(8)[classes]
    unseen = rng.random(320) < 0.2
    labels[unseen] = np.nan
    Ys = [torch.as_tensor(Y - np.nanmean(Y, axis=0)) for Y in (images, labels)]
    X = graph_starts(["neighbors"], Ys, 2, torch.Generator().manual_seed(0))["neighbors"].numpy()
    told = KNeighborsClassifier(1).fit(X[~unseen], classes[~unseen]).predict(X[unseen])
    assert np.mean(told == classes[unseen]) > 0.9
