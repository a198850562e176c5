"""Columns of labels at both doors, and back in their own form."""

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


def through(labels):
    return as_views({"y": Y, "label": labels})


FORMS = {
    "text": (np.array(WORDS), ("a", "b", "c")),
    "objects": (np.array(WORDS, dtype=object), ("a", "b", "c")),
    "objects with None": (np.array([*WORDS[:5], None], dtype=object), ("a", "b", "c")),
    "whole numbers": (np.array([3, 1, 2, 1, 3, 3], dtype=np.int8), (1, 2, 3)),
    "floats with NaN": (np.array([3.0, 1.0, np.nan, 1.0, 3.0, 3.0]), (1.0, 3.0)),
    "truth values": (np.array([True, False, False, True, True, False]), (False, True)),
    "column of text": (np.array(WORDS)[:, None], ("a", "b", "c")),
    "column of objects": (np.array([*WORDS[:5], None], dtype=object)[:, None], ("a", "b", "c")),
    "Series": (pd.Series(WORDS, index=ROWS, name="cell type"), ("a", "b", "c")),
    "Series with a gap": (pd.Series([*WORDS[:5], None], index=ROWS), ("a", "b", "c")),
    "string Series": (pd.Series([*WORDS[:5], pd.NA], dtype="string", name="s"), ("a", "b", "c")),
    "Int64 Series": (pd.Series([3, 1, pd.NA, 1, 3, 3], dtype="Int64"), (1, 3)),
    "int Series": (pd.Series([3, 1, 2, 1, 3, 3]), (1, 2, 3)),
    "bool Series": (pd.Series([True, False, False, True, True, False]), (False, True)),
    "categories": (pd.Series(pd.Categorical(WORDS, categories=["c", "b", "a"])), ("c", "b", "a")),
    "categories in order": (
        pd.Series(pd.Categorical([*WORDS[:5], None], categories=["c", "a", "b"], ordered=True), name="stage"),
        ("c", "a", "b"),
    ),
    "categories of fractions": (pd.Series(pd.Categorical([0.5, 1.5, 0.5, 1.5, 1.5, 0.5])), (0.5, 1.5)),
    "DataFrame": (pd.DataFrame({"kind": WORDS}, index=ROWS), ("a", "b", "c")),
    "DataFrame of categories": (pd.DataFrame({"kind": pd.Categorical([3, 1, 2, 1, 3, 3])}), (1, 2, 3)),
}


def same(got, expected):
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(got, expected)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(got, expected)
    else:
        assert got.dtype.kind == expected.dtype.kind
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("case", FORMS)
def test_labels_become_codes_and_come_back(case):
    labels, classes = FORMS[case]
    views = through(labels)
    assert views.classes == {"label": classes}
    assert [type(label) for label in views.classes["label"]] == [type(label) for label in classes]
    codes = views.arrays["label"]
    assert codes.shape == (6, 1)
    seen = codes[~np.isnan(codes)]
    assert set(seen) == set(range(len(classes)))
    entries = [entry for entry in np.asarray(labels, dtype=object).reshape(-1) if not pd.isna(entry)]
    assert [classes[int(code)] for code in seen] == entries
    same(views.layout.restore(views.arrays)["label"], labels)


@pytest.mark.parametrize("case", FORMS)
def test_a_saved_form_gives_the_same_labels(case):
    labels, _ = FORMS[case]
    views = through(labels)
    form = views.layout.labels["label"]
    saved = label_format_from_dict(json.loads(json.dumps(label_format_to_dict(form))))
    assert saved == form
    same(saved.labels(views.arrays["label"], views.layout.index), labels)


@pytest.mark.parametrize("case", FORMS)
def test_one_row_of_any_form_is_encoded_with_the_classes_of_training(case):
    labels, classes = FORMS[case]
    known = through(labels)
    new = as_new_views({"label": labels[:1]}, known.layout, {"y": 2, "label": 1})
    np.testing.assert_array_equal(new.arrays["label"], known.arrays["label"][:1])
    assert new.classes == {"label": classes}
    same(new.layout.restore(new.arrays)["label"], labels[:1])


@pytest.mark.parametrize("case", FORMS)
def test_probabilities_have_the_classes_as_columns_if_they_are_text_or_from_pandas(case):
    labels, classes = FORMS[case]
    layout = through(labels).layout
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


def test_a_list_of_views_may_end_with_labels_and_begin_with_nothing():
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
def test_other_columns_of_labels_are_taken_too(labels):
    views = through(labels)
    assert views.classes == {"label": ("a", "b", "c")}
    np.testing.assert_array_equal(views.arrays["label"][:5], [[1], [0], [2], [0], [1]])
    assert list(views.layout.restore(views.arrays)["label"])[:5] == WORDS[:5]


def test_what_is_masked_is_missing():
    masked = np.ma.array([3, 1, 2, 1, 3, 3], mask=[0, 0, 1, 0, 0, 0])
    views = through(masked)
    assert views.classes == {"label": (1, 3)}
    np.testing.assert_array_equal(views.arrays["label"][:, 0], [1, 0, np.nan, 0, 1, 1])


