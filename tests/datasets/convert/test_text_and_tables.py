"""Converters of text and tables reproduce the cached files from raw files created from them."""

import gzip
import json
import sys
from datetime import date

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from mvlvm.datasets.convert import content_digest, text_and_tables
from mvlvm.datasets.download import fetch
from mvlvm.datasets.sources import SOURCES
from mvlvm.errors import DataFileError
from tests.datasets.raw_files import FOLDER, shared_arrays, tar_gz


def cell(*items):
    """Return a row of a MATLAB cell array."""
    row = np.empty((1, len(items)), dtype=object)
    for number, item in enumerate(items):
        row[0, number] = item
    return row


def digest_of(convert, raw, folder):
    convert(raw, folder / "out")
    return content_digest(folder / "out")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_bridges_reproduce_the_cached_file(tmp_path, encoding):
    arrays = shared_arrays("bridges.npz")
    heading = "Date,Day,High Temp (°F),Low Temp (°F),Precipitation,"
    lines = [heading + ",".join(f"{bridge} Bridge" for bridge in arrays["bridges"]) + ",Total"]
    for day, counts in zip(map(date.fromisoformat, arrays["date"]), arrays["Y"], strict=True):
        numbers = ",".join(f'"{count:,}"' if count > 999 else str(count) for count in [*counts, counts.sum()])
        lines.append(f"{day.day}-{day:%b},{day:%A},46,37.9,0.001,{numbers}")
    (tmp_path / "raw").write_text("\r\n".join(lines), encoding=encoding)
    raw = {"bikes_bridges.csv": tmp_path / "raw"}
    assert digest_of(text_and_tables.bridges, raw, tmp_path) == SOURCES["bridges.npz"].digest


def test_nutrimouse_reproduces_the_cached_file(tmp_path):
    arrays = shared_arrays("nutrimouse.npz")
    raw = {}
    for view in ("gene", "lipid"):
        lines = [",".join(f'"{name}"' for name in arrays[f"{view}_names"])]
        lines += [",".join(map(str, row)) for row in arrays[view]]
        raw[f"{view}.csv"] = tmp_path / view
        raw[f"{view}.csv"].write_text("\n".join(lines) + "\n")
    for label in ("diet", "genotype"):
        names = arrays[f"{label}_names"][arrays[f"label_{label}"]]
        raw[f"{label}.csv"] = tmp_path / label
        raw[f"{label}.csv"].write_text("\n".join(['"x"', *(f'"{name}"' for name in names)]) + "\n")
    assert digest_of(text_and_tables.nutrimouse, raw, tmp_path) == SOURCES["nutrimouse.npz"].digest


def test_mfeat_reproduces_the_cached_file_for_any_order_of_views(tmp_path):
    arrays = shared_arrays("mfeat.npz")
    views = [arrays[name].astype(np.float64) for name in ("zer", "fou", "mor", "pix", "kar", "fac")]
    savemat(tmp_path / "raw", {"fea": cell(*views), "gt": arrays["label"][:, None] + 1.0}, appendmat=False)
    raw = {"UCI_Digits.mat": tmp_path / "raw"}
    assert digest_of(text_and_tables.mfeat, raw, tmp_path) == SOURCES["mfeat.npz"].digest


@pytest.mark.parametrize("layout", [np.asarray, csc_matrix, np.transpose])
def test_bbcsport_reproduces_the_cached_file(tmp_path, layout):
    arrays = shared_arrays("bbcsport.npz")
    views = [layout(arrays[name].astype(np.float64)) for name in ("segment1", "segment2")]
    savemat(tmp_path / "raw", {"fea": cell(*views), "gt": arrays["label"][:, None] + 1.0}, appendmat=False)
    raw = {"BBCSport.mat": tmp_path / "raw"}
    assert digest_of(text_and_tables.bbcsport, raw, tmp_path) == SOURCES["bbcsport.npz"].digest


def test_bdgp_reproduces_the_cached_file(tmp_path):
    arrays = shared_arrays("bdgp.npz")
    views = [arrays[name].astype(np.float64).T for name in ("visual", "text")]
    labels = cell(*2 * [arrays["label"][:, None] + 1.0])
    savemat(tmp_path / "raw", {"data": cell(*views), "truelabel": labels}, appendmat=False)
    raw = {"BDGP.mat": tmp_path / "raw"}
    assert digest_of(text_and_tables.bdgp, raw, tmp_path) == SOURCES["bdgp.npz"].digest


def test_views_with_unexpected_widths_are_rejected(tmp_path):
    savemat(tmp_path / "raw", {"fea": cell(np.eye(4), np.ones((4, 3))), "gt": np.arange(4)}, appendmat=False)
    with pytest.raises(ValueError, match=r"no view segment1 \(3183 columns\).*the views have \[3, 4\] columns"):
        text_and_tables.bbcsport({"BBCSport.mat": tmp_path / "raw"}, tmp_path / "out")


