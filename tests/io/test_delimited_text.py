"""Reading CSV and TSV files: row names, column names, numbers and errors."""

import gzip

import numpy as np
import pandas as pd
import pytest

from mvlvm import ViewError, ViewWarning
from mvlvm.views import read
from tests.io.tables import RNG, write_text

ROW_NAMES = {
    "empty header": (",x\n001,1\n002,2\n", ["001", "002"]),
    "text": ("who,x\nann,1\nbob,2\n", ["ann", "bob"]),
    "id": ("ID,x\n007,1\n010,2\n", ["007", "010"]),
    "_id": ("Mouse_ID,x\n1,1\n2,2\n", ["1", "2"]),
    "written by R": ("x\ty\n1\t5\t6\n2\t7\t8\n", ["1", "2"]),
    "quoted": ('"name","x"\n"a, b",1\n"c",2\n', ["a, b", "c"]),
    "after a byte order mark": ("\ufeffid,x\na,1\nb,2\n", ["a", "b"]),
    "names that look missing": ("id,x\nNA,1\nnull,2\n", ["NA", "null"]),
    "written by R, one column": ('"x"\n"r1",1\n"r2",2\n', ["r1", "r2"]),
    "written by R, with commas": ("x,y\n1,5,6\n2,7,8\n", ["1", "2"]),
    "two words": ("Patient ID,x\n7,1\n3,2\n", ["7", "3"]),
    "camel case": ("MouseID,x\n7,1\n3,2\n", ["7", "3"]),
    "a point": ("Sample.ID,x\n7,1\n3,2\n", ["7", "3"]),
    "R's row names": ("Row.names,x\n7,1\n3,2\n", ["7", "3"]),
    "a hash": ("#id,x\n7,1\n3,2\n", ["7", "3"]),
    "a barcode": ("cell_barcode,x\n7,1\n3,2\n", ["7", "3"]),
    "row numbers before it": (",patient_id,x\n0,17,1\n1,12,2\n", ["17", "12"]),
    "row numbers as named by pandas": ("Unnamed: 0,patient_id,x\n0,17,1\n1,12,2\n", ["17", "12"]),
    "padded numbers before it": (",patient_id,x\n01,17,1\n02,12,2\n", ["01", "02"]),
    "spaces around names": ("id , x \n a b ,1\nc ,2\n", ["a b", "c"]),
    "spaces before quotes": ('x, "y"\n "a", "1", 3\n "b", "2", 4\n', ["a", "b"]),
    "a quote inside": ('id,x\n5" tube,1\n"6"" tube",2\n', ['5" tube', '6" tube']),
    "a line of spaces": ("id,x\na,1\n   \nb,2\n  \n", ["a", "b"]),
    "an empty row of a TSV": ("id\tx\na\t1\nb\t\n", ["a", "b"]),
}


@pytest.mark.parametrize("case", ROW_NAMES)
def test_row_names_in_the_first_column_are_recognised_and_remain_text(tmp_path, case):
    content, expected = ROW_NAMES[case]
    path = write_text(tmp_path, content, "t.tsv" if "\t" in content else "t.csv")
    frame = read(path)["t"]
    assert list(frame.index) == expected
    assert "x" in frame.columns


def test_a_first_column_of_measurements_is_not_read_as_row_names(tmp_path):
    frame = read(write_text(tmp_path, "age,dose\nNA,1\nNA,2\n31,3\n"))["table"]
    np.testing.assert_array_equal(frame, [[np.nan, 1], [np.nan, 2], [31, 3]])
    frame = read(write_text(tmp_path, "age,dose\n31,1e-3\n47,2.5\n"))["table"]
    assert isinstance(frame.index, pd.RangeIndex)
    np.testing.assert_array_equal(frame, [[31, 1e-3], [47, 2.5]])


def test_increasing_numbers_are_read_as_column_names_with_a_warning(tmp_path):
    with pytest.warns(ViewWarning, match="table.csv was read as column names: '400', '410.5', '420'. If it holds"):
        frame = read(write_text(tmp_path, "400,410.5,420\n1,2,3\n4,5,6\n"))["table"]
    assert list(frame.columns) == ["400", "410.5", "420"]
    for first, row_names in (("id", "auto"), ("", "auto"), ("who", "who")):
        path = write_text(tmp_path, f"{first},7157,672\na,1,2\nb,3,4\n")
        assert list(read(path, row_names=row_names)["table"].columns) == ["7157", "672"]


