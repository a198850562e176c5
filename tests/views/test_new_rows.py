"""What comes to a fitted model: its form, its names and its labels."""

import json

import anndata
import numpy as np
import pandas as pd
import pytest

from mvlvm import ViewError
from mvlvm.views import as_views
from mvlvm.views.labels import plain_labels
from mvlvm.views.new_rows import as_new_views

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
    kept = json.loads(json.dumps(plain_labels(frame.columns)))
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
