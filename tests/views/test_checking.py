import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from mvlvm import ViewError
from mvlvm.views import as_views

GOOD = np.arange(12.0).reshape(4, 3)


def test_a_matrix_is_one_view():
    views = as_views(GOOD)
    assert views.names == ["view0"]
    np.testing.assert_array_equal(views.arrays["view0"], GOOD)


def test_nested_lists_are_one_matrix_and_not_a_list_of_views():
    assert as_views(GOOD.tolist()).names == ["view0"]


def test_a_list_is_named_in_order_and_a_dict_keeps_its_names_and_order():
    assert as_views([GOOD, GOOD]).names == ["view0", "view1"]
    assert as_views({"z": GOOD, "a": GOOD}).names == ["z", "a"]


def test_the_users_array_is_neither_copied_nor_changed():
    Y = GOOD.copy()
    array = as_views(Y).arrays["view0"]
    assert np.shares_memory(array, Y)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 99
    Y[0, 0] = 1  # the user may


BAD = {
    "rows that disagree": ({"image": GOOD, "text": GOOD[:3]}, r"same number of rows.*image: \(4, 3\), text: \(3, 3\)"),
    "no views, list": ([], "At least one view is needed"),
    "no views, dict": ({}, "At least one view is needed"),
    "no columns": ({"empty": np.empty((4, 0))}, r"View 'empty' has 0 feature\(s\)"),
    "no rows": (np.empty((0, 3)), r"0 sample\(s\)"),
    "one row": ({"a": GOOD[:1]}, r"View 'a' has 1 sample\(s\)"),
    "strings": ({"a": np.array([["1", "x"], ["2", "y"]])}, "View 'a' must hold numbers only. Got 'x'"),
    "infinity": ({"a": np.where(GOOD == 5, np.inf, GOOD)}, "View 'a' contains infinity: 1 of its 12.*row 1, column 2"),
    "hardly a row": (np.where(GOOD > 2, np.nan, GOOD), "View 'view0' must be observed in at least 2 rows. Got 1"),
    "complex": (GOOD + 1j, "real and imaginary parts as two views"),
    "one axis": (GOOD[0], "Reshape your data"),
    "three axes": ({"a": np.zeros((4, 2, 2))}, r"view 'a' with shape \(4, 2, 2\)"),
    "ragged": ([[1.0, 2.0], [3.0]], "View 'view0' cannot be read as a matrix.*same length"),
    "a string": ("views.csv", "must be a matrix. Got str"),
    "None": (None, "must be a matrix. Got NoneType"),
    "a generator": ((row for row in GOOD), "must be a matrix. Got generator"),
    "pairs": ([("a", GOOD), ("b", GOOD)], "View 'view0' cannot be read as a matrix"),
    "a tensor with a gradient": ({"a": torch.ones(4, 3, requires_grad=True)}, "cannot be read as a matrix"),
    "names that are no strings": ({1: GOOD, "1": GOOD}, "names of views must be strings. Got 1, which is of type int"),
    "dates": ({"a": GOOD.astype("datetime64[D]")}, "Got dates"),
    "durations": ({"a": GOOD.astype("timedelta64[D]")}, "Got durations"),
    "too large": ({"a": GOOD * 1e300}, r"largest entry of view 'a' must lie between.*Got 1.1e\+301"),
    "too small": ({"a": GOOD * 1e-300}, "Give the view in other units"),
    "beyond float": ({"a": np.array([[10**400, 1], [1, 2]], dtype=object)}, "beyond the range of floating point"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_views_get_one_clear_sentence(case):
    views, message = BAD[case]
    with pytest.raises(ViewError, match=message):
        as_views(views)


SPARSE = [scipy.sparse.csr_matrix, scipy.sparse.dok_matrix, scipy.sparse.coo_array, scipy.sparse.lil_array]


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_views_are_made_dense(kind):
    counts = kind(GOOD.astype(np.int16))
    for views in (counts, {"counts": counts}, [counts, GOOD]):
        array = next(iter(as_views(views).arrays.values()))
        np.testing.assert_array_equal(array, GOOD)
        assert array.dtype == np.float64


def test_sparse_columns_of_a_dataframe_are_made_dense():
    counts = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(GOOD.astype(int)), columns=list("xyz"))
    mixed = counts.assign(dense=[1.5, 2.5, 3.5, 4.5])
    views = as_views({"counts": counts, "mixed": mixed})
    np.testing.assert_array_equal(views.arrays["counts"], GOOD)
    np.testing.assert_array_equal(views.arrays["mixed"], np.column_stack([GOOD, [1.5, 2.5, 3.5, 4.5]]))
    assert list(views.layout.columns["counts"]) == ["x", "y", "z"]


def test_a_sparse_view_that_is_bad_gets_the_sentence_of_a_dense_one():
    with pytest.raises(ViewError, match="contains infinity: 1 of its 12"):
        as_views(scipy.sparse.csr_matrix(np.where(GOOD == 5, np.inf, GOOD)))
    with pytest.raises(ViewError, match="real and imaginary parts"):
        as_views(scipy.sparse.csr_matrix(GOOD + 1j))


@pytest.mark.usefixtures("no_type_checks")
def test_a_sparse_view_too_large_for_memory_is_refused_with_its_size(monkeypatch):
    huge = scipy.sparse.coo_matrix(([1.0], ([0], [0])), shape=(2**31 - 1, 2**20))
    with pytest.raises(ViewError, match=r"^View 'words' is sparse.*take 16,777,216.0 GiB.*TruncatedSVD"):
        as_views({"words": huge})
    small = scipy.sparse.csr_matrix(GOOD)

    def out_of_memory():
        raise MemoryError

    monkeypatch.setattr(small, "toarray", out_of_memory)
    with pytest.raises(ViewError, match="its 4 x 3 numbers must fit into memory"):
        as_views({"words": small})


def test_a_sparse_view_fits_if_memory_holds_all_of_its_numbers(monkeypatch):
    small = scipy.sparse.csr_matrix(GOOD)
    monkeypatch.setattr("mvlvm.views.sparse._physical_memory", lambda: 8.0 * GOOD.size)
    np.testing.assert_array_equal(as_views(small).arrays["view0"], GOOD)
    monkeypatch.setattr("mvlvm.views.sparse._physical_memory", lambda: 8.0 * GOOD.size - 1)
    with pytest.raises(ViewError, match="^View 'view0' is sparse, and its 4 x 3 numbers must fit into memory"):
        as_views(small)


def test_text_beside_sparse_columns_gets_the_sentence_for_text():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([1, 0]), "b": [None, "y"]})
    with pytest.raises(ViewError, match="^View 'cells' must hold numbers only. Got 'y'"):
        as_views({"cells": frame})