def test_the_column_of_row_names_can_be_specified_or_disabled(tmp_path):
    numbered = write_text(tmp_path, ",mouse,x\n0,17,1\n1,12,2\n")
    assert list(read(numbered, row_names="mouse")["table"].index) == ["17", "12"]
    assert list(read(numbered, row_names="mouse")["table"].columns) == ["x"]
    assert list(read(numbered, row_names=None)["table"].columns) == ["mouse", "x"]
    path = write_text(tmp_path, "dose,patient\n1,007\n2,010\n")
    assert list(read(path, row_names="patient")["table"].index) == ["007", "010"]
    assert list(read(path, row_names="patient")["table"].columns) == ["dose"]
    assert list(read(write_text(tmp_path, "id,x\n3,1\n4,2\n"), row_names=None)["table"].columns) == ["id", "x"]
    with pytest.raises(ViewError, match=r"table.csv has no column 'patient'.*Its columns are: 'id', 'x'"):
        read(path, row_names="patient")


def test_missing_entries_are_nan(tmp_path):
    frame = read(write_text(tmp_path, "id,x,y,z\na,1,,NA \nb,NaN,2, nan\nc,3 ,4,5\n"))["table"]
    np.testing.assert_array_equal(frame, [[1, np.nan, np.nan], [np.nan, 2, np.nan], [3, 4, 5]])


def test_numbers_are_read_without_rounding(tmp_path):
    values = RNG.normal(size=200) * 10.0 ** RNG.integers(-20, 20, size=200)
    path = write_text(tmp_path, "x,y\n" + "".join(f"{value!r},0\n" for value in values.tolist()))
    np.testing.assert_array_equal(read(path)["table"]["x"], values)
    path = write_text(tmp_path, "x,y\n" + "".join(f"{value!r},0\n" for value in values.tolist()) + "NA ,0\n")
    np.testing.assert_array_equal(read(path)["table"]["x"], [*values, np.nan])


