"""Results are returned in the layout of the input."""

import numpy as np
import pandas as pd
import pytest

from mvlvm.views import as_views

A, B = np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize("views", [A, [A, B], {"a": A, "b": B}], ids=["array", "list", "dict"])
def test_views_are_restored_in_the_container_of_the_input(views):
    checked = as_views(views)
    restored = checked.layout.restore(checked.arrays)
    assert type(restored) is type(views)
    np.testing.assert_equal(restored, views)


def test_a_dataframe_is_restored_with_its_row_and_column_labels():
    frame = pd.DataFrame(A, columns=["x", "y"], index=["r1", "r2", "r3"])
    checked = as_views({"table": frame, "array": B})
    restored = checked.layout.restore(checked.arrays)
    pd.testing.assert_frame_equal(restored["table"], frame)
    assert isinstance(restored["array"], np.ndarray)


def test_row_and_column_labels_that_are_not_strings_are_preserved():
    frame = pd.DataFrame(
        A, columns=pd.MultiIndex.from_tuples([(1, "x"), (1, "y")]), index=pd.date_range("2020", periods=3)
    )
    checked = as_views(frame)
    pd.testing.assert_frame_equal(checked.layout.restore(checked.arrays), frame, check_freq=False)


def test_new_rows_do_not_have_the_row_labels_of_training():
    frame = pd.DataFrame(A, columns=["x", "y"], index=["r1", "r2", "r3"])
    checked = as_views(frame)
    restored = checked.layout.of_rows(None).restore({"view0": A[:2]})
    assert list(restored.index) == [0, 1]
    assert list(restored.columns) == ["x", "y"]
