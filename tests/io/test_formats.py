"""Reading the supported file formats."""

import pickle

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import scipy.sparse

from mvlvm import ViewError
from mvlvm.views import read
from tests.io.tables import PROTEIN, RNA, WRITERS, annotated, write_both_as_mudata


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_table_with_row_names_is_read_exactly(tmp_path, suffix):
    path = tmp_path / f"rna.{suffix}"
    WRITERS[suffix](RNA, path)
    views = read(path)
    assert list(views) == ["rna"]
    pd.testing.assert_frame_equal(views["rna"], RNA, check_exact=True)


def test_an_npy_array_is_a_view_without_row_names(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(3, 2))
    views = read(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(views["a"], [[0, 1], [2, 3], [4, 5]])
    assert views["a"].dtypes.eq(np.float64).all()
    assert isinstance(views["a"].index, pd.RangeIndex)


def test_every_matrix_of_an_npz_is_a_view_with_its_column_names(tmp_path):
    np.savez(
        tmp_path / "d.npz", gene=RNA, gene_names=np.array(["a", "b", "c"]), image=np.ones((4, 2)),
        image_names=np.array(["too", "many", "names"]), label=np.arange(4), note=np.array([["text"]]),
    )  # fmt: skip
    views = read(tmp_path / "d.npz")
    assert {name: list(frame.columns) for name, frame in views.items()} == {"gene": ["a", "b", "c"], "image": [0, 1]}
    np.testing.assert_array_equal(views["gene"], RNA)


def test_masks_and_numeric_names_in_an_npz_are_ignored(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.ones((3, 2)), x_names=np.array([7, 8]), x_mask=np.ones((3, 2), dtype=bool))
    views = read(tmp_path / "d.npz")
    assert {name: list(frame.columns) for name, frame in views.items()} == {"x": [0, 1]}
    np.savez(tmp_path / "d.npz", data=np.ones((3, 2)), format=np.ones((3, 2)), shape=np.ones((3, 2)))
    assert list(read(tmp_path / "d.npz")) == ["data", "format", "shape"]
    np.savez(tmp_path / "d.npz", mask=np.ones((3, 2), dtype=bool))
    with pytest.raises(ViewError, match=r"at least one two-dimensional array of numbers.*Got: mask \(3, 2\) of bool"):
        read(tmp_path / "d.npz")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dia", "bsr"])
def test_an_npz_of_a_sparse_matrix_is_rejected(tmp_path, layout):
    scipy.sparse.save_npz(tmp_path / "s.npz", scipy.sparse.eye(3).asformat(layout))
    with pytest.raises(ViewError, match="s.npz .*the parts of a sparse matrix.*scipy.sparse.load_npz"):
        read(tmp_path / "s.npz")


def test_a_sparse_h5ad_is_converted_to_a_dense_table(tmp_path):
    counts = scipy.sparse.random(5, 4, 0.4, format="csr", random_state=0)
    adata = anndata.AnnData(counts)
    adata.write_h5ad(tmp_path / "counts.h5ad")
    np.testing.assert_array_equal(read(tmp_path / "counts.h5ad")["counts"], counts.toarray())


def test_an_h5ad_of_an_old_version_is_read(tmp_path):
    """Until version 0.7, anndata stored names as structured arrays, and marked sparse matrices by other attributes."""
    counts = scipy.sparse.random(3, 2, 0.5, format="csc", random_state=0)
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = b"csc", counts.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(counts, part)
        file["obs"] = np.array([(b"a", 1.0), (b"b", 2.0), (b"c", 3.0)], dtype=[("index", "S1"), ("age", "f8")])
        file["var"] = np.array([(b"x",), (b"y",)], dtype=[("index", "S1")])
    frame = read(tmp_path / "old.h5ad")["old"]
    assert (list(frame.index), list(frame.columns)) == (["a", "b", "c"], ["x", "y"])
    np.testing.assert_array_equal(frame, counts.toarray())


def test_row_names_of_an_h5ad_can_be_categories_or_nullable(tmp_path):
    annotated(RNA).write_h5ad(tmp_path / "r.h5ad")
    with h5py.File(tmp_path / "r.h5ad", "r+") as file:
        del file["obs/_index"], file["var/_index"]
        file["obs/_index/categories"], file["obs/_index/codes"] = ["u", "v", "w", "z"], [3, 2, 1, 0]
        file["var/_index/values"], file["var/_index/mask"] = ["p", "q", "r"], [False] * 3
    frame = read(tmp_path / "r.h5ad")["r"]
    assert (list(frame.index), list(frame.columns)) == (["z", "w", "v", "u"], ["p", "q", "r"])
    with h5py.File(tmp_path / "r.h5ad", "r+") as file:
        file["obs/_index/codes"][1] = -1
    with pytest.raises(ViewError, match="rows or columns have no names"):
        read(tmp_path / "r.h5ad")


def test_every_modality_of_an_h5mu_is_a_view(tmp_path):
    write_both_as_mudata(tmp_path / "m.h5mu")
    views = read(tmp_path / "m.h5mu")
    assert list(views) == ["rna", "protein"]
    assert list(views["protein"].columns) == ["p1", "p2"]
    pd.testing.assert_frame_equal(views["protein"].loc[PROTEIN.index], PROTEIN, check_exact=True)
    assert list(read(tmp_path / "m.h5mu", join="inner")["rna"].index) == ["c1", "c3"]


def test_an_h5mu_whose_modalities_share_columns_is_rejected(tmp_path):
    with mudata.set_options(pull_on_update=False):
        other_rows = RNA.set_axis(["d1", "d2", "d3", "d4"], axis=0)
        mudata.MuData({"a": annotated(RNA), "b": annotated(other_rows)}, axis=1).write(tmp_path / "m.h5mu")
    with pytest.raises(ViewError, match=r"must share their rows \(axis=0\). Got axis=1"):
        read(tmp_path / "m.h5mu")


def test_rows_of_h5ad_and_h5mu_files_are_matched_by_position_on_request(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 2)))
    annotated(RNA).write_h5ad(tmp_path / "rna.h5ad")
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({"rna": annotated(RNA)}).write(tmp_path / "m.h5mu")
    for file, view in (("rna.h5ad", "rna"), ("m.h5mu", "rna")):
        views = read([tmp_path / file, tmp_path / "a.npy"], row_names=None)
        assert list(views[view].index) == list(views["a"].index) == [0, 1, 2, 3]
        np.testing.assert_array_equal(views[view], RNA)


