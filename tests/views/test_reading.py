import gzip
import pickle

import anndata
import mudata
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import scipy.sparse

from mvlvm import ViewError, ViewWarning
from mvlvm.views import as_views, read

RNG = np.random.default_rng(0)
CELLS = ["c1", "c2", "c3", "c4"]
RNA = pd.DataFrame(RNG.normal(size=(4, 3)), index=CELLS, columns=["g1", "g2", "g3"])
PROTEIN = pd.DataFrame(RNG.normal(size=(3, 2)), index=["c3", "x9", "c1"], columns=["p1", "p2"])


def annotated(frame):
    return anndata.AnnData(
        frame.to_numpy(), obs=pd.DataFrame(index=frame.index), var=pd.DataFrame(index=frame.columns)
    )  # fmt: skip


def write_both_as_mudata(path):
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({"rna": annotated(RNA), "protein": annotated(PROTEIN)}).write(path)


def text(folder, content, name="table.csv"):
    (folder / name).write_text(content)
    return folder / name


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path),
    "tsv": lambda frame, path: frame.to_csv(path, sep="\t"),
    "csv.gz": lambda frame, path: frame.to_csv(path),
    "tsv.gz": lambda frame, path: frame.to_csv(path, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "h5ad": lambda frame, path: annotated(frame).write_h5ad(path),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_table_with_row_names_comes_back_as_it_was(tmp_path, suffix):
    path = tmp_path / f"rna.{suffix}"
    WRITERS[suffix](RNA, path)
    views = read(path)
    assert list(views) == ["rna"]
    pd.testing.assert_frame_equal(views["rna"], RNA, check_exact=True)


def test_an_array_is_a_view_without_names(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(3, 2))
    views = read(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(views["a"], [[0, 1], [2, 3], [4, 5]])
    assert views["a"].dtypes.eq(np.float64).all()
    assert isinstance(views["a"].index, pd.RangeIndex)


def test_an_archive_gives_every_matrix_with_its_column_names(tmp_path):
    np.savez(
        tmp_path / "d.npz", gene=RNA, gene_names=np.array(["a", "b", "c"]), image=np.ones((4, 2)),
        image_names=np.array(["too", "many", "names"]), label=np.arange(4), note=np.array([["text"]]),
    )  # fmt: skip
    views = read(tmp_path / "d.npz")
    assert {name: list(frame.columns) for name, frame in views.items()} == {"gene": ["a", "b", "c"], "image": [0, 1]}
    np.testing.assert_array_equal(views["gene"], RNA)


def test_an_archive_gives_neither_masks_nor_names_that_are_numbers(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.ones((3, 2)), x_names=np.array([7, 8]), x_mask=np.ones((3, 2), dtype=bool))
    views = read(tmp_path / "d.npz")
    assert {name: list(frame.columns) for name, frame in views.items()} == {"x": [0, 1]}
    np.savez(tmp_path / "d.npz", data=np.ones((3, 2)), format=np.ones((3, 2)), shape=np.ones((3, 2)))
    assert list(read(tmp_path / "d.npz")) == ["data", "format", "shape"]
    np.savez(tmp_path / "d.npz", mask=np.ones((3, 2), dtype=bool))
    with pytest.raises(ViewError, match=r"at least one array of numbers.*Got: mask \(3, 2\) of bool"):
        read(tmp_path / "d.npz")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dia", "bsr"])
def test_the_parts_of_a_sparse_matrix_are_not_taken_for_views(tmp_path, layout):
    scipy.sparse.save_npz(tmp_path / "s.npz", scipy.sparse.eye(3).asformat(layout))
    with pytest.raises(ViewError, match="s.npz .*the parts of a sparse matrix.*scipy.sparse.load_npz"):
        read(tmp_path / "s.npz")


def test_a_sparse_h5ad_is_made_dense(tmp_path):
    counts = scipy.sparse.random(5, 4, 0.4, format="csr", random_state=0)
    adata = anndata.AnnData(counts)
    adata.write_h5ad(tmp_path / "counts.h5ad")
    np.testing.assert_array_equal(read(tmp_path / "counts.h5ad")["counts"], counts.toarray())


def test_an_h5mu_gives_a_view_per_modality(tmp_path):
    write_both_as_mudata(tmp_path / "m.h5mu")
    views = read(tmp_path / "m.h5mu")
    assert list(views) == ["rna", "protein"]
    assert list(views["protein"].columns) == ["p1", "p2"]
    pd.testing.assert_frame_equal(views["protein"].loc[PROTEIN.index], PROTEIN, check_exact=True)
    assert list(read(tmp_path / "m.h5mu", join="inner")["rna"].index) == ["c1", "c3"]


def test_an_h5mu_whose_modalities_share_columns_is_refused(tmp_path):
    with mudata.set_options(pull_on_update=False):
        other_rows = RNA.set_axis(["d1", "d2", "d3", "d4"], axis=0)
        mudata.MuData({"a": annotated(RNA), "b": annotated(other_rows)}, axis=1).write(tmp_path / "m.h5mu")
    with pytest.raises(ViewError, match=r"must share their rows \(axis=0\). Got axis=1"):
        read(tmp_path / "m.h5mu")


def test_rows_of_annotated_files_go_by_position_on_demand(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 2)))
    annotated(RNA).write_h5ad(tmp_path / "rna.h5ad")
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({"rna": annotated(RNA)}).write(tmp_path / "m.h5mu")
    for file, view in (("rna.h5ad", "rna"), ("m.h5mu", "rna")):
        views = read([tmp_path / file, tmp_path / "a.npy"], row_names=None)
        assert list(views[view].index) == list(views["a"].index) == [0, 1, 2, 3]
        np.testing.assert_array_equal(views[view], RNA)


