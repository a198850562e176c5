"""Joining the rows of files, and naming their views."""

import mudata
import numpy as np
import pandas as pd
import pytest

from mvlvm import ViewError, ViewWarning
from mvlvm.io import read_labels, write
from mvlvm.views import as_views, read
from tests.io.tables import CELLS, PROTEIN, RNA, annotated, write_both_as_mudata, write_text


@pytest.fixture
def overlapping(tmp_path):
    RNA.to_csv(tmp_path / "rna.csv")
    PROTEIN.to_csv(tmp_path / "protein.csv")
    return [tmp_path / "rna.csv", tmp_path / "protein.csv"]


def test_an_outer_join_keeps_every_row_with_nan_where_a_view_lacks_it(overlapping):
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
    write_text(tmp_path, "x,y\n1,2\n3,4\n5,6\n", "b.csv")
    views = read([tmp_path / "a.npy", tmp_path / "b.csv"])
    assert as_views(views).n_samples == 3
    write_text(tmp_path, "x,y\n1,2\n", "b.csv")
    with pytest.raises(ViewError, match="without row names must have the same number of rows. Got a: 3, b: 1"):
        read([tmp_path / "a.npy", tmp_path / "b.csv"])


def test_files_that_begin_with_the_same_column_are_not_matched_by_position(tmp_path):
    files = [
        write_text(tmp_path, "mouse,x\n1,10\n2,20\n", "a.csv"),
        write_text(tmp_path, "mouse,y\n2,200\n1,100\n", "b.csv"),
    ]
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


def test_a_dict_names_views_and_prefixes_the_names_inside_a_file(tmp_path, overlapping):
    assert list(read({"a": overlapping[0], "b": overlapping[1]})) == ["a", "b"]
    write_both_as_mudata(tmp_path / "m.h5mu")
    assert list(read({"x": tmp_path / "m.h5mu"})) == ["rna", "protein"]
    assert list(read({"x": tmp_path / "m.h5mu", "rna": overlapping[0]})) == ["x_rna", "x_protein", "rna"]
    np.savez(tmp_path / "one.npz", arr_0=np.ones((3, 2)))
    assert list(read({"only": tmp_path / "one.npz"})) == ["only"]
    with pytest.raises(ViewError, match=r"Got 'rna' from .*m.h5mu and from .*rna.csv. Pass a dict"):
        read([tmp_path / "m.h5mu", overlapping[0]])