GAP = np.where(GOOD == 5, np.nan, GOOD)
MISSING = {
    "NaN": GAP,
    "masked": np.ma.masked_equal(GOOD, 5),
    "sparse": scipy.sparse.csr_matrix(GAP),
    "nullable": pd.DataFrame(GAP).convert_dtypes(),
    "objects": np.where(GOOD == 5, None, GOOD.astype(object)),
}


@pytest.mark.parametrize("kind", MISSING)
def test_what_is_missing_stays_missing(kind):
    np.testing.assert_array_equal(as_views({"a": MISSING[kind]}).arrays["a"], GAP)


WHOLE = GOOD.astype(int)
COUNTS = {
    "int64": pd.DataFrame(WHOLE),
    "int32": pd.DataFrame(WHOLE.astype(np.int32)),
    "uint8": pd.DataFrame(WHOLE.astype(np.uint8)),
    "two sizes": pd.DataFrame(WHOLE).astype({0: np.uint8}),
    "numbers of three types": pd.DataFrame(WHOLE).astype({0: np.float32, 1: "Int64"}),
    "Int64": pd.DataFrame(WHOLE).astype("Int64"),
    "categories": pd.DataFrame(WHOLE).astype("category"),
}


@pytest.mark.parametrize("kind", COUNTS)
def test_whole_numbers_of_a_dataframe_are_numbers(kind):
    array = as_views(COUNTS[kind]).arrays["view0"]
    np.testing.assert_array_equal(array, GOOD)
    assert array.dtype == np.float64


def test_truth_values_of_a_dataframe_are_zeros_and_ones_beside_numbers_and_gaps():
    odd = WHOLE % 2 == 1
    np.testing.assert_array_equal(as_views(pd.DataFrame(odd)).arrays["view0"], GOOD % 2)
    mixed = pd.DataFrame({"flag": odd[:, 0], "count": pd.array([1, None, 3, 4], dtype="Int64"), "size": GOOD[:, 2]})
    expected = np.column_stack([GOOD[:, 0] % 2, [1, np.nan, 3, 4], GOOD[:, 2]])
    np.testing.assert_array_equal(as_views(mixed).arrays["view0"], expected)


def test_dates_of_a_dataframe_are_called_dates():
    with pytest.raises(ViewError, match="View 'view0' must hold numbers only. Got dates"):
        as_views(pd.DataFrame({"day": pd.date_range("2020", periods=3)}))


@pytest.mark.parametrize("labels", [["r", "q", "p"], ["p", "q", "x"]], ids=["other order", "other labels"])
def test_dataframes_whose_rows_are_labelled_differently_are_refused(labels):
    first = pd.DataFrame(GOOD[:3], index=["p", "q", "r"])
    second = pd.DataFrame(GOOD[:3], index=labels)
    with pytest.raises(ViewError, match="The rows of 'protein' are labelled otherwise than those of 'rna'"):
        as_views({"rna": first, "protein": second})


def test_an_infinite_entry_of_a_dataframe_is_named_by_its_column():
    frame = pd.DataFrame({"gene": [1.0, 2.0], "dose": [3.0, np.inf]})
    with pytest.raises(ViewError, match="row 1, column 'dose'"):
        as_views({"cells": frame})