def read_messages(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_archive(folder, messages):
    members = {
        f"20news-bydate-{message['split']}/{message['label']}/{message['id']}": message["text"].encode("latin-1")
        for message in reversed(messages)
    }
    members["20news-bydate-train/sci.space/1"] = b"another group"
    path = folder / "archive"
    path.write_bytes(tar_gz(members))
    return {"20news-bydate.tar.gz": path}


def test_newsgroups_are_decoded_and_ordered(tmp_path):
    groups = [(split, label) for split in ("train", "test") for label in text_and_tables.NEWSGROUPS]
    messages = [
        {"label": label, "split": split, "id": number, "text": f"From: \xff\xe9\r\n\r\nMessage {number}\n"}
        for split, label in groups
        for number in ("900", "1000")
    ]
    text_and_tables.newsgroups3(write_archive(tmp_path, messages), tmp_path / "out")
    expected = [message | {"text": message["text"].replace("\r\n", "\n")} for message in messages]
    assert read_messages(tmp_path / "out") == expected


def test_newsgroups_reproduce_the_cached_file(tmp_path):
    if not (FOLDER / "newsgroups3.jsonl.gz").exists():
        pytest.skip("$MVLVM_DATA does not contain newsgroups3.jsonl.gz")
    raw = write_archive(tmp_path, read_messages(FOLDER / "newsgroups3.jsonl.gz"))
    text_and_tables.newsgroups3(raw, tmp_path / "out")
    expected = gzip.decompress((FOLDER / "newsgroups3.jsonl.gz").read_bytes())
    assert gzip.decompress((tmp_path / "out").read_bytes()) == expected


def test_archive_with_a_missing_group_is_rejected(tmp_path):
    messages = [{"label": "sci.med", "split": "train", "id": "1", "text": ""}]
    with pytest.raises(
        ValueError, match="has no messages from test alt.atheism, test comp.sys.mac.hardware, test sci.med"
    ):
        text_and_tables.newsgroups3(write_archive(tmp_path, messages), tmp_path / "out")


def write_rda(folder, objects):
    rdata = pytest.importorskip("rdata")
    raw = {}
    for name, value in objects.items():
        raw[f"{name}.rda"] = folder / name
        rdata.write_rda(folder / name, {name: value})
    return raw


def test_movies_reproduce_the_cached_file(tmp_path):
    pd = pytest.importorskip("pandas")
    arrays = shared_arrays("movies.npz")
    objects = {"movie_1": arrays["keywords"].astype(np.float64), "movie_2": arrays["actors"].astype(np.float64)}
    objects["turelabel"] = pd.DataFrame({"V1": arrays["label"] + 1.0})
    raw = write_rda(tmp_path, objects)
    assert digest_of(text_and_tables.movies, raw, tmp_path) == SOURCES["movies.npz"].digest


def test_cora_reproduces_the_cached_file(tmp_path):
    arrays = shared_arrays("cora.npz")
    objects = {name: arrays[view].astype(np.float64) for view, name in text_and_tables.CORA_VIEWS.items()}
    objects["labelcora"] = np.array([str(number + 1) for number in arrays["label"]])
    raw = write_rda(tmp_path, objects)
    assert digest_of(text_and_tables.cora, raw, tmp_path) == SOURCES["cora.npz"].digest


def tcga_parts(table):
    """Return the two parts of breast.TCGA, with matrices created by `table(values, rows, columns)`."""
    pd = pytest.importorskip("pandas")
    arrays = shared_arrays("breast_tcga.npz")
    parts = {}
    for name, rows in (("data.train", ~arrays["is_test"]), ("data.test", arrays["is_test"])):
        parts[name] = {
            view: table(arrays[view][rows].astype(np.float64), arrays["sample"][rows], arrays[f"{view}_names"])
            for view in ("mirna", "mrna", "protein")
            if arrays[f"observed_{view}"][rows].all()
        }
        parts[name]["subtype"] = pd.Categorical(arrays["label_names"][arrays["label"][rows]])
    return parts


def test_breast_tcga_reproduces_the_cached_file_from_matrices(tmp_path, monkeypatch):
    xarray = pytest.importorskip("xarray")
    parts = tcga_parts(lambda values, rows, columns: xarray.DataArray(values, [("dim_0", rows), ("dim_1", columns)]))
    monkeypatch.setattr(text_and_tables, "_read_object", lambda raw, name: parts)
    assert digest_of(text_and_tables.breast_tcga, {}, tmp_path) == SOURCES["breast_tcga.npz"].digest


def test_breast_tcga_reproduces_the_cached_file_from_data_frames(tmp_path):
    pd = pytest.importorskip("pandas")
    parts = tcga_parts(lambda values, rows, columns: pd.DataFrame(values, rows.astype(object), columns.astype(object)))
    raw = write_rda(tmp_path, {"breast.TCGA": parts})
    assert digest_of(text_and_tables.breast_tcga, raw, tmp_path) == SOURCES["breast_tcga.npz"].digest


def test_missing_rdata_is_reported_once_and_before_any_download(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "rdata", None)
    monkeypatch.setattr("pooch.Pooch.fetch", lambda *args, **kwargs: pytest.fail("a file was downloaded"))
    with pytest.raises(DataFileError, match=r'pip install "mvlvm\[r\]"$') as caught:
        fetch("movies.npz", tmp_path)
    assert str(caught.value).count("rdata") == 1