def test_missing_files_and_invalid_paths_are_rejected(tmp_path, overlapping, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ViewError, match="File not found: nothing.csv. Check its name"):
        read("nothing.csv")
    with pytest.raises(ViewError, match=r"format of table.xlsx is unknown.*\.csv, .*\.parquet, .*\.h5mu"):
        read("table.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ViewError, match="folder.csv is a folder"):
        read("folder.csv")
    with pytest.raises(ViewError, match=r"two are called 'rna': .*rna.csv and rna.tsv. Pass a dict"):
        read([overlapping[0], "rna.tsv"])
    with pytest.raises(ViewError, match="At least one file is needed"):
        read([])
    with pytest.raises(ViewError, match="A file must be given by its path. Got int. Pass"):
        read([3])
    with pytest.raises(ViewError, match="A file must be given by its path"):
        read(RNA)
    with pytest.raises(ViewError, match="A file must be given by its path. Got DataFrame. Pass a path"):
        read({"a": RNA})
    with pytest.raises(ViewError, match="A file must be given by its path. Got ''. Pass"):
        read("")
    with pytest.raises(ViewError, match="names of views must be strings. Got 1"):
        read({1: overlapping[0]})
    with pytest.raises(ValueError, match="join must be one of 'outer', 'inner'. Got 'left'"):
        read(overlapping, join="left")


def test_rows_that_cannot_be_matched_are_rejected_or_warned_of(tmp_path, overlapping):
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


def test_duplicate_row_names_in_an_h5ad_are_rejected_with_the_file(tmp_path):
    with pytest.warns(UserWarning, match="not unique"):
        adata = annotated(RNA.set_axis(["a", "a", "b", "c"], axis=0))
    adata.write_h5ad(tmp_path / "rna.h5ad")
    with pytest.raises(ViewError, match="row names of .*rna.h5ad must be unique.*'a'"):
        read(tmp_path / "rna.h5ad")


def test_a_tilde_in_a_path_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write_text(tmp_path, "id,x\na,1\nb,2\n")
    assert list(read("~/table.csv")["table"].index) == ["a", "b"]


def test_the_name_of_the_row_names_is_kept(tmp_path):
    frame = RNA.rename_axis("cell")
    for name in ("t.csv", "t.tsv", "t.parquet", "t.h5mu"):
        write(tmp_path / name, {"t": frame})
        assert read(tmp_path / name)["t"].index.name == "cell"
    assert read(write_text(tmp_path, ",a\nr1,1\nr2,2\n", "unnamed.csv"))["unnamed"].index.name is None
    joined = read({"x": tmp_path / "t.csv", "y": write_text(tmp_path, ",a\nc1,1\n", "other.csv")})
    assert joined["y"].index.name == "cell"


@pytest.mark.parametrize("suffix", [".h5ad", ".h5mu"])
def test_a_layer_is_read_instead_of_x(suffix, tmp_path):
    cells = annotated(RNA)
    cells.layers["counts"] = 2 * RNA.to_numpy()
    path = tmp_path / f"r{suffix}"
    if suffix == ".h5ad":
        cells.write_h5ad(path)
    else:
        with mudata.set_options(pull_on_update=False):
            mudata.MuData({"r": cells}).write(path)
    pd.testing.assert_frame_equal(read(path, layer="counts")["r"], 2 * RNA, check_names=False)
    pd.testing.assert_frame_equal(read(path)["r"], RNA, check_names=False)
    with pytest.raises(ViewError, match=r"has no layer 'raw'. Its layers are: 'counts'\. Pass one of them"):
        read(path, layer="raw")
    RNA.to_csv(tmp_path / "r.csv")
    with pytest.raises(ViewError, match="Only files of type .h5ad and .h5mu have layers. Got layer='counts'"):
        read(tmp_path / "r.csv", layer="counts")


LABELS = pd.DataFrame({"kind": ["B", None, "T", "B"], "age": [1.0, 2.0, 3.0, 4.0]}, index=pd.Index(CELLS, name="cell"))


def write_labels(path):
    if path.suffix == ".csv":
        LABELS.to_csv(path, na_rep="NA")
    elif path.suffix == ".parquet":
        LABELS.to_parquet(path)
    else:
        cells = annotated(RNA)
        cells.obs = LABELS.astype({"kind": "category"})
        cells.write_h5ad(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".h5ad"])
def test_labels_are_read_as_text_with_row_names(suffix, tmp_path):
    path = tmp_path / f"labels{suffix}"
    write_labels(path)
    labels = read_labels(path, "kind")
    assert (labels.name, labels.index.name) == ("kind", "cell")
    assert labels.to_dict() == {"c1": "B", "c2": None, "c3": "T", "c4": "B"}
    with pytest.raises(ViewError, match="no column 'colour' for the labels. Its columns are: 'kind', 'age'"):
        read_labels(path, "colour")
    with pytest.raises(ViewError, match="several columns, and none was chosen"):
        read_labels(path)


def test_the_only_column_of_labels_need_not_be_named(tmp_path):
    path = write_text(tmp_path, "cell,kind\nc1,B\nc2,\nc3,T\n", "labels.csv")
    assert read_labels(path).to_dict() == {"c1": "B", "c2": None, "c3": "T"}
    np.save(tmp_path / "labels.npy", np.zeros((3, 1)))
    with pytest.raises(ViewError, match="Labels must be in a file of type .csv"):
        read_labels(tmp_path / "labels.npy")