def test_an_h5mu_without_modalities_is_rejected(tmp_path):
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({}).write(tmp_path / "m.h5mu")
    with pytest.raises(ViewError, match="at least one view. Got none in .*m.h5mu"):
        read(tmp_path / "m.h5mu")


def test_row_names_in_parquet_files_follow_the_same_rules(tmp_path):
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
    "integers converted to floats": (pd.DataFrame({"id": [1.0, 2.5], "x": [1, 2]}), ["1", "2.5"]),
    "the end of a longer table": (pd.DataFrame({"x": np.arange(6.0)})[4:], ["4", "5"]),
    "reversed rows": (pd.DataFrame({"x": np.arange(2.0)})[::-1], ["1", "0"]),
    "a column next to former row numbers": (
        pd.DataFrame({"patient_id": [7, 3], "x": [1, 2]}, index=[0, 2]),
        ["7", "3"],
    ),
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
def test_a_parquet_file_keeps_row_names_and_drops_row_numbers(tmp_path, case):
    frame, expected = PARQUET_NAMES[case]
    frame.to_parquet(tmp_path / "t.parquet")
    views = read(tmp_path / "t.parquet")
    assert list(views["t"].index) == expected
    np.testing.assert_array_equal(views["t"]["x"], frame["x"])


def test_a_parquet_file_with_duplicate_columns_or_without_numbers_is_rejected(tmp_path):
    pyarrow.parquet.write_table(
        pyarrow.table([pyarrow.array([1.0]), pyarrow.array([2.0])], names=["x", "x"]), tmp_path / "t.parquet"
    )
    with pytest.raises(ViewError, match="columns of .*t.parquet must have different names. Got several called 'x'"):
        read(tmp_path / "t.parquet")
    pd.DataFrame({"grade": ["low", "high"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ViewError, match="t.parquet must have at least one column of numbers. Got none.*Add one"):
        read(tmp_path / "t.parquet")


def test_a_file_without_rows_is_rejected(tmp_path):
    pd.DataFrame({"x": [1.0]}, index=["a"])[:0].to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", x=np.empty((0, 3)))
    np.save(tmp_path / "t.npy", np.empty((0, 3)))
    for suffix, what in (("parquet", ".*t.parquet"), ("npz", "'x' in .*t.npz"), ("npy", ".*t.npy")):
        with pytest.raises(ViewError, match=f"^{what} has no rows, only columns. Add a row for every sample"):
            read(tmp_path / f"t.{suffix}")


@pytest.mark.parametrize("suffix", [*WRITERS, "npy", "npz", "h5mu"])
def test_a_damaged_file_is_rejected_by_name_and_not_modified(tmp_path, suffix):
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


def test_pickled_objects_are_rejected(tmp_path):
    objects = np.array([[1, "a"], [2, None]], dtype=object)
    np.save(tmp_path / "o.npy", objects, allow_pickle=True)
    with pytest.raises(ViewError, match="o.npy holds Python objects"):
        read(tmp_path / "o.npy")
    np.savez(tmp_path / "o.npz", good=np.ones((2, 2)), bad=objects)
    with pytest.raises(ViewError, match="The array 'bad' in .*o.npz holds Python objects"):
        read(tmp_path / "o.npz")
    (tmp_path / "p.npy").write_bytes(pickle.dumps(objects))
    with pytest.raises(ViewError, match="p.npy is damaged, or not in the format of its name"):
        read(tmp_path / "p.npy")


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones((2, 2)) + 1j])
def test_an_array_that_is_not_a_matrix_of_numbers_is_rejected(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ViewError, match="a.npy must hold a two-dimensional array of numbers.*Got shape"):
        read(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", thing=array)
    with pytest.raises(ViewError, match="a.npz must hold at least one two-dimensional array of numbers.*Got: thing"):
        read(tmp_path / "a.npz")


def test_dates_are_not_converted_to_numbers(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", None])}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ViewError, match="Column 'day' of .* must hold numbers only. Got '2020-01-01"):
        read(tmp_path / "t.parquet")


def test_a_missing_package_is_reported_with_the_extra_to_install(tmp_path, monkeypatch):
    RNA.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r'Parquet files needs pyarrow.*pip install "mvlvm\[files\]"'):
        read(tmp_path / "t.parquet")