def test_an_h5mu_without_modalities_is_refused(tmp_path):
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({}).write(tmp_path / "m.h5mu")
    with pytest.raises(ViewError, match="at least one view. Got none in .*m.h5mu"):
        read(tmp_path / "m.h5mu")


@pytest.fixture
def overlapping(tmp_path):
    RNA.to_csv(tmp_path / "rna.csv")
    PROTEIN.to_csv(tmp_path / "protein.csv")
    return [tmp_path / "rna.csv", tmp_path / "protein.csv"]


def test_an_outer_join_keeps_every_row_and_marks_what_is_absent(overlapping):
    views = read(overlapping)
    rows = ["c1", "c2", "c3", "c4", "x9"]
    assert list(views["rna"].index) == list(views["protein"].index) == rows
    assert list(read(overlapping[::-1])["rna"].index) == ["c3", "x9", "c1", "c2", "c4"]
    for row in rows:
        for name, source in (("rna", RNA), ("protein", PROTEIN)):
            if row in source.index:
                np.testing.assert_array_equal(views[name].loc[row], source.loc[row])
            else:
                assert views[name].loc[row].isna().all()


def test_an_inner_join_keeps_common_rows_in_the_first_files_order(overlapping):
    views = read(overlapping, join="inner")
    pd.testing.assert_frame_equal(views["rna"], RNA.loc[["c1", "c3"]], check_exact=True)
    pd.testing.assert_frame_equal(views["protein"], PROTEIN.loc[["c1", "c3"]], check_exact=True)
    assert as_views(views).names == ["rna", "protein"]
    views = read(overlapping[::-1], join="inner")
    pd.testing.assert_frame_equal(views["rna"], RNA.loc[["c3", "c1"]], check_exact=True)
    pd.testing.assert_frame_equal(views["protein"], PROTEIN.loc[["c3", "c1"]], check_exact=True)


