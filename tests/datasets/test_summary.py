"""Summary statistics of dense and sparse views, compared with NumPy."""

import numpy as np
import pytest
from scipy import sparse

from mvlvm.datasets import Dataset
from mvlvm.datasets.summary import ViewSummary, summarise

NAN = np.nan


def summary_of(Y) -> ViewSummary:
    (view,) = summarise(Dataset({"a view": Y})).views
    return view


def numpy_summary(Y) -> ViewSummary:
    """Return the same statistics, computed directly on a dense array."""
    missing = np.isnan(Y)
    observed = Y[~missing]
    return ViewSummary(
        name="a view", n_rows=Y.shape[0], n_columns=Y.shape[1], sparse=False, dtype=str(Y.dtype),
        smallest=observed.min().item(), largest=observed.max().item(),
        share_missing=float(missing.mean()), n_rows_missing=int(missing.all(axis=1).sum()),
    )  # fmt: skip


def with_missing_entries(rng, dtype):
    Y = rng.normal(size=(30, 7)).astype(dtype)
    Y[rng.random(Y.shape) < 0.3] = NAN
    Y[[2, 5, 9]] = NAN
    return Y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_with_missing_entries_and_rows(dtype):
    Y = with_missing_entries(np.random.default_rng(0), dtype)
    assert summary_of(Y) == numpy_summary(Y)
    assert summary_of(Y).n_rows_missing >= 3


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "bool"])
def test_integer_ranges_are_exact_and_nothing_is_missing(dtype):
    Y = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 120, size=(20, 3)).astype(dtype)
    view = summary_of(Y)
    assert (view.smallest, view.largest) == (Y.min(), Y.max())
    assert isinstance(view.largest, int)
    assert (view.dtype, view.share_missing, view.n_rows_missing) == (dtype, 0, 0)


def test_large_integers_are_not_rounded():
    assert summary_of(np.array([[2**62 + 1, 0]])).largest == 2**62 + 1


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_sparse_summary_includes_implicit_zeros(form):
    rng = np.random.default_rng(1)
    Y = with_missing_entries(rng, "float64") + 10.0
    Y[rng.random(Y.shape) < 0.5] = 0
    Y[2] = NAN
    view = summary_of(sparse.csr_array(Y).asformat(form))
    expected = numpy_summary(Y)
    assert view.sparse
    assert (view.smallest, view.largest) == (0, expected.largest)
    assert view.share_missing == pytest.approx(expected.share_missing, abs=1e-15)
    assert view.n_rows_missing == expected.n_rows_missing == 1


def test_implicit_zero_is_the_maximum_of_negative_entries():
    view = summary_of(sparse.csr_array(np.array([[-3, 0], [-1, -2]])))
    assert (view.smallest, view.largest) == (-3, 0)


def test_sparse_view_without_implicit_zeros():
    view = summary_of(sparse.csr_array(np.array([[3, 5], [4, 2]])))
    assert (view.smallest, view.largest) == (2, 5)


def test_duplicate_sparse_entries_are_summed_without_modifying_the_view():
    Y = sparse.coo_array(([2, 3, 1], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    as_rows = sparse.csr_array((np.array([2, 3, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert summary_of(Y).largest == summary_of(as_rows).largest == 5
    assert as_rows.data.tolist() == [2, 3, 1]


def test_sparse_views_are_not_converted_to_dense():
    huge = sparse.csr_array(([1.5], ([3], [4])), shape=(10**6, 10**6))  # 8 TB if dense
    view = summary_of(huge)
    assert (view.n_rows, view.n_columns, view.smallest, view.largest) == (10**6, 10**6, 0, 1.5)


@pytest.mark.parametrize("Y", [np.full((3, 2), NAN), sparse.csr_array(np.full((3, 2), NAN))])
def test_entirely_missing_view_has_no_range(Y):
    view = summary_of(Y)
    assert (view.smallest, view.largest, view.share_missing, view.n_rows_missing) == (None, None, 1, 3)


def test_view_without_columns_has_no_missing_entries():
    view = summary_of(np.empty((3, 0)))
    assert (view.smallest, view.share_missing, view.n_rows_missing) == (None, 0, 0)


def test_class_counts_include_empty_and_unknown_classes():
    labels = np.array([0, 2, 2, -1, 0, -1, 2])
    summary = summarise(Dataset({"a": np.zeros((7, 1))}, labels, ("x", "y", "z")))
    assert summary.classes == {"x": 2, "y": 0, "z": 3}
    assert summary.n_unknown == 2


def test_classes_without_names_are_named_by_their_index():
    assert summarise(Dataset({"a": np.zeros((2, 1))}, np.array([1, 1]))).classes == {"0": 0, "1": 2}


def test_data_without_labels_have_no_classes():
    summary = summarise(Dataset({"a": np.zeros((7, 1)), "b": np.ones((7, 2))}))
    assert summary.classes is None
    assert [view.name for view in summary.views] == ["a", "b"]
