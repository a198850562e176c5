"""Writing tables: what is written is read back, or rejected."""

import os
import sys

import mudata
import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import ViewError
from mvlvm.io import read, write
from tests.io.tables import PROTEIN, RNA

SINGLE = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet"]
ALL = [*SINGLE, "h5mu"]
RNG = np.random.default_rng(0)
ROW_NAMES = {
    "text": ["a", "b", "c", "d"], "numbers": [7, 3, 10, 0], "padded": ["007", "7", "1e3", "07"],
    "words for missing": ["NA", "null", "nan", "None"], "quotes": ['5" tube', "a,b", "c\td", "it's"],
    "unicode": ["é", "日本", "ß", "\u2028x"],
}  # fmt: skip


@pytest.mark.parametrize("suffix", ALL)
@pytest.mark.parametrize("case", ROW_NAMES)
def test_row_and_column_names_and_numbers_are_read_back(tmp_path, suffix, case):
    table = pd.DataFrame(RNG.normal(size=(4, 3)), index=ROW_NAMES[case], columns=["x,y", 'the "y"', "NA"])
    table.iloc[1, 2] = np.nan
    if case == "unicode" and suffix not in ("parquet", "h5mu"):
        table = table.drop(index="\u2028x")  # a line end, which text files cannot hold in a name
    write(tmp_path / f"t.{suffix}", table)
    expected = table.set_axis(pd.Index(map(str, table.index), dtype=object), axis=0)
    pd.testing.assert_frame_equal(read(tmp_path / f"t.{suffix}")["t"], expected, check_exact=True)


@pytest.mark.parametrize("suffix", SINGLE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, bool])
def test_arrays_are_read_back_exactly(tmp_path, suffix, dtype):
    array = (10 * RNG.normal(size=(5, 2))).astype(dtype)
    write(str(tmp_path / f"a.{suffix}"), array)
    frame = read(tmp_path / f"a.{suffix}")["a"]
    assert list(frame.columns) == ["x0", "x1"]
    assert isinstance(frame.index, pd.RangeIndex)
    np.testing.assert_array_equal(frame, array.astype(np.float64))


@pytest.mark.parametrize("value", [1e-300, 0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0])
@pytest.mark.parametrize("suffix", ALL)
def test_extreme_numbers_are_read_back_exactly(tmp_path, suffix, value):
    table = pd.DataFrame({"x": [value, 1.0]}, index=["a", "b"])
    write(tmp_path / f"t.{suffix}", table)
    again = next(iter(read(tmp_path / f"t.{suffix}").values()))
    assert again["x"].to_numpy().tobytes() == table["x"].to_numpy().tobytes()


def test_several_tables_are_the_modalities_of_one_file(tmp_path):
    write(tmp_path / "m.h5mu", {"rna": RNA, "protein": PROTEIN, "counts": np.arange(6).reshape(3, 2)})
    with mudata.set_options(pull_on_update=False):
        modalities = mudata.read_h5mu(tmp_path / "m.h5mu").mod
    assert list(modalities) == ["rna", "protein", "counts"]
    np.testing.assert_array_equal(modalities["counts"].X, [[0, 1], [2, 3], [4, 5]])
    write(tmp_path / "m.h5mu", {"rna": RNA, "protein": PROTEIN})
    views = read(tmp_path / "m.h5mu", join="inner")
    pd.testing.assert_frame_equal(views["protein"], PROTEIN.loc[["c1", "c3"]], check_exact=True)


def test_nullable_columns_and_a_dict_of_one_table_are_written(tmp_path):
    table = pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}, index=["a", "b"])
    for suffix in ALL:
        write(tmp_path / f"t.{suffix}", {"t": table})
        np.testing.assert_array_equal(read(tmp_path / f"t.{suffix}")["t"], [[1.0], [np.nan]])


def test_text_columns_are_written_to_files_that_can_hold_them(tmp_path):
    table = pd.DataFrame({"label": ["yes", "no"], "p": [0.25, 0.75]}, index=["a", "b"])
    write(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_bytes() == b",label,p\na,yes,0.25\nb,no,0.75\n"
    write(tmp_path / "t.parquet", table)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), table)
    with pytest.raises(ViewError, match="Table 't' must hold numbers to be written to an .h5mu file.*column 'label'"):
        write(tmp_path / "t.h5mu", table)


@pytest.mark.parametrize("suffix", ["csv.gz", "tsv.gz", "csv", "parquet"])
def test_the_same_table_gives_the_same_file(tmp_path, suffix):
    for name in ("one", "other"):
        write(tmp_path / f"{name}.{suffix}", RNA)
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"other.{suffix}").read_bytes()


def repeated_columns():
    return pd.DataFrame(np.ones((2, 2)), columns=["x", "x"])


BAD = {
    "unknown format": ("t.xlsx", lambda: RNA, r"format of .*t.xlsx is unknown.*\.csv, .*\.h5mu"),
    "nothing": ("t.h5mu", dict, "At least one table is needed"),
    "several tables": ("t.csv", lambda: {"a": RNA, "b": PROTEIN}, "can hold one table. Got 2: 'a', 'b'. Write one"),
    "one dimension": ("t.csv", lambda: np.ones(3), r"must have two dimensions.*Got shape \(3,\)"),
    "repeated rows": ("t.csv", lambda: RNA.set_axis([*"aabc"], axis=0), "row names in .* must be unique.*'a'"),
    "repeated columns": ("t.parquet", repeated_columns, "columns in .* must be unique.*'x'"),
    "repeated rows of a modality": ("t.h5mu", lambda: RNA.set_axis([*"aabc"], axis=0), "row names of 't' in .* unique"),
    "a row without a name": ("t.csv", lambda: RNA.set_axis(["", *"abc"], axis=0), "row names of .* an empty one"),
    "a row name of two lines": ("t.csv", lambda: RNA.set_axis(["a\nb", *"cde"], axis=0), "must not contain line ends"),
    "a padded column name": ("t.tsv", lambda: RNA.rename(columns={"g1": " g1"}), "column names .* begin or end"),
    "a slash": ("t.h5mu", lambda: {"a/b": RNA}, "a name without a slash"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_tables_that_cannot_be_read_back_are_rejected_and_nothing_is_written(tmp_path, case):
    name, make, message = BAD[case]
    with pytest.raises(ViewError, match=message):
        write(tmp_path / name, make())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", ALL)
def test_a_failed_write_leaves_the_old_file(tmp_path, suffix, monkeypatch):
    write(tmp_path / f"t.{suffix}", RNA)

    def fail(*paths):
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            write(tmp_path / f"t.{suffix}", PROTEIN)
    assert os.listdir(tmp_path) == [f"t.{suffix}"]
    pd.testing.assert_frame_equal(read(tmp_path / f"t.{suffix}")["t"], RNA)


def test_a_missing_package_is_reported(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mudata", None)
    with pytest.raises(ModuleNotFoundError, match="Writing .h5mu files needs mudata"):
        write(tmp_path / "t.h5mu", RNA)
    assert os.listdir(tmp_path) == []


def test_the_package_is_reachable():
    assert mvlvm.io.write is write
    assert mvlvm.io.read is mvlvm.views.read
