"""Sparse views are validated like dense ones."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from mvlvm import ViewError
from mvlvm.views import as_views

GOOD = np.arange(12.0).reshape(4, 3)
SPARSE = [scipy.sparse.csr_matrix, scipy.sparse.dok_matrix, scipy.sparse.coo_array, scipy.sparse.lil_array]


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_views_are_converted_to_dense_arrays(kind):
    counts = kind(GOOD.astype(np.int16))
    for views in (counts, {"counts": counts}, [counts, GOOD]):
        array = next(iter(as_views(views).arrays.values()))
        np.testing.assert_array_equal(array, GOOD)
        assert array.dtype == np.float64


def test_sparse_columns_of_a_dataframe_are_converted_to_dense_arrays():
    counts = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(GOOD.astype(int)), columns=list("xyz"))
    mixed = counts.assign(dense=[1.5, 2.5, 3.5, 4.5])
    views = as_views({"counts": counts, "mixed": mixed})
    np.testing.assert_array_equal(views.arrays["counts"], GOOD)
    np.testing.assert_array_equal(views.arrays["mixed"], np.column_stack([GOOD, [1.5, 2.5, 3.5, 4.5]]))
    assert list(views.layout.columns["counts"]) == ["x", "y", "z"]


def test_an_invalid_sparse_view_is_rejected_as_a_dense_one():
    with pytest.raises(ViewError, match="contains infinity: 1 of its 12"):
        as_views(scipy.sparse.csr_matrix(np.where(GOOD == 5, np.inf, GOOD)))
    with pytest.raises(ViewError, match="real and imaginary parts"):
        as_views(scipy.sparse.csr_matrix(GOOD + 1j))


@pytest.mark.usefixtures("no_type_checks")
def test_a_sparse_view_too_large_for_memory_is_rejected_with_its_size(monkeypatch):
    huge = scipy.sparse.coo_matrix(([1.0], ([0], [0])), shape=(2**31 - 1, 2**20))
    with pytest.raises(ViewError, match=r"^View 'words' is sparse.*need 16,777,216.0 GiB.*TruncatedSVD"):
        as_views({"words": huge})
    small = scipy.sparse.csr_matrix(GOOD)

    def out_of_memory():
        raise MemoryError

    monkeypatch.setattr(small, "toarray", out_of_memory)
    with pytest.raises(ViewError, match="its 4 x 3 entries must fit into memory"):
        as_views({"words": small})


def test_a_sparse_view_may_need_all_of_the_physical_memory(monkeypatch):
    small = scipy.sparse.csr_matrix(GOOD)
    monkeypatch.setattr("mvlvm.views.sparse._physical_memory", lambda: 8.0 * GOOD.size)
    np.testing.assert_array_equal(as_views(small).arrays["view0"], GOOD)
    monkeypatch.setattr("mvlvm.views.sparse._physical_memory", lambda: 8.0 * GOOD.size - 1)
    with pytest.raises(ViewError, match="^View 'view0' is sparse, and its 4 x 3 entries must fit into memory"):
        as_views(small)


def test_text_next_to_sparse_columns_is_rejected_as_text():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([1, 0]), "b": [None, "y"]})
    with pytest.raises(ViewError, match="^View 'cells' must hold numbers only. Got 'y'"):
        as_views({"cells": frame})