BAD_TEXT = {
    "empty": ("", "table.csv is empty"),
    "header only": ("id,x\n", "table.csv has no rows"),
    "ragged, too few": ("id,x,y\na,1,2\nb,3\n", "Line 3 of .*table.csv must have one entry per column, 3. Got 2"),
    "ragged, too many": ("id,x\na,1\nb,3,4\n", "Line 3 of .*table.csv must have one entry per column, 2. Got 3"),
    "a comma at the end": ("x,y\n1,2,\n3,4,\n", "Line 2 of .* must have one entry per column, 2. Got 3"),
    "an empty line in one column": ("x\n1\n\n3\n", "Line 3 of .* must have one entry per column, 1. Got 0"),
    "text among numbers": (
        "id,x,city\na,1,2\nb,2,Rome\n",
        "Column 'city' of .*table.csv.*Got 'Rome' in row 'b'.*row_names",
    ),
    "a typing error in the first column": ("x,y\n1,2\n2,3\n3..4,5\n", r"Column 'x' .*Got '3\.\.4' in row 2"),
    "decimal commas": ('id,x\na,"1,5"\nb,"2,5"\n', "Got '1,5'"),
    "repeated columns": ("id,x,y,x\na,1,2,3\n", "columns of .*table.csv must have different names. Got .* 'x'"),
    "a column without a name": ("id,x,\na,1,2\n", "columns of .*table.csv must have names. Got none for 1"),
    "repeated rows": (
        "id,x\n" + "".join(f"r{i},1\n" for i in [*range(7), *range(7)]),
        "row names of .*table.csv must be unique. Got 7 that appear more than once: "
        "'r0', 'r1', 'r2', 'r3', 'r4', .... Rename",
    ),
    "a row without a name": ("id,x\na,1\n,2\n", "Every row of .*table.csv must have a name. Got 1 without"),
    "row names only": ("id\na\nb\n", "must have at least one column of numbers"),
    "no column names": ("1.5,0.2,3\n4,5,6\n", "table.csv must hold the column names. Got numbers: '1.5', '0.2', '3'"),
    "row but no column names": ("a,2.5,2\nb,3,4\n", "must hold the column names. Got numbers: '2.5', '2'. Insert"),
    "no column names, one column": ("a,1.5\nb,3\n", "must hold the column names. Got numbers: '1.5'"),
    "no column names, numbers only": ("5\n3\n4\n", "must hold the column names. Got numbers: '5'"),
    "no column names, nan": ("nan,1\n2,3\n", "must hold the column names. Got numbers: 'nan', '1'"),
    "no column names, infinity": ("1,inf\n2,3\n", "must hold the column names. Got numbers: '1', 'inf'"),
    "no column names, NA": ("a,1,NA\nb,3,4\n", "must hold the column names. Got numbers: '1', 'NA'"),
    "semicolons": ("id;x\na;1\nb;2\n", "seem to be separated by ';': its first line is 'id;x'. Save it with commas"),
    "semicolons, decimal commas": ("id;n;x\na;3;1,5\nb;4;2,25\n", "separated by ';'.*decimal points in numbers"),
    "tabs": ("id\tx\na\t1\n", r"seem to be separated by '\\t'"),
    "decimal commas in one column": ("x\n1,5\n2,5\n", "must have one entry per column, 1. Got 2.*1.5 and not 1,5"),
    "a quote that is not closed": ('id,x\na,1\nb,"2\nc,3\n', "Line 3 of .*table.csv has a quote that is not closed"),
    "text after a quote": ('id,x\na,1\n"b,2\nc,3\n"d,4\n', "Line 3 of .*text after a closing quote"),
    "a name over two lines": ('id,x\n"a,1\nb",2\nc,3\n', r"on a single line. Got 'a,1\\nb': a quote is opened"),
    "a null byte": ("id,x\na,1\nb,12\0003\n", "Line 3 of .*table.csv contains a null byte"),
    "a line of spaces in one column": ("x\n1\n  \n3\n", "Line 3 of .* must have one entry per column, 1. Got 0"),
    "beyond floating point": ("id,x\na,1e400\nb,2\n", "Column 'x' .*Got '1e400'"),
    "digits only Python reads": ("id,x\na,1_000\nb,2\n", "Column 'x' .*Got '1_000'"),
    "digits of other scripts": ("id,x\na,\uff11\nb,2\n", "Column 'x' .*Got '\uff11'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TEXT)
def test_an_invalid_table_is_rejected_with_a_specific_message(tmp_path, case):
    content, message = BAD_TEXT[case]
    with pytest.raises(ViewError, match=message):
        read(write_text(tmp_path, content))


def test_a_file_that_is_not_utf8_is_rejected(tmp_path):
    (tmp_path / "t.csv").write_bytes("id,größe\na,1\n".encode("latin-1"))
    with pytest.raises(ViewError, match="t.csv must be UTF-8 text"):
        read(tmp_path / "t.csv")


def test_empty_lines_are_ignored_in_tables_with_several_columns(tmp_path):
    assert len(read(write_text(tmp_path, "x\n1\n2\n\n\n"))["table"]) == 2
    assert len(read(write_text(tmp_path, "\nid,x\na,1\n\nb,2\n"))["table"]) == 2
    assert len(read(write_text(tmp_path, "id,x\ra,1\r\r b,2\r \r", "old.csv"))["old"]) == 2


def test_a_tsv_row_without_entries_is_a_missing_row(tmp_path):
    frame = read(write_text(tmp_path, "x\ty\n1\t2\n\t\n3\t4\n", "t.tsv"))["t"]
    np.testing.assert_array_equal(frame, [[1, 2], [np.nan, np.nan], [3, 4]])


def test_gzip_compressed_tables_are_read_if_their_name_ends_in_gz(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("id,x\na,1\nb,oops\n")
    with pytest.raises(ViewError, match="Column 'x' of .*t.csv.gz.*Got 'oops'"):
        read(tmp_path / "t.csv.gz")
    with gzip.open(tmp_path / "U.CSV.GZ", "wt") as file:
        file.write("id,x\na,1\nb,2\n")
    assert list(read(tmp_path / "U.CSV.GZ")["U"].index) == ["a", "b"]
    (tmp_path / "U.CSV.GZ").rename(tmp_path / "u.csv")
    with pytest.raises(ViewError, match="u.csv is gzip-compressed.*Rename it to u.csv.gz"):
        read(tmp_path / "u.csv")
