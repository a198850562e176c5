"""Label views: conversion to class codes and back to the format of the input."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
import torch

from mvlvm import ViewError
from mvlvm.views import as_views
from mvlvm.views.labels import label_format_from_dict, label_format_to_dict
from mvlvm.views.validation import as_new_views

Y = np.arange(12.0).reshape(6, 2)
WORDS = ["b", "a", "c", "a", "b", "b"]
ROWS = [f"r{i}" for i in range(6)]


def validated(labels):
    return as_views({"y": Y, "label": labels})


FORMATS = {
    "text": (np.array(WORDS), ("a", "b", "c")),
    "objects": (np.array(WORDS, dtype=object), ("a", "b", "c")),
    "objects with None": (np.array([*WORDS[:5], None], dtype=object), ("a", "b", "c")),
    "integers": (np.array([3, 1, 2, 1, 3, 3], dtype=np.int8), (1, 2, 3)),
    "floats with NaN": (np.array([3.0, 1.0, np.nan, 1.0, 3.0, 3.0]), (1.0, 3.0)),
    "booleans": (np.array([True, False, False, True, True, False]), (False, True)),
    "column of text": (np.array(WORDS)[:, None], ("a", "b", "c")),
    "column of objects": (np.array([*WORDS[:5], None], dtype=object)[:, None], ("a", "b", "c")),
    "Series": (pd.Series(WORDS, index=ROWS, name="cell type"), ("a", "b", "c")),
    "Series with a missing label": (pd.Series([*WORDS[:5], None], index=ROWS), ("a", "b", "c")),
    "string Series": (pd.Series([*WORDS[:5], pd.NA], dtype="string", name="s"), ("a", "b", "c")),
    "Int64 Series": (pd.Series([3, 1, pd.NA, 1, 3, 3], dtype="Int64"), (1, 3)),
    "int Series": (pd.Series([3, 1, 2, 1, 3, 3]), (1, 2, 3)),
    "bool Series": (pd.Series([True, False, False, True, True, False]), (False, True)),
    "categories": (pd.Series(pd.Categorical(WORDS, categories=["c", "b", "a"])), ("c", "b", "a")),
    "ordered categories": (
        pd.Series(pd.Categorical([*WORDS[:5], None], categories=["c", "a", "b"], ordered=True), name="stage"),
        ("c", "a", "b"),
    ),
    "categories of fractions": (pd.Series(pd.Categorical([0.5, 1.5, 0.5, 1.5, 1.5, 0.5])), (0.5, 1.5)),
    "DataFrame": (pd.DataFrame({"kind": WORDS}, index=ROWS), ("a", "b", "c")),
    "DataFrame of categories": (pd.DataFrame({"kind": pd.Categorical([3, 1, 2, 1, 3, 3])}), (1, 2, 3)),
}


def assert_same(got, expected):
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(got, expected)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(got, expected)
    else:
        assert got.dtype.kind == expected.dtype.kind
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("case", FORMATS)
def test_labels_are_converted_to_codes_and_back(case):
    labels, classes = FORMATS[case]
    views = validated(labels)
    assert views.classes == {"label": classes}
    assert [type(label) for label in views.classes["label"]] == [type(label) for label in classes]
    codes = views.arrays["label"]
    assert codes.shape == (6, 1)
    observed = codes[~np.isnan(codes)]
    assert set(observed) == set(range(len(classes)))
    entries = [entry for entry in np.asarray(labels, dtype=object).reshape(-1) if not pd.isna(entry)]
    assert [classes[int(code)] for code in observed] == entries
    assert_same(views.layout.restore(views.arrays)["label"], labels)


@pytest.mark.parametrize("case", FORMATS)
def test_a_serialised_format_returns_the_same_labels(case):
    labels, _ = FORMATS[case]
    views = validated(labels)
    label_format = views.layout.labels["label"]
    saved = label_format_from_dict(json.loads(json.dumps(label_format_to_dict(label_format))))
    assert saved == label_format
    assert_same(saved.labels(views.arrays["label"], views.layout.index), labels)


@pytest.mark.parametrize("case", FORMATS)
def test_a_single_new_row_is_encoded_with_the_classes_of_training(case):
    labels, classes = FORMATS[case]
    known = validated(labels)
    new = as_new_views({"label": labels[:1]}, known.layout, {"y": 2, "label": 1})
    np.testing.assert_array_equal(new.arrays["label"], known.arrays["label"][:1])
    assert new.classes == {"label": classes}
    assert_same(new.layout.restore(new.arrays)["label"], labels[:1])


@pytest.mark.parametrize("case", FORMATS)
def test_probabilities_have_class_columns_if_labels_are_text_or_from_pandas(case):
    labels, classes = FORMATS[case]
    layout = validated(labels).layout
    P = np.random.default_rng(0).dirichlet(np.ones(len(classes)), size=6)
    table = layout.table("label", P, per_class=True)
    if isinstance(labels, np.ndarray) and not isinstance(classes[0], str):
        assert isinstance(table, np.ndarray)
    else:
        assert tuple(table.columns) == classes
        if isinstance(labels, pd.Series | pd.DataFrame):
            assert table.index.equals(labels.index)
    np.testing.assert_array_equal(np.asarray(table), P)
    all_views = layout.restore({"y": Y, "label": P}, per_class=True)
    np.testing.assert_array_equal(all_views["y"], Y)
    np.testing.assert_array_equal(np.asarray(all_views["label"]), P)


def test_a_list_of_views_may_contain_labels_and_none():
    known = as_views([Y, np.array(WORDS)])
    assert known.classes == {"view1": ("a", "b", "c")}
    new = as_new_views([None, np.array(["c", "a"])], known.layout, {"view0": 2, "view1": 1})
    np.testing.assert_array_equal(new.arrays["view1"], [[2.0], [0.0]])
    nothing, labels = new.layout.restore(new.arrays)
    assert nothing is None
    assert labels.tolist() == ["c", "a"]


@pytest.mark.parametrize(
    "labels",
    [WORDS, tuple(WORDS), pd.Categorical(WORDS), np.ma.array(WORDS), [*WORDS[:5], None], [*WORDS[:5], np.nan]],
    ids=["list", "tuple", "Categorical", "masked", "list with None", "list with NaN"],
)
def test_lists_categoricals_and_masked_arrays_are_label_views(labels):
    views = validated(labels)
    assert views.classes == {"label": ("a", "b", "c")}
    np.testing.assert_array_equal(views.arrays["label"][:5], [[1], [0], [2], [0], [1]])
    assert list(views.layout.restore(views.arrays)["label"])[:5] == WORDS[:5]


def test_masked_labels_are_missing():
    masked = np.ma.array([3, 1, 2, 1, 3, 3], mask=[0, 0, 1, 0, 0, 0])
    views = validated(masked)
    assert views.classes == {"label": (1, 3)}
    np.testing.assert_array_equal(views.arrays["label"][:, 0], [1, 0, np.nan, 0, 1, 1])


def test_unused_categories_are_dropped():
    labels = pd.Series(pd.Categorical(WORDS, categories=["z", "c", "b", "a"]))
    assert validated(labels).classes == {"label": ("c", "b", "a")}


def test_integer_tensors_are_labels():
    assert validated(torch.tensor([0, 1, 2, 1, 0, 0])).classes == {"label": (0, 1, 2)}


MATRICES = {
    "one column of numbers": Y[:, :1],
    "one column of booleans": Y[:, :1] > 4,
    "one column of numbers as text": np.array(list("123456"))[:, None],
    "a DataFrame with a column of numbers": pd.DataFrame({"age": [3, 4, 5, 6, 7, 8]}),
}


@pytest.mark.parametrize("case", MATRICES)
def test_a_matrix_with_one_numeric_column_is_not_a_label_view(case):
    views = validated(MATRICES[case])
    assert views.classes == {}
    np.testing.assert_array_equal(views.arrays["label"], np.asarray(MATRICES[case], dtype=np.float64))


def message(views):
    with pytest.raises(ViewError) as caught:
        as_views(views)
    return str(caught.value)


@pytest.mark.parametrize("bare", [np.array(WORDS), np.arange(6), Y[:, 0], pd.Series([1.0, 2.0])], ids=str)
def test_a_single_1d_array_must_be_reshaped(bare):
    assert "Reshape your data" in message(bare)


def test_1d_measurements_must_be_reshaped():
    assert "Expected a 2-dimensional view, got view 'a' with shape (6,). Reshape your data" in message(
        {"a": Y[:, 0] / 7}
    )
    assert "Reshape your data" in message({"a": pd.Series(Y[:, 0] / 7)})
    assert "Reshape your data" in message({"a": np.array([0.5, None, 1.5], dtype=object)})


def test_several_columns_of_text_are_rejected():
    table = np.array([WORDS, WORDS]).T
    assert "must hold numbers only. Got 'b'. Encode text and categories as numbers first" in message({"a": table})
    assert "must hold numbers only. Got 'b'" in message({"a": pd.DataFrame(table)})


def test_labels_of_different_types_are_rejected():
    assert message({"y": Y, "label": ["a", 1, "b", 1, "a", 1]}) == (
        "The labels of view 'label' must have the same type. Got 'a' and 1. "
        "Convert all of them to text, or all to numbers."
    )
    assert "Got True and 1." in message({"y": Y, "label": np.array([True, 1, 2, 1, 1, 2], dtype=object)})


@pytest.mark.parametrize(
    ("label", "kind"), [(datetime.date(2020, 1, 1), "date"), (("a", 1), "tuple"), (np.inf, "float"), (b"a", "bytes")]
)
def test_entries_that_cannot_be_labels_are_rejected(label, kind):
    labels = np.empty(6, dtype=object)
    labels[:] = [label] * 6
    assert message({"y": Y, "label": labels}).startswith(
        "The labels of view 'label' must be text, finite numbers or booleans. Got "
    )
    assert f", of type {kind}. Convert them to text first." in message({"y": Y, "label": labels})


def test_the_number_of_labels_must_match_the_number_of_rows():
    assert "same number of rows. Got y: (6, 2), label: (5, 1)" in message({"y": Y, "label": WORDS[:5]})
    assert "View 'label' must be observed in at least 2 rows. Got 1" in message({"y": Y, "label": ["a"] + [None] * 5})


def test_a_series_must_have_the_row_labels_of_the_dataframes():
    frame, labels = pd.DataFrame(Y, index=ROWS), pd.Series(WORDS, index=ROWS[::-1])
    assert "The row labels of 'label' differ from those of 'y'" in message({"y": frame, "label": labels})


def new_message(labels):
    known = validated(np.array(WORDS))
    with pytest.raises(ViewError) as caught:
        as_new_views({"label": labels}, known.layout, {"y": 2, "label": 1})
    return str(caught.value)


def test_classes_absent_from_training_are_reported():
    assert new_message(["a", "d", None, "e", "d"]) == (
        "View 'label' must hold classes that occur in training. Got 'd', 'e'. The known classes are 'a', 'b', 'c'. "
        "Use NaN or None where the class is unknown, or fit again with such rows."
    )
    assert "Got 1. The known classes are 'a', 'b', 'c'." in new_message(np.array([1]))


def test_new_labels_must_be_one_column():
    assert new_message(np.eye(3)) == (
        "View 'label' must be one column of labels. Got shape (3, 3). Pass one label per row."
    )


def test_new_labels_are_returned_in_their_own_format_not_that_of_training():
    known = validated(np.array(WORDS))
    new = as_new_views({"label": pd.Series(["c", None], name="s")}, known.layout, {"y": 2, "label": 1})
    restored = new.layout.restore({"label": np.array([[2.0], [0.0]])})["label"]
    pd.testing.assert_series_equal(restored, pd.Series(["c", "a"], name="s"))


def test_long_labels_are_not_truncated_to_the_width_of_the_input():
    known = validated(np.array(["short", "something long"] * 3))
    new = as_new_views({"label": np.array(["short"])}, known.layout, {"y": 2, "label": 1})
    assert new.layout.restore({"label": np.array([[1.0]])})["label"].tolist() == ["something long"]