def test_rows_without_names_are_joined_by_position(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    text(tmp_path, "x,y\n1,2\n3,4\n5,6\n", "b.csv")
    views = read([tmp_path / "a.npy", tmp_path / "b.csv"])
    assert as_views(views).n_samples == 3
    text(tmp_path, "x,y\n1,2\n", "b.csv")
    with pytest.raises(ViewError, match="without row names must have the same number of rows. Got a: 3, b: 1"):
        read([tmp_path / "a.npy", tmp_path / "b.csv"])


def test_positions_are_not_trusted_where_files_begin_with_the_same_column(tmp_path):
    files = [text(tmp_path, "mouse,x\n1,10\n2,20\n", "a.csv"), text(tmp_path, "mouse,y\n2,200\n1,100\n", "b.csv")]
    with pytest.raises(ViewError, match=r"'a' \(.*a.csv\) and 'b' \(.*b.csv\) both begin with a column 'mouse'.*None"):
        read(files)
    np.testing.assert_array_equal(read(files, row_names="mouse")["b"]["y"], [100, 200])
    assert list(read(files, row_names=None)["b"].columns) == ["mouse", "y"]
    np.savez(tmp_path / "d.npz", l=np.ones((2, 1)), l_names=["px"], r=np.ones((2, 1)), r_names=["px"])
    assert list(read(tmp_path / "d.npz")) == ["l", "r"]
    np.save(tmp_path / "c.npy", np.ones((2, 2)))
    np.save(tmp_path / "d.npy", np.ones((2, 2)))
    np.save(tmp_path / "e.npy", np.ones((2, 0)))
    assert list(read([tmp_path / f"{name}.npy" for name in "cde"])) == ["c", "d", "e"]


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
    "R's own": ("Row.names,x\n7,1\n3,2\n", ["7", "3"]),
    "a hash": ("#id,x\n7,1\n3,2\n", ["7", "3"]),
    "a barcode": ("cell_barcode,x\n7,1\n3,2\n", ["7", "3"]),
    "a counter before it": (",patient_id,x\n0,17,1\n1,12,2\n", ["17", "12"]),
    "a counter as pandas calls it": ("Unnamed: 0,patient_id,x\n0,17,1\n1,12,2\n", ["17", "12"]),
    "no counter before it": (",patient_id,x\n01,17,1\n02,12,2\n", ["01", "02"]),
    "spaces around names": ("id , x \n a b ,1\nc ,2\n", ["a b", "c"]),
    "spaces before quotes": ('x, "y"\n "a", "1", 3\n "b", "2", 4\n', ["a", "b"]),
    "a quote inside": ('id,x\n5" tube,1\n"6"" tube",2\n', ['5" tube', '6" tube']),
    "a line of spaces": ("id,x\na,1\n   \nb,2\n  \n", ["a", "b"]),
    "an empty row of a TSV": ("id\tx\na\t1\nb\t\n", ["a", "b"]),
}


@pytest.mark.parametrize("case", ROW_NAMES)
def test_a_first_column_that_names_the_rows_is_recognised_and_stays_text(tmp_path, case):
    content, expected = ROW_NAMES[case]
    path = text(tmp_path, content, "t.tsv" if "\t" in content else "t.csv")
    frame = read(path)["t"]
    assert list(frame.index) == expected
    assert "x" in frame.columns


def test_a_first_column_of_measurements_is_a_column(tmp_path):
    frame = read(text(tmp_path, "age,dose\nNA,1\nNA,2\n31,3\n"))["table"]
    np.testing.assert_array_equal(frame, [[np.nan, 1], [np.nan, 2], [31, 3]])
    frame = read(text(tmp_path, "age,dose\n31,1e-3\n47,2.5\n"))["table"]
    assert isinstance(frame.index, pd.RangeIndex)
    np.testing.assert_array_equal(frame, [[31, 1e-3], [47, 2.5]])


def test_columns_can_be_named_by_numbers_in_order(tmp_path):
    with pytest.warns(ViewWarning, match="table.csv was taken as names of columns: '400', '410.5', '420'. If it holds"):
        frame = read(text(tmp_path, "400,410.5,420\n1,2,3\n4,5,6\n"))["table"]
    assert list(frame.columns) == ["400", "410.5", "420"]
    for first, row_names in (("id", "auto"), ("", "auto"), ("who", "who")):
        path = text(tmp_path, f"{first},7157,672\na,1,2\nb,3,4\n")
        assert list(read(path, row_names=row_names)["table"].columns) == ["7157", "672"]


def test_row_names_can_be_named_or_denied(tmp_path):
    counted = text(tmp_path, ",mouse,x\n0,17,1\n1,12,2\n")
    assert list(read(counted, row_names="mouse")["table"].index) == ["17", "12"]
    assert list(read(counted, row_names="mouse")["table"].columns) == ["x"]
    assert list(read(counted, row_names=None)["table"].columns) == ["mouse", "x"]
    path = text(tmp_path, "dose,patient\n1,007\n2,010\n")
    assert list(read(path, row_names="patient")["table"].index) == ["007", "010"]
    assert list(read(path, row_names="patient")["table"].columns) == ["dose"]
    assert list(read(text(tmp_path, "id,x\n3,1\n4,2\n"), row_names=None)["table"].columns) == ["id", "x"]
    with pytest.raises(ViewError, match=r"table.csv has no column 'patient'.*Its columns are: 'id', 'x'"):
        read(path, row_names="patient")


