import numpy as np
import pytest
from scipy import sparse

from mvlvm.datasets import Dataset
from mvlvm.datasets.summary import ViewSummary, summarise

NAN = np.nan


def of_view(Y) -> ViewSummary:
    (view,) = summarise(Dataset({"a view": Y})).views
    return view


def of_numpy(Y) -> ViewSummary:
    """The same numbers by the plainest means, on a dense array."""
    missing = np.isnan(Y)
    known = Y[~missing]
    return ViewSummary(
        name="a view", n_rows=Y.shape[0], n_columns=Y.shape[1], sparse=False, dtype=str(Y.dtype),
        smallest=known.min().item(), largest=known.max().item(),
        share_missing=float(missing.mean()), n_rows_missing=int(missing.all(axis=1).sum()),
    )  # fmt: skip


def with_holes(rng, dtype):
    Y = rng.normal(size=(30, 7)).astype(dtype)
    Y[rng.random(Y.shape) < 0.3] = NAN
    Y[[2, 5, 9]] = NAN
    return Y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_with_missing_entries_and_rows(dtype):
    Y = with_holes(np.random.default_rng(0), dtype)
    assert of_view(Y) == of_numpy(Y)
    assert of_view(Y).n_rows_missing >= 3


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "bool"])
def test_integers_keep_their_exact_range_and_miss_nothing(dtype):
    Y = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 120, size=(20, 3)).astype(dtype)
    view = of_view(Y)
    assert (view.smallest, view.largest) == (Y.min(), Y.max())
    assert isinstance(view.largest, int)
    assert (view.dtype, view.share_missing, view.n_rows_missing) == (dtype, 0, 0)


def test_a_large_integer_is_not_rounded():
    assert of_view(np.array([[2**62 + 1, 0]])).largest == 2**62 + 1


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_a_sparse_view_is_measured_with_its_zeros(form):
    rng = np.random.default_rng(1)
    Y = with_holes(rng, "float64") + 10.0
    Y[rng.random(Y.shape) < 0.5] = 0
    Y[2] = NAN
    view = of_view(sparse.csr_array(Y).asformat(form))
    expected = of_numpy(Y)
    assert view.sparse
    assert (view.smallest, view.largest) == (0, expected.largest)
    assert view.share_missing == pytest.approx(expected.share_missing, abs=1e-15)
    assert view.n_rows_missing == expected.n_rows_missing == 1


def test_zeros_that_are_not_stored_are_the_largest_of_negative_entries():
    view = of_view(sparse.csr_array(np.array([[-3, 0], [-1, -2]])))
    assert (view.smallest, view.largest) == (-3, 0)


def test_a_sparse_view_without_zeros_has_no_zero_in_its_range():
    view = of_view(sparse.csr_array(np.array([[3, 5], [4, 2]])))
    assert (view.smallest, view.largest) == (2, 5)


def test_entries_stored_twice_are_added_and_the_view_is_left_as_it_was():
    Y = sparse.coo_array(([2, 3, 1], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    as_rows = sparse.csr_array((np.array([2, 3, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert of_view(Y).largest == of_view(as_rows).largest == 5
    assert as_rows.data.tolist() == [2, 3, 1]


def test_a_sparse_view_is_never_made_dense():
    huge = sparse.csr_array(([1.5], ([3], [4])), shape=(10**6, 10**6))  # 8 TB as an array
    view = of_view(huge)
    assert (view.n_rows, view.n_columns, view.smallest, view.largest) == (10**6, 10**6, 0, 1.5)


@pytest.mark.parametrize("Y", [np.full((3, 2), NAN), sparse.csr_array(np.full((3, 2), NAN))])
def test_a_view_of_which_nothing_is_known_has_no_range(Y):
    view = of_view(Y)
    assert (view.smallest, view.largest, view.share_missing, view.n_rows_missing) == (None, None, 1, 3)


def test_a_view_without_columns_misses_nothing():
    view = of_view(np.empty((3, 0)))
    assert (view.smallest, view.share_missing, view.n_rows_missing) == (None, 0, 0)


def test_classes_are_counted_the_empty_and_the_unknown_too():
    labels = np.array([0, 2, 2, -1, 0, -1, 2])
    summary = summarise(Dataset({"a": np.zeros((7, 1))}, labels, ("x", "y", "z")))
    assert summary.classes == {"x": 2, "y": 0, "z": 3}
    assert summary.n_unknown == 2


def test_classes_without_names_are_called_by_their_number():
    assert summarise(Dataset({"a": np.zeros((2, 1))}, np.array([1, 1]))).classes == {"0": 0, "1": 2}


def test_data_without_labels_have_no_classes():
    summary = summarise(Dataset({"a": np.zeros((7, 1)), "b": np.ones((7, 2))}))
    assert summary.classes is None
    assert [view.name for view in summary.views] == ["a", "b"]