def test_categories_that_no_row_has_are_dropped():
    labels = pd.Series(pd.Categorical(WORDS, categories=["z", "c", "b", "a"]))
    assert through(labels).classes == {"label": ("c", "b", "a")}


def test_tensors_of_whole_numbers_are_labels():
    assert through(torch.tensor([0, 1, 2, 1, 0, 0])).classes == {"label": (0, 1, 2)}


MATRICES = {
    "one column of numbers": Y[:, :1],
    "one column of truth values": Y[:, :1] > 4,
    "one column of numbers as text": np.array(list("123456"))[:, None],
    "a DataFrame with a column of numbers": pd.DataFrame({"age": [3, 4, 5, 6, 7, 8]}),
}


@pytest.mark.parametrize("case", MATRICES)
def test_a_matrix_with_one_column_is_no_label_view(case):
    views = through(MATRICES[case])
    assert views.classes == {}
    np.testing.assert_array_equal(views.arrays["label"], np.asarray(MATRICES[case], dtype=np.float64))


def message(views):
    with pytest.raises(ViewError) as caught:
        as_views(views)
    return str(caught.value)


@pytest.mark.parametrize("bare", [np.array(WORDS), np.arange(6), Y[:, 0], pd.Series([1.0, 2.0])], ids=str)
def test_a_bare_column_is_still_to_be_reshaped(bare):
    assert "Reshape your data" in message(bare)


def test_one_axis_of_measurements_is_to_be_reshaped():
    assert "Expected a 2-dimensional view, got view 'a' with shape (6,). Reshape your data" in message(
        {"a": Y[:, 0] / 7}
    )
    assert "Reshape your data" in message({"a": pd.Series(Y[:, 0] / 7)})
    assert "Reshape your data" in message({"a": np.array([0.5, None, 1.5], dtype=object)})


def test_several_columns_of_text_are_still_refused():
    table = np.array([WORDS, WORDS]).T
    assert "must hold numbers only. Got 'b'. Encode text and categories as numbers first" in message({"a": table})
    assert "must hold numbers only. Got 'b'" in message({"a": pd.DataFrame(table)})


def test_labels_of_two_kinds_are_refused():
    assert message({"y": Y, "label": ["a", 1, "b", 1, "a", 1]}) == (
        "The labels of view 'label' must be of one kind. Got 'a' beside 1. "
        "Turn them all into text, or all into numbers."
    )
    assert "Got True beside 1." in message({"y": Y, "label": np.array([True, 1, 2, 1, 1, 2], dtype=object)})


@pytest.mark.parametrize(
    ("label", "kind"), [(datetime.date(2020, 1, 1), "date"), (("a", 1), "tuple"), (np.inf, "float"), (b"a", "bytes")]
)
def test_what_can_be_no_label_is_refused(label, kind):
    labels = np.empty(6, dtype=object)
    labels[:] = [label] * 6
    assert message({"y": Y, "label": labels}).startswith(
        "The labels of view 'label' must be text, finite numbers or truth values. Got "
    )
    assert f", of type {kind}. Turn them into text first." in message({"y": Y, "label": labels})


def test_the_number_of_labels_must_match():
    assert "same number of rows. Got y: (6, 2), label: (5, 1)" in message({"y": Y, "label": WORDS[:5]})
    assert "View 'label' must be observed in at least 2 rows. Got 1" in message({"y": Y, "label": ["a"] + [None] * 5})


def test_a_series_must_have_the_row_labels_of_the_tables():
    frame, labels = pd.DataFrame(Y, index=ROWS), pd.Series(WORDS, index=ROWS[::-1])
    assert "The rows of 'label' are labelled otherwise than those of 'y'" in message({"y": frame, "label": labels})


def new_message(labels):
    known = through(np.array(WORDS))
    with pytest.raises(ViewError) as caught:
        as_new_views({"label": labels}, known.layout, {"y": 2, "label": 1})
    return str(caught.value)


def test_a_class_that_training_has_not_seen_is_named():
    assert new_message(["a", "d", None, "e", "d"]) == (
        "View 'label' must hold classes that occur in training. Got 'd', 'e'. The known classes are 'a', 'b', 'c'. "
        "Use NaN or None where the class is unknown, or fit again with such rows."
    )
    assert "Got 1. The known classes are 'a', 'b', 'c'." in new_message(np.array([1]))


def test_new_labels_must_be_one_column():
    assert new_message(np.eye(3)) == (
        "View 'label' must be one column of labels. Got shape (3, 3). Give the label of every row."
    )


def test_new_labels_may_come_in_another_form_and_go_back_in_theirs():
    known = through(np.array(WORDS))
    new = as_new_views({"label": pd.Series(["c", None], name="s")}, known.layout, {"y": 2, "label": 1})
    back = new.layout.restore({"label": np.array([[2.0], [0.0]])})["label"]
    pd.testing.assert_series_equal(back, pd.Series(["c", "a"], name="s"))


def test_long_labels_are_not_cut_to_the_width_of_what_was_given():
    known = through(np.array(["short", "something long"] * 3))
    new = as_new_views({"label": np.array(["short"])}, known.layout, {"y": 2, "label": 1})
    assert new.layout.restore({"label": np.array([[1.0]])})["label"].tolist() == ["something long"]