def test_the_same_rules_hold_for_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    table = pd.DataFrame({"sample": ["a", "b"], "x": pd.array([1, None], dtype="Int64")})
    table.to_parquet(path, index=False)
    frame = read(path)["t"]
    assert list(frame.index) == ["a", "b"]
    np.testing.assert_array_equal(frame, [[1.0], [np.nan]])
    table.set_index("sample").to_parquet(path)
    assert list(read(path, row_names="sample")["t"].index) == ["a", "b"]
    assert isinstance(read(path, row_names=None)["t"].index, pd.RangeIndex)
    with pytest.raises(ViewError, match="has no column 'who'"):
        read(path, row_names="who")
    pd.DataFrame({"x": [1.0, 2.0]}, index=pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])).to_parquet(path)
    assert list(read(path)["t"].index) == ["(1, 'a')", "(2, 'b')"]
    pd.DataFrame({"x": [1.0, 2.0]}, index=["a", None]).to_parquet(path)
    with pytest.raises(ViewError, match="Every row of .*t.parquet must have a name. Got 1 without"):
        read(path)
    pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(path)
    assert isinstance(read(path)["t"].index, pd.RangeIndex)
    pd.DataFrame({"x": [True, False]}).to_parquet(path)
    np.testing.assert_array_equal(read(path)["t"], [[1], [0]])


PARQUET_NAMES = {
    "whole numbers that became floats": (pd.DataFrame({"id": [1.0, 2.5], "x": [1, 2]}), ["1", "2.5"]),
    "the end of a longer table": (pd.DataFrame({"x": np.arange(6.0)})[4:], ["4", "5"]),
    "in reverse": (pd.DataFrame({"x": np.arange(2.0)})[::-1], ["1", "0"]),
    "a column beside former row numbers": (pd.DataFrame({"patient_id": [7, 3], "x": [1, 2]}, index=[0, 2]), ["7", "3"]),
    "a column after former row numbers": (
        pd.DataFrame({"__index_level_0__": [0, 2], "patient_id": [7, 3], "x": [1, 2]}),
        ["7", "3"],
    ),
    "an index with a name": (
        pd.DataFrame({"patient_id": [7, 3], "x": [1, 2]}, index=pd.Index([4, 5], name="n")),
        ["4", "5"],
    ),
}


@pytest.mark.parametrize("case", PARQUET_NAMES)
def test_a_parquet_file_keeps_its_names_and_leaves_counters_behind(tmp_path, case):
    frame, expected = PARQUET_NAMES[case]
    frame.to_parquet(tmp_path / "t.parquet")
    views = read(tmp_path / "t.parquet")
    assert list(views["t"].index) == expected
    np.testing.assert_array_equal(views["t"]["x"], frame["x"])


