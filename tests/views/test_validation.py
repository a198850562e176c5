"""Input validation of training views, and of new rows for a fitted model."""

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


def test_nested_lists_are_one_matrix():
    assert as_views(GOOD.tolist()).names == ["view0"]


def test_a_list_is_named_by_position_and_a_dict_keeps_names_and_order():
    assert as_views([GOOD, GOOD]).names == ["view0", "view1"]
    assert as_views({"z": GOOD, "a": GOOD}).names == ["z", "a"]


def test_the_users_array_is_neither_copied_nor_writeable():
    Y = GOOD.copy()
    array = as_views(Y).arrays["view0"]
    assert np.shares_memory(array, Y)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 99
    Y[0, 0] = 1  # the original stays writeable


BAD = {
    "different numbers of rows": (
        {"image": GOOD, "text": GOOD[:3]},
        r"same number of rows.*image: \(4, 3\), text: \(3, 3\)",
    ),
    "no views, list": ([], "At least one view is needed"),
    "no views, dict": ({}, "At least one view is needed"),
    "no columns": ({"empty": np.empty((4, 0))}, r"View 'empty' has 0 feature\(s\)"),
    "no rows": (np.empty((0, 3)), r"0 sample\(s\)"),
    "one row": ({"a": GOOD[:1]}, r"View 'a' has 1 sample\(s\)"),
    "strings": ({"a": np.array([["1", "x"], ["2", "y"]])}, "View 'a' must hold numbers only. Got 'x'"),
    "infinity": ({"a": np.where(GOOD == 5, np.inf, GOOD)}, "View 'a' contains infinity: 1 of its 12.*row 1, column 2"),
    "one observed row": (np.where(GOOD > 2, np.nan, GOOD), "View 'view0' must be observed in at least 2 rows. Got 1"),
    "complex": (GOOD + 1j, "real and imaginary parts as two views"),
    "one axis": (GOOD[0], "Reshape your data"),
    "three axes": ({"a": np.zeros((4, 2, 2))}, r"view 'a' with shape \(4, 2, 2\)"),
    "ragged": ([[1.0, 2.0], [3.0]], "View 'view0' cannot be read as a matrix.*same length"),
    "a string": ("views.csv", "must be a matrix. Got str"),
    "None": (None, "must be a matrix. Got NoneType"),
    "a generator": ((row for row in GOOD), "must be a matrix. Got generator"),
    "pairs": ([("a", GOOD), ("b", GOOD)], "View 'view0' cannot be read as a matrix"),
    "a tensor with a gradient": ({"a": torch.ones(4, 3, requires_grad=True)}, "cannot be read as a matrix"),
    "names that are not strings": ({1: GOOD, "1": GOOD}, "names of views must be strings. Got 1, which is of type int"),
    "dates": ({"a": GOOD.astype("datetime64[D]")}, "Got dates"),
    "durations": ({"a": GOOD.astype("timedelta64[D]")}, "Got durations"),
    "too large": ({"a": GOOD * 1e300}, r"largest entry of view 'a' must lie between.*Got 1.1e\+301"),
    "too small": ({"a": GOOD * 1e-300}, "Express the view in other units"),
    "beyond float": ({"a": np.array([[10**400, 1], [1, 2]], dtype=object)}, "beyond the range of floating point"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_views_are_rejected_with_a_specific_message(case):
    views, message = BAD[case]
    with pytest.raises(ViewError, match=message):
        as_views(views)


ONE_MISSING = np.where(GOOD == 5, np.nan, GOOD)
MISSING = {
    "NaN": ONE_MISSING,
    "masked": np.ma.masked_equal(GOOD, 5),
    "sparse": scipy.sparse.csr_matrix(ONE_MISSING),
    "nullable": pd.DataFrame(ONE_MISSING).convert_dtypes(),
    "objects": np.where(GOOD == 5, None, GOOD.astype(object)),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_entries_of_every_container_become_nan(kind):
    np.testing.assert_array_equal(as_views({"a": MISSING[kind]}).arrays["a"], ONE_MISSING)


INTEGERS = GOOD.astype(int)
INTEGER_FRAMES = {
    "int64": pd.DataFrame(INTEGERS),
    "int32": pd.DataFrame(INTEGERS.astype(np.int32)),
    "uint8": pd.DataFrame(INTEGERS.astype(np.uint8)),
    "two integer types": pd.DataFrame(INTEGERS).astype({0: np.uint8}),
    "numbers of three types": pd.DataFrame(INTEGERS).astype({0: np.float32, 1: "Int64"}),
    "Int64": pd.DataFrame(INTEGERS).astype("Int64"),
    "categories": pd.DataFrame(INTEGERS).astype("category"),
}


@pytest.mark.parametrize("kind", INTEGER_FRAMES)
def test_integer_columns_of_a_dataframe_become_float64(kind):
    array = as_views(INTEGER_FRAMES[kind]).arrays["view0"]
    np.testing.assert_array_equal(array, GOOD)
    assert array.dtype == np.float64


def test_boolean_columns_of_a_dataframe_become_zeros_and_ones():
    odd = INTEGERS % 2 == 1
    np.testing.assert_array_equal(as_views(pd.DataFrame(odd)).arrays["view0"], GOOD % 2)
    mixed = pd.DataFrame({"flag": odd[:, 0], "count": pd.array([1, None, 3, 4], dtype="Int64"), "size": GOOD[:, 2]})
    expected = np.column_stack([GOOD[:, 0] % 2, [1, np.nan, 3, 4], GOOD[:, 2]])
    np.testing.assert_array_equal(as_views(mixed).arrays["view0"], expected)


def test_dates_of_a_dataframe_are_reported_as_dates():
    with pytest.raises(ViewError, match="View 'view0' must hold numbers only. Got dates"):
        as_views(pd.DataFrame({"day": pd.date_range("2020", periods=3)}))


@pytest.mark.parametrize("labels", [["r", "q", "p"], ["p", "q", "x"]], ids=["different order", "different labels"])
def test_dataframes_with_different_row_labels_are_rejected(labels):
    first = pd.DataFrame(GOOD[:3], index=["p", "q", "r"])
    second = pd.DataFrame(GOOD[:3], index=labels)
    with pytest.raises(ViewError, match="The row labels of 'protein' differ from those of 'rna'"):
        as_views({"rna": first, "protein": second})


def test_an_infinite_entry_of_a_dataframe_is_reported_with_its_column():
    frame = pd.DataFrame({"gene": [1.0, 2.0], "dose": [3.0, np.inf]})
    with pytest.raises(ViewError, match="row 1, column 'dose'"):
        as_views({"cells": frame})


A, B = np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3)


def validate_new(training, new):
    """Validate new rows for a model of training views."""
    known = as_views(training)
    return as_new_views(new, known.layout, {name: Y.shape[1] for name, Y in known.arrays.items()})


def message(training, new):
    with pytest.raises(ViewError) as caught:
        validate_new(training, new)
    return str(caught.value)


AS_LIST, AS_DICT = [A, B], {"a": A, "b": B}


@pytest.mark.parametrize(
    ("training", "new"),
    [
        (AS_LIST, [None, B]),
        (AS_LIST, [A, None]),
        (AS_LIST, {"view1": B, "view0": A}),
        (AS_DICT, {"a": A, "b": None}),
        (AS_DICT, {"b": None, "a": A}),
        (AS_DICT, {"b": B, "a": A}),
        (AS_DICT, {"b": B}),
    ],
    ids=str,
)
def test_new_rows_are_restored_in_their_layout_with_none_for_missing_views(training, new):
    views = validate_new(training, new)
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


def test_new_views_are_in_the_order_of_training():
    assert validate_new(AS_DICT, {"b": B, "a": A}).names == ["a", "b"]


@pytest.mark.parametrize("training", [A, [A], {"a": A}, pd.DataFrame(A)], ids=["matrix", "list", "dict", "table"])
@pytest.mark.parametrize("new", [A, [A], pd.DataFrame(A), [pd.DataFrame(A)]], ids=["matrix", "list", "table", "tables"])
def test_a_model_of_one_view_accepts_an_unnamed_matrix(training, new):
    views, (name,) = validate_new(training, new), as_views(training).names
    np.testing.assert_array_equal(views.arrays[name], A)
    restored = views.layout.restore(views.arrays)
    assert type(restored) is type(new)
    by_name = validate_new(training, {name: A})
    np.testing.assert_array_equal(by_name.layout.restore(by_name.arrays)[name], A)


def test_a_model_of_one_view_accepts_an_anndata():
    adata = anndata.AnnData(A, obs=pd.DataFrame(index=list("xyz")), var=pd.DataFrame(index=list("gh")))
    views = validate_new({"rna": pd.DataFrame(A, columns=list("gh"))}, adata)
    np.testing.assert_array_equal(views.layout.restore(views.arrays).X, A)
    assert message({"rna": A, "protein": B}, adata) == (
        "The model has 2 views, 'rna', 'protein'. Got one AnnData without a name. Pass a MuData, for example "
        "mudata.MuData({'rna': adata})."
    )


def test_input_that_is_not_a_view_is_rejected_with_its_type():
    assert message(AS_DICT, None) == "New rows must be a dict of matrices. Got None. Pass one or more of 'a', 'b'."
    assert message(AS_DICT, "abc") == "New rows must be a dict of matrices. Got str. Pass one or more of 'a', 'b'."
    assert message(A, None) == "New rows must be a matrix. Got None. Pass one or more of 'view0'."
    assert "cannot be read as a matrix" in message(A, [[1.0, 2.0], [3.0]])
    assert "At least one view is needed. Got none" in message(AS_LIST, {"view0": None})
    assert "one entry for every view of training, 1. Got 2" in message({"a": A}, [A, A])
    assert "no view 'b' in training. The model's views are 'a'" in message({"a": A}, {"b": A})


DAYS = pd.date_range("2020", periods=3)
LABELS = {
    "dates": DAYS,
    "tuples": pd.MultiIndex.from_tuples([(1, "x"), (1, "y"), (2, "x")]),
    "None": pd.Index([None, "x", "y"], dtype=object),
    "booleans": pd.Index([True, False, "x"], dtype=object),
    "NaN": pd.Index([np.nan, 1.0, 2.0]),
    "periods": pd.period_range("2020", periods=3, freq="M"),
    "numbers": pd.RangeIndex(3),
}


@pytest.mark.parametrize("kind", LABELS)
def test_column_labels_match_before_and_after_serialisation(kind):
    frame = pd.DataFrame(B, columns=LABELS[kind])
    serialised = json.loads(json.dumps(json_labels(frame.columns)))
    for training in (frame, pd.DataFrame(B, columns=serialised)):
        np.testing.assert_array_equal(validate_new(training, frame).arrays["view0"], B)
        np.testing.assert_array_equal(validate_new(training, frame.iloc[:, ::-1]).arrays["view0"], B)


def test_text_and_numbers_that_look_the_same_are_distinguished():
    text, numbers = pd.DataFrame(A, columns=["1", "2"]), pd.DataFrame(A, columns=[1, 2])
    assert message(text, numbers).splitlines()[1:6] == [
        "Feature names unseen at fit time:", "- 1", "- 2", "Feature names seen at fit time, yet now missing:", "- '1'",
    ]  # fmt: skip
    assert "missing:\n- 1\n- 2\n" in message(text, pd.DataFrame(A, columns=["x", "y"]))


def test_repeated_column_names_are_not_reported_as_a_different_order():
    once, twice = pd.DataFrame(A, columns=["x", "y"]), pd.DataFrame(B, columns=["x", "y", "x"])
    assert "a different number of times:\n- x: 2, at fit time 1\nPass every" in message(once, twice)
    assert "a different number of times:\n- x: 1, at fit time 2\nPass every" in message(twice, once)
    assert "same order" not in message(once, twice)
    assert "in fit, since these are repeated:\n- x\n" in message(twice, pd.DataFrame(B, columns=["x", "x", "y"]))
    np.testing.assert_array_equal(validate_new(twice, twice).arrays["view0"], B)
