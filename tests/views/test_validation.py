"""What comes to a fitted model: its form, its names and its labels."""

import json

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from mvlvm import ViewError
from mvlvm.views import as_views
from mvlvm.views.labels import json_labels
from mvlvm.views.validation import as_new_views

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


A, B = np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3)


def come_to(training, new):
    """Give new rows to a model of training views."""
    known = as_views(training)
    return as_new_views(new, known.layout, {name: Y.shape[1] for name, Y in known.arrays.items()})


def message(training, new):
    with pytest.raises(ViewError) as caught:
        come_to(training, new)
    return str(caught.value)


LISTED, NAMED = [A, B], {"a": A, "b": B}


@pytest.mark.parametrize(
    ("training", "new"),
    [
        (LISTED, [None, B]),
        (LISTED, [A, None]),
        (LISTED, {"view1": B, "view0": A}),
        (NAMED, {"a": A, "b": None}),
        (NAMED, {"b": None, "a": A}),
        (NAMED, {"b": B, "a": A}),
        (NAMED, {"b": B}),
    ],
    ids=str,
)
def test_new_rows_go_back_as_they_came_with_none_where_a_view_is_missing(training, new):
    views = come_to(training, new)
    restored = views.layout.restore({name: Y + 1 for name, Y in views.arrays.items()})
    assert type(restored) is type(new)
    pairs = [(restored, new)] if isinstance(new, list) else [(list(restored.values()), list(new.values()))]
    if isinstance(new, dict):
        assert list(restored) == list(new)
    for got, given in pairs:
        assert [Y is None for Y in got] == [Y is None for Y in given]
        for Y, given_Y in zip(got, given, strict=True):
            if Y is not None:
                np.testing.assert_array_equal(Y, given_Y + 1)


def test_views_are_checked_in_the_order_of_training():
    assert come_to(NAMED, {"b": B, "a": A}).names == ["a", "b"]


@pytest.mark.parametrize("training", [A, [A], {"a": A}, pd.DataFrame(A)], ids=["matrix", "list", "dict", "table"])
@pytest.mark.parametrize("new", [A, [A], pd.DataFrame(A), [pd.DataFrame(A)]], ids=["matrix", "list", "table", "tables"])
def test_a_model_of_one_view_takes_it_without_a_name(training, new):
    views, (name,) = come_to(training, new), as_views(training).names
    np.testing.assert_array_equal(views.arrays[name], A)
    restored = views.layout.restore(views.arrays)
    assert type(restored) is type(new)
    by_name = come_to(training, {name: A})
    np.testing.assert_array_equal(by_name.layout.restore(by_name.arrays)[name], A)


def test_an_anndata_goes_to_a_model_of_one_view_and_back():
    adata = anndata.AnnData(A, obs=pd.DataFrame(index=list("xyz")), var=pd.DataFrame(index=list("gh")))
    views = come_to({"rna": A}, adata)
    np.testing.assert_array_equal(views.layout.restore(views.arrays).X, A)
    assert message({"rna": A, "protein": B}, adata) == (
        "The model has 2 views, 'rna', 'protein'. Got one AnnData without a name. Give a MuData, for example "
        "mudata.MuData({'rna': adata})."
    )


def test_what_holds_no_views_is_named():
    assert message(NAMED, None) == "New rows must be a dict of matrices. Got None. Give one or more of 'a', 'b'."
    assert message(NAMED, "abc") == "New rows must be a dict of matrices. Got str. Give one or more of 'a', 'b'."
    assert message(A, None) == "New rows must be a matrix. Got None. Give one or more of 'view0'."
    assert "cannot be read as a matrix" in message(A, [[1.0, 2.0], [3.0]])
    assert "At least one view is needed. Got none" in message(LISTED, {"view0": None})
    assert "one entry for every view of training, 1. Got 2" in message({"a": A}, [A, A])
    assert "no view 'b' in training. The model's views are 'a'" in message({"a": A}, {"b": A})


DAYS = pd.date_range("2020", periods=3)
LABELS = {
    "dates": DAYS,
    "pairs": pd.MultiIndex.from_tuples([(1, "x"), (1, "y"), (2, "x")]),
    "nothing": pd.Index([None, "x", "y"], dtype=object),
    "truth values": pd.Index([True, False, "x"], dtype=object),
    "NaN": pd.Index([np.nan, 1.0, 2.0]),
    "periods": pd.period_range("2020", periods=3, freq="M"),
    "numbers": pd.RangeIndex(3),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_the_same_after_a_file_and_before_it(kind):
    frame = pd.DataFrame(B, columns=LABELS[kind])
    kept = json.loads(json.dumps(json_labels(frame.columns)))
    for training in (frame, pd.DataFrame(B, columns=kept)):
        np.testing.assert_array_equal(come_to(training, frame).arrays["view0"], B)
    assert "in the same order as they were in fit" in message(pd.DataFrame(B, columns=kept), frame.iloc[:, ::-1])


def test_text_and_a_number_that_look_alike_are_told_apart():
    text, numbers = pd.DataFrame(A, columns=["1", "2"]), pd.DataFrame(A, columns=[1, 2])
    assert message(text, numbers).splitlines()[1:6] == [
        "Feature names unseen at fit time:", "- 1", "- 2", "Feature names seen at fit time, yet now missing:", "- '1'",
    ]  # fmt: skip
    assert "missing:\n- 1\n- 2\n" in message(text, pd.DataFrame(A, columns=["x", "y"]))


def test_a_column_that_is_there_twice_is_no_matter_of_order():
    once, twice = pd.DataFrame(A, columns=["x", "y"]), pd.DataFrame(B, columns=["x", "y", "x"])
    assert "another number of times:\n- x: 2, at fit time 1\nGive every" in message(once, twice)
    assert "another number of times:\n- x: 1, at fit time 2\nGive every" in message(twice, once)
    assert "same order" not in message(once, twice)
    assert "same order" in message(twice, pd.DataFrame(B, columns=["x", "x", "y"]))
    np.testing.assert_array_equal(come_to(twice, twice).arrays["view0"], B)
