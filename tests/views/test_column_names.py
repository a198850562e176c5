"""Names of columns: read from tables of any library, and matched by name."""

import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest

from mvlvm import NGMVLVM, ViewError
from mvlvm.views import as_views
from mvlvm.views.validation import as_new_views

RNG = np.random.default_rng(0)
A = RNG.normal(size=(20, 4)) * [1, 10, 100, 1000]
NAMES = ["dose", "age", "height", "weight"]
FRAME = pd.DataFrame(A, columns=NAMES)
ORDER = [2, 0, 3, 1]
SHUFFLED = FRAME.iloc[:, ORDER]


class ArrayTable:
    """A table like those of polars: names in `columns`, values by `__array__`."""

    def __init__(self, frame):
        self._values, self.columns = frame.to_numpy(), list(frame.columns)

    def __array__(self, dtype=None, copy=None):
        return self._values


class IndexedTable(ArrayTable):
    """A table like those of modin, with row labels."""

    def __init__(self, frame):
        super().__init__(frame)
        self.index = frame.index


class InterchangeTable:
    """A table with the interchange protocol alone."""

    def __init__(self, frame):
        self._frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._frame.__dataframe__(nan_as_null, allow_copy)


class ArrowTable:
    """A table with the Arrow C stream alone."""

    def __init__(self, frame):
        self._table, self.columns = pyarrow.Table.from_pandas(frame, preserve_index=False), list(frame.columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def polars_table(frame):
    return pytest.importorskip("polars").from_dict({name: frame[name].to_numpy() for name in frame.columns})


def modin_table(frame):
    return pytest.importorskip("modin.pandas").DataFrame(frame)


TABLES = {
    "pandas": lambda frame: frame, "pyarrow": lambda frame: pyarrow.Table.from_pandas(frame, preserve_index=False),
    "pyarrow batch": lambda frame: pyarrow.RecordBatch.from_pandas(frame, preserve_index=False),
    "polars": polars_table, "modin": modin_table, "__array__": ArrayTable, "index": IndexedTable,
    "__dataframe__": InterchangeTable, "__arrow_c_stream__": ArrowTable,
}  # fmt: skip


@pytest.fixture(params=TABLES)
def table(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modin, about its engine
        TABLES[request.param](FRAME)
    return TABLES[request.param]


def validate_new(training, new):
    data = as_views(training)
    return as_new_views(new, data.layout, {name: array.shape[1] for name, array in data.arrays.items()})


def test_names_are_read_from_tables_of_any_library(table):
    for views in (table(FRAME), [table(FRAME), FRAME], {"a": table(FRAME)}):
        data = as_views(views)
        name = data.names[0]
        assert list(data.layout.columns[name]) == NAMES
        np.testing.assert_array_equal(data.arrays[name], A)


def test_columns_of_new_rows_are_matched_by_name(table):
    views = validate_new(FRAME, table(SHUFFLED))
    np.testing.assert_array_equal(views.arrays["view0"], A)
    restored = views.layout.restore(views.arrays)
    np.testing.assert_array_equal(restored[NAMES], A)
    views = validate_new({"a": table(SHUFFLED)}, {"a": FRAME})
    np.testing.assert_array_equal(views.arrays["a"], SHUFFLED)


def test_unknown_and_missing_names_are_listed(table):
    given = SHUFFLED.rename(columns={"dose": "shoe size"})
    with pytest.raises(ViewError, match="(?s)unseen at fit time:\n- shoe size\n.*now missing:\n- dose\n"):
        validate_new(FRAME, table(given))


def test_a_table_with_names_is_rejected_by_a_model_without_names(table):
    message = r"columns of view 'view0' have names, 'height', 'dose', 'weight', 'age', and the model was fitted without"
    with pytest.raises(ViewError, match=rf"{message}.*table.to_numpy\(\)"):
        validate_new(A, table(SHUFFLED))
    with pytest.raises(ViewError, match="and the model was fitted without names"):
        validate_new({"a": A, "b": A}, {"b": table(FRAME)})


def test_numbered_columns_are_the_positions_of_a_model_without_names():
    numbered = pd.DataFrame(A)
    np.testing.assert_array_equal(validate_new(A, numbered).arrays["view0"], A)
    np.testing.assert_array_equal(validate_new(A, numbered[ORDER]).arrays["view0"], A)
    with pytest.raises(ViewError, match="X has 3 features, but it is expecting 4"):
        validate_new(A, numbered[[0, 2, 1]])
    with pytest.raises(ViewError, match="have names, 1, 2, 3, 4, and the model"):
        validate_new(A, numbered.set_axis([1, 2, 3, 4], axis=1))


def test_a_single_column_has_no_order(table):
    views = validate_new({"a": A[:, :1], "b": A}, {"a": table(FRAME[["age"]])})
    np.testing.assert_array_equal(views.arrays["a"], A[:, 1:2])


def test_arrays_are_matched_by_position():
    np.testing.assert_array_equal(validate_new(FRAME, A).arrays["view0"], A)


def test_sparse_columns_are_matched_by_name():
    sparse = SHUFFLED.astype(pd.SparseDtype(float))
    np.testing.assert_array_equal(validate_new(FRAME, sparse).arrays["view0"], A)


def test_columns_of_text_are_labels_and_are_not_matched(table):
    kinds = pd.DataFrame({"kind": ["x", "y"] * 10})
    training = {"a": A, "kind": kinds}
    views = validate_new(training, {"kind": table(kinds.rename(columns={"kind": "type"}))})
    np.testing.assert_array_equal(views.arrays["kind"][:, 0], [0, 1] * 10)


def test_one_dimensional_arrow_arrays_remain_labels():
    views = as_views({"a": A, "kind": pyarrow.chunked_array([["x", "y"] * 10])})
    assert views.classes == {"kind": ("x", "y")}


def test_missing_entries_of_arrow_tables_are_nan():
    table = pyarrow.table({"x": [1, None, 3], "y": [0.5, 1.5, None]})
    np.testing.assert_array_equal(as_views(table).arrays["view0"], [[1, 0.5], [np.nan, 1.5], [3, np.nan]])


def test_text_in_a_table_is_reported(table):
    with pytest.raises(ViewError, match="View 'view0' must hold numbers only. Got 'tall'"):
        as_views(table(FRAME.assign(height="tall")))


def test_reordered_columns_give_the_same_latents(table):
    est = NGMVLVM(max_iter=3, tol=0.0, n_points=5, random_state=0).fit(table(FRAME))
    assert list(est.feature_names_in_) == NAMES
    expected = est.transform(FRAME)
    np.testing.assert_array_equal(est.transform(table(SHUFFLED)), expected)
    np.testing.assert_array_equal(est.impute(table(SHUFFLED))[NAMES], A)