def test_a_parquet_file_with_columns_called_alike_or_without_numbers_is_refused(tmp_path):
    pyarrow.parquet.write_table(
        pyarrow.table([pyarrow.array([1.0]), pyarrow.array([2.0])], names=["x", "x"]), tmp_path / "t.parquet"
    )
    with pytest.raises(ViewError, match="columns of .*t.parquet must have different names. Got several called 'x'"):
        read(tmp_path / "t.parquet")
    pd.DataFrame({"grade": ["low", "high"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ViewError, match="t.parquet must have at least one column of numbers. Got none.*Add one"):
        read(tmp_path / "t.parquet")


def test_a_file_without_rows_is_refused(tmp_path):
    pd.DataFrame({"x": [1.0]}, index=["a"])[:0].to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", x=np.empty((0, 3)))
    np.save(tmp_path / "t.npy", np.empty((0, 3)))
    for suffix, what in (("parquet", ".*t.parquet"), ("npz", "'x' in .*t.npz"), ("npy", ".*t.npy")):
        with pytest.raises(ViewError, match=f"^{what} has no rows, only columns. Add a row for every sample"):
            read(tmp_path / f"t.{suffix}")


def test_missing_entries_are_nan(tmp_path):
    frame = read(text(tmp_path, "id,x,y,z\na,1,,NA \nb,NaN,2, nan\nc,3 ,4,5\n"))["table"]
    np.testing.assert_array_equal(frame, [[1, np.nan, np.nan], [np.nan, 2, np.nan], [3, 4, 5]])


def test_numbers_are_read_to_the_last_bit(tmp_path):
    values = RNG.normal(size=200) * 10.0 ** RNG.integers(-20, 20, size=200)
    path = text(tmp_path, "x,y\n" + "".join(f"{value!r},0\n" for value in values.tolist()))
    np.testing.assert_array_equal(read(path)["table"]["x"], values)
    path = text(tmp_path, "x,y\n" + "".join(f"{value!r},0\n" for value in values.tolist()) + "NA ,0\n")
    np.testing.assert_array_equal(read(path)["table"]["x"], [*values, np.nan])


def test_a_dict_names_views_and_keeps_the_names_inside_a_file_clear(tmp_path, overlapping):
    assert list(read({"a": overlapping[0], "b": overlapping[1]})) == ["a", "b"]
    write_both_as_mudata(tmp_path / "m.h5mu")
    assert list(read({"x": tmp_path / "m.h5mu"})) == ["rna", "protein"]
    assert list(read({"x": tmp_path / "m.h5mu", "rna": overlapping[0]})) == ["x_rna", "x_protein", "rna"]
    np.savez(tmp_path / "one.npz", arr_0=np.ones((3, 2)))
    assert list(read({"only": tmp_path / "one.npz"})) == ["only"]
    with pytest.raises(ViewError, match=r"Got 'rna' from .*m.h5mu and from .*rna.csv. Give a dict"):
        read([tmp_path / "m.h5mu", overlapping[0]])


BAD_TEXT = {
    "nothing": ("", "table.csv is empty"),
    "header only": ("id,x\n", "table.csv has no rows"),
    "ragged, too few": ("id,x,y\na,1,2\nb,3\n", "Line 3 of .*table.csv .* as many entries as .* columns, 3. Got 2"),
    "ragged, too many": ("id,x\na,1\nb,3,4\n", "Line 3 of .*table.csv .* as many entries as .* columns, 2. Got 3"),
    "a comma at the end": ("x,y\n1,2,\n3,4,\n", "Line 2 of .* as many entries as there are columns, 2. Got 3"),
    "a gap in one column": ("x\n1\n\n3\n", "Line 3 of .* as many entries as there are columns, 1. Got 0"),
    "text among numbers": (
        "id,x,city\na,1,2\nb,2,Rome\n",
        "Column 'city' of .*table.csv.*Got 'Rome' in row 'b'.*row_names",
    ),
    "a slip in the first column": ("x,y\n1,2\n2,3\n3..4,5\n", r"Column 'x' .*Got '3\.\.4' in row 2"),
    "decimal commas": ('id,x\na,"1,5"\nb,"2,5"\n', "Got '1,5'"),
    "repeated columns": ("id,x,y,x\na,1,2,3\n", "columns of .*table.csv must have different names. Got .* 'x'"),
    "a column without name": ("id,x,\na,1,2\n", "columns of .*table.csv must have names. Got none for 1"),
    "repeated rows": (
        "id,x\n" + "".join(f"r{i},1\n" for i in [*range(7), *range(7)]),
        "name of its own. Got 7 that appear more than once: 'r0', 'r1', 'r2', 'r3', 'r4', .... Rename",
    ),
    "a row without name": ("id,x\na,1\n,2\n", "Every row of .*table.csv must have a name. Got 1 without"),
    "only names": ("id\na\nb\n", "must have at least one column of numbers"),
    "no names of columns": ("1.5,0.2,3\n4,5,6\n", "table.csv must hold the names.*Got numbers: '1.5', '0.2', '3'"),
    "no names of columns, but of rows": ("a,2.5,2\nb,3,4\n", "must hold the names.*Got numbers: '2.5', '2'. Put"),
    "no names, one column": ("a,1.5\nb,3\n", "must hold the names of its columns. Got numbers: '1.5'"),
    "no names, numbers only": ("5\n3\n4\n", "must hold the names of its columns. Got numbers: '5'"),
    "no names, nan": ("nan,1\n2,3\n", "must hold the names of its columns. Got numbers: 'nan', '1'"),
    "no names, infinity": ("1,inf\n2,3\n", "must hold the names of its columns. Got numbers: '1', 'inf'"),
    "no names, NA": ("a,1,NA\nb,3,4\n", "must hold the names of its columns. Got numbers: '1', 'NA'"),
    "semicolons": ("id;x\na;1\nb;2\n", "seem to be separated by ';': its first line is 'id;x'. Save it with commas"),
    "semicolons, decimal commas": ("id;n;x\na;3;1,5\nb;4;2,25\n", "separated by ';'.*decimal points in numbers"),
    "tabs": ("id\tx\na\t1\n", r"seem to be separated by '\\t'"),
    "decimal commas in one column": ("x\n1,5\n2,5\n", "as many entries as .* columns, 1. Got 2.*1.5 and not 1,5"),
    "a quote that does not close": ('id,x\na,1\nb,"2\nc,3\n', "Line 3 of .*table.csv has a quote that does not close"),
    "text after a quote": ('id,x\na,1\n"b,2\nc,3\n"d,4\n', "Line 3 of .*text after one that does"),
    "a name over two lines": ('id,x\n"a,1\nb",2\nc,3\n', r"on one line each. Got 'a,1\\nb': a quote opens"),
    "a zero byte": ("id,x\na,1\nb,12\0003\n", "Line 3 of .*table.csv holds a zero byte"),
    "a line of spaces in one column": ("x\n1\n  \n3\n", "Line 3 of .* as many entries as .* columns, 1. Got 0"),
    "beyond floating point": ("id,x\na,1e400\nb,2\n", "Column 'x' .*Got '1e400'"),
    "digits only Python reads": ("id,x\na,1_000\nb,2\n", "Column 'x' .*Got '1_000'"),
    "digits of other scripts": ("id,x\na,\uff11\nb,2\n", "Column 'x' .*Got '\uff11'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TEXT)
def test_a_bad_table_gets_one_clear_sentence(tmp_path, case):
    content, message = BAD_TEXT[case]
    with pytest.raises(ViewError, match=message):
        read(text(tmp_path, content))


def test_another_encoding_is_named(tmp_path):
    (tmp_path / "t.csv").write_bytes("id,größe\na,1\n".encode("latin-1"))
    with pytest.raises(ViewError, match="t.csv must be UTF-8 text"):
        read(tmp_path / "t.csv")


def test_trailing_empty_lines_do_no_harm(tmp_path):
    assert len(read(text(tmp_path, "x\n1\n2\n\n\n"))["table"]) == 2
    assert len(read(text(tmp_path, "\nid,x\na,1\n\nb,2\n"))["table"]) == 2
    assert len(read(text(tmp_path, "id,x\ra,1\r\r b,2\r \r", "old.csv"))["old"]) == 2


def test_a_row_of_a_tsv_without_any_entry_is_a_row(tmp_path):
    frame = read(text(tmp_path, "x\ty\n1\t2\n\t\n3\t4\n", "t.tsv"))["t"]
    np.testing.assert_array_equal(frame, [[1, 2], [np.nan, np.nan], [3, 4]])


@pytest.mark.parametrize("suffix", [*WRITERS, "npy", "npz", "h5mu"])
def test_a_truncated_or_foreign_file_is_refused_by_name_and_left_as_it_is(tmp_path, suffix):
    whole, broken = tmp_path / f"whole.{suffix}", tmp_path / f"broken.{suffix}"
    match suffix:
        case "npy":
            np.save(whole, RNA)
        case "npz":
            np.savez(whole, a=RNA)
        case "h5mu":
            write_both_as_mudata(whole)
        case _:
            WRITERS[suffix](RNA, whole)
    content = whole.read_bytes()
    half = content[: -len(content) // 2] if suffix not in ("csv", "tsv") else b"id,x,y\na,1,2\nb,3"
    for damaged in (half, b"\x93\xff\x00 this is something else", b""):
        broken.write_bytes(damaged)
        with pytest.raises(ViewError, match=f"broken.{suffix} "):
            read(broken)
        assert broken.read_bytes() == damaged


def test_nothing_is_ever_unpickled(tmp_path):
    objects = np.array([[1, "a"], [2, None]], dtype=object)
    np.save(tmp_path / "o.npy", objects, allow_pickle=True)
    with pytest.raises(ViewError, match="o.npy holds Python objects"):
        read(tmp_path / "o.npy")
    np.savez(tmp_path / "o.npz", good=np.ones((2, 2)), bad=objects)
    with pytest.raises(ViewError, match="The array 'bad' in .*o.npz holds Python objects"):
        read(tmp_path / "o.npz")
    (tmp_path / "p.npy").write_bytes(pickle.dumps(objects))
    with pytest.raises(ViewError, match="p.npy is damaged, or is not what its name says"):
        read(tmp_path / "p.npy")


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones((2, 2)) + 1j])
def test_an_array_that_is_no_matrix_of_numbers_is_refused(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ViewError, match="a.npy must hold an array of numbers with two axes.*Got shape"):
        read(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", thing=array)
    with pytest.raises(ViewError, match="a.npz must hold at least one array of numbers.*Got: thing"):
        read(tmp_path / "a.npz")


def test_dates_are_not_taken_for_numbers(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", None])}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ViewError, match="Column 'day' of .* must hold numbers only. Got '2020-01-01"):
        read(tmp_path / "t.parquet")


def test_files_that_cannot_be_found_or_told_apart(tmp_path, overlapping, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ViewError, match="There is no file nothing.csv. Check its name"):
        read("nothing.csv")
    with pytest.raises(ViewError, match=r"format of table.xlsx is not known.*\.csv, .*\.parquet, .*\.h5mu"):
        read("table.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ViewError, match="folder.csv is a folder"):
        read("folder.csv")
    with pytest.raises(ViewError, match=r"two are called 'rna': .*rna.csv and rna.tsv. Give a dict"):
        read([overlapping[0], "rna.tsv"])
    with pytest.raises(ViewError, match="At least one file is needed"):
        read([])
    with pytest.raises(ViewError, match="A file must be given by its path. Got int. Give"):
        read([3])
    with pytest.raises(ViewError, match="A file must be given by its path"):
        read(RNA)
    with pytest.raises(ViewError, match="A file must be given by its path. Got DataFrame. Give a path"):
        read({"a": RNA})
    with pytest.raises(ViewError, match="A file must be given by its path. Got ''. Give"):
        read("")
    with pytest.raises(ViewError, match="names of views must be strings. Got 1"):
        read({1: overlapping[0]})
    with pytest.raises(ValueError, match="join must be one of 'outer', 'inner'. Got 'left'"):
        read(overlapping, join="left")


def test_rows_that_cannot_be_matched(tmp_path, overlapping):
    np.save(tmp_path / "a.npy", np.ones((4, 2)))
    with pytest.raises(ViewError, match=r"Got names for view 'rna' \(.*rna.csv\) and none for 'a' \(.*a.npy\)"):
        read([overlapping[0], tmp_path / "a.npy"])
    PROTEIN.rename(index=str.upper).to_csv(tmp_path / "protein.csv")
    with pytest.raises(ViewError, match=r"no row in common: 'rna' .* has 'c1', .*; 'protein' .* has 'C3', 'X9', 'C1'"):
        read(overlapping, join="inner")
    with pytest.warns(ViewWarning, match=r"'rna' has no row in common .*: 'rna' .* has 'c1'.*'protein' .* has 'C3'"):
        assert len(read(overlapping)["rna"]) == 7
    RNA.to_csv(tmp_path / "again.csv")
    with pytest.warns(ViewWarning, match="View 'protein' has no row in common with the others"):
        read([*overlapping, tmp_path / "again.csv"])


def test_repeated_names_in_an_h5ad_are_refused_with_the_file(tmp_path):
    with pytest.warns(UserWarning, match="not unique"):
        adata = annotated(RNA.set_axis(["a", "a", "b", "c"], axis=0))
    adata.write_h5ad(tmp_path / "rna.h5ad")
    with pytest.raises(ViewError, match="Every row of .*rna.h5ad must have a name of its own.*'a'"):
        read(tmp_path / "rna.h5ad")


def test_a_missing_package_is_named_with_what_to_install(tmp_path, monkeypatch):
    RNA.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r'Parquet files needs pyarrow.*pip install "mvlvm\[files\]"'):
        read(tmp_path / "t.parquet")


def test_a_compressed_table_is_text_inside(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("id,x\na,1\nb,oops\n")
    with pytest.raises(ViewError, match="Column 'x' of .*t.csv.gz.*Got 'oops'"):
        read(tmp_path / "t.csv.gz")
    with gzip.open(tmp_path / "U.CSV.GZ", "wt") as file:
        file.write("id,x\na,1\nb,2\n")
    assert list(read(tmp_path / "U.CSV.GZ")["U"].index) == ["a", "b"]
    (tmp_path / "U.CSV.GZ").rename(tmp_path / "u.csv")
    with pytest.raises(ViewError, match="u.csv is compressed by gzip.*Rename it to u.csv.gz"):
        read(tmp_path / "u.csv")


def test_a_tilde_is_the_users_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    text(tmp_path, "id,x\na,1\nb,2\n")
    assert list(read("~/table.csv")["table"].index) == ["a", "b"]
