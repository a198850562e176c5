"""Conversion of data sets to DataFrames and MuData, and rejection of files with unexpected contents.

Invalid options are rejected before any file is searched for; valid ones select rows and views.
"""

import gzip
import json

import numpy as np
import pytest

from mvlvm import ViewError
from mvlvm.datasets import Dataset, load
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import check_dataset
from mvlvm.errors import DataFileError
from tests.datasets.real_data import need

VIEWS = {"a": np.arange(6.0).reshape(3, 2), "b": np.array([[1.0], [np.nan], [3.0]])}
LABELS = np.array([1, 0, 1])


def test_frames_are_copies():
    frame = Dataset(views=VIEWS).as_frames()["a"]
    frame.iloc[0, 0] = 99
    assert VIEWS["a"][0, 0] == 0


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("rows", [("u", "v", "w"), np.array(["u", "v", "w"])], ids=["tuple", "array"])
def test_mudata_labels_are_aligned_with_samples(rows):
    mdata = Dataset(views=VIEWS, labels=LABELS, label_names=("p", "q"), rows=rows).as_mudata()
    assert mdata.obs["label"].to_dict() == {"u": "q", "v": "p", "w": "q"}
    assert list(mdata["b"].obs_names) == ["u", "w"]


def test_mudata_labels_without_names_are_integers():
    mdata = Dataset(views=VIEWS, labels=LABELS).as_mudata()
    assert mdata.obs["label"].to_dict() == {"0": 1, "1": 0, "2": 1}
    assert mdata.obs["label"].dtype.kind == "i"


def test_duplicate_row_names_are_rejected():
    with pytest.raises(ViewError, match="must be unique .*MuData object. Got duplicates: 'u'. Rename"):
        Dataset(views=VIEWS, rows=("u", "u", "w")).as_mudata()


IMAGES = np.zeros((4, 28, 28), np.uint8)
DIGITS = np.arange(4)
TABLE = np.ones((3, 2))
TUMOURS = {
    "mrna": TABLE, "mirna": TABLE, "protein": TABLE, "mrna_names": ["a", "b"], "mirna_names": ["c", "d"],
    "protein_names": ["e", "f"], "label": [0, 1, 1], "label_names": ["x", "y"], "sample": ["s", "t", "u"],
}  # fmt: skip


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": IMAGES, "y": DIGITS, "n_train": 5}, "n_train must be between 0 and 4, the number of rows, but is 5"),
        ({"X": IMAGES, "y": DIGITS, "n_train": -1}, "n_train must be between 0 and 4"),
        ({"X": IMAGES, "y": DIGITS, "n_train": [1, 2]}, ""),
        ({"X": IMAGES, "y": DIGITS, "n_train": "many"}, ""),
        ({"X": IMAGES, "y": DIGITS + 7, "n_train": 2}, "labels must be between -1 and 9, but range from 7 to 10"),
        ({"X": IMAGES, "y": DIGITS - 2, "n_train": 2}, "labels must be between -1 and 9, but range from -2 to 1"),
        ({"X": IMAGES, "y": DIGITS + 0.5, "n_train": 2}, "labels must be a vector of integers"),
        ({"X": IMAGES, "y": DIGITS.astype(str), "n_train": 2}, "labels must be a vector of integers"),
        ({"X": IMAGES, "y": DIGITS * np.nan, "n_train": 2}, "labels must be a vector of integers"),
        ({"X": IMAGES, "y": DIGITS[:, None], "n_train": 2}, "labels must be a vector of integers"),
        (
            {"X": IMAGES, "y": DIGITS[:3], "n_train": 2},
            r"numbers of rows differ \(image: 4, labels: 3\)",
        ),
        (
            {"X": IMAGES[:, :3], "y": DIGITS, "n_train": 2},
            r"numbers of columns differ \(image: 84, pixels: 784\)",
        ),
        ({"X": IMAGES.astype(str), "y": DIGITS, "n_train": 2}, "view 'image' is not numeric"),
        ({"X": IMAGES[:0], "y": DIGITS[:0], "n_train": 0}, ""),
        ({"X": 3, "y": DIGITS, "n_train": 2}, ""),
    ],
)
def test_unexpected_arrays_are_rejected_by_file_name(tmp_path, arrays, message):
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(DataFileError, match=f"mnist.npz is damaged or not the expected file: {message}") as caught:
        load("mnist", data_home=tmp_path)
    assert "delete it to download it again" in str(caught.value)


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample": ["s"]}, "row names: 1"),
        ({"mirna_names": ["c"]}, "mirna: 2, column names: 1"),
        ({"protein": TABLE[:2]}, "protein: 2"),
        ({"protein": TABLE[0]}, "view 'protein' must be a non-empty matrix, but its shape is 2"),
    ],
)
def test_inconsistent_lengths_are_rejected(tmp_path, change, message):
    np.savez(tmp_path / "breast_tcga.npz", **(TUMOURS | change))
    with pytest.raises(DataFileError, match=f"breast_tcga.npz is damaged.*{message}"):
        load("breast-tcga", data_home=tmp_path)


def test_deletion_is_advised_only_for_downloadable_files(tmp_path):
    (tmp_path / "cll_partial.npz").write_bytes(b"not an archive")
    with pytest.raises(DataFileError, match="was not modified; replace it with an intact copy.$") as caught:
        load("cll", data_home=tmp_path)
    np.savez(tmp_path / "citeseq_pbmc.npz", other=1)
    with pytest.raises(
        DataFileError, match="no array 'rna', only other. It was not modified; replace it with an intact copy"
    ):
        load("citeseq-pbmc", data_home=tmp_path)
    assert "delete" not in str(caught.value)


@pytest.mark.parametrize(
    "posts",
    [
        [],
        [{"label": "a", "split": "train", "id": "1", "text": None}],
        [{"label": "a", "split": "train", "id": "1", "text": 5}],
        [{"label": ["a"], "split": "train", "id": "1", "text": "b"}],
        [{"label": "a", "split": "valid", "id": "1", "text": "b"}],
        [{"label": "a", "split": "train", "text": "b"}],
        ["a post"],
    ],
    ids=["empty", "no text", "number", "label", "split", "id", "not a record"],
)
def test_unexpected_posts_are_rejected_by_file_name(tmp_path, posts):
    lines = "\n".join(map(json.dumps, posts))
    (tmp_path / "newsgroups3.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    with pytest.raises(DataFileError, match="newsgroups3.jsonl.gz is damaged"):
        load("newsgroups", data_home=tmp_path)


@pytest.mark.usefixtures("no_type_checks")
def test_unexpected_channel_is_rejected_by_file_name(tmp_path):
    from mvlvm.datasets.channel_coefficients import ARCHIVE

    arrays = dict.fromkeys(ARCHIVE, np.zeros(3)) | {"real": np.zeros((4, 2)), "imag": np.zeros((4, 3))}
    np.savez(tmp_path / "channel.npz", **arrays)
    with pytest.raises(
        DataFileError, match="channel.npz is damaged.*real: 4 x 2, imag: 4 x 3.*replace it with an intact copy"
    ):
        load("channel", data_home=tmp_path)


def test_message_for_inconsistent_files_names_both(tmp_path):
    np.savez(tmp_path / "mnist.npz", X=IMAGES, y=DIGITS, n_train=2)
    np.savez(tmp_path / "svhn_train16k.npz", X=np.zeros((3, 32, 32, 3), np.uint8), y=np.zeros(3, np.uint8))
    with pytest.raises(DataFileError, match="svhn_train16k.npz and .*mnist.npz do not belong together"):
        load("mnist-svhn", data_home=tmp_path)


def test_consistent_dataset_passes_validation():
    check_dataset(Dataset({"a": TABLE}, np.array([0, -1, 1]), ("x", "y"), rows=["1", "2", "3"], columns={"a": "bc"}))


@need("bridges.npz")
def test_frames_have_row_and_column_names():
    frame = load("bridges").as_frames()["counts"]
    assert frame.loc["2017-04-01", "Brooklyn"] == load("bridges")["counts"][0, 0]
    assert list(frame.columns) == ["Brooklyn", "Manhattan", "Williamsburg", "Queensboro"]


@need("breast_tcga.npz", "cora.npz")
def test_mudata_modalities_contain_only_observed_samples(tmp_path):
    import mudata

    data = load("breast-tcga")
    mdata = data.as_mudata()
    assert {name: mdata[name].shape for name in data} == {
        "mrna": (220, 200),
        "mirna": (220, 184),
        "protein": (150, 142),
    }
    assert mdata.obs.loc[data.rows[3], "label"] == data.label_names[data.labels[3]]
    with mudata.set_options(pull_on_update=False):
        mdata.write(tmp_path / "tumours.h5mu")
        loaded = mudata.read_h5mu(tmp_path / "tumours.h5mu")
    np.testing.assert_array_equal(loaded["protein"].X, data["protein"][:150])
    assert loaded.obs["label"].value_counts().to_dict() == {"LumA": 110, "Basal": 66, "Her2": 44}
    assert load("cora").as_mudata()["content"].X.sum() == 49_216


def test_dataset_is_a_mapping_of_its_views():
    data = load("digits-halves")
    assert dict(data) == data.views
    assert data["left"] is data.views["left"]
    assert "digits-halves" in repr(data)
    with pytest.raises(KeyError):
        data["middle"]


def test_dataset_equals_only_itself():
    first, second = load("digits-halves"), load("digits-halves")
    assert first == first
    assert first != second
    assert len({first, second}) == 2


INVALID = [
    ("mnist", {"split": "valid"}, "split must be one of 'all', 'train', 'test'. Got 'valid'."),
    ("mnist", {"n_samples": 0}, "n_samples must be an integer of at least 1. Got 0."),
    ("mnist", {"n_samples": 2.0}, "n_samples must be an integer of at least 1. Got 2.0."),
    ("mnist-svhn", {"n_samples": "all"}, "n_samples must be an integer of at least 1. Got 'all'."),
    ("mv-mnist", {"angles": 90}, "angles must be a list. Got 90."),
    ("mv-mnist", {"angles": []}, "angles must contain at least one angle"),
    ("mv-mnist", {"angles": [0, "up"]}, "angles must be a list of finite numbers, in degrees. Got 'up'."),
    ("mv-mnist", {"angles": [True]}, "angles must be a list of finite numbers, in degrees. Got True."),
    ("mv-mnist", {"angles": [float("nan")]}, "angles must be a list of finite numbers, in degrees. Got nan."),
    ("mv-mnist", {"angles": [float("inf")]}, "angles must be a list of finite numbers, in degrees. Got inf."),
    ("mv-mnist", {"angles": [45, 45.0000001]}, "no duplicates"),
    ("mv-mnist", {"n_samples": -1}, "n_samples must be an integer of at least 1. Got -1."),
    ("cifar", {"grey": "yes"}, "grey must be True or False. Got 'yes'."),
    ("cifar", {"size": 33}, "size must be at most 32"),
    ("cifar", {"split": None}, "split must be one of"),
    ("r-cifar", {"n_classes": 0}, "n_classes must be an integer of at least 1. Got 0."),
    ("r-cifar", {"n_per_class": 0}, "n_per_class must be an integer of at least 1. Got 0."),
    ("r-cifar", {"n_per_class": None}, "n_per_class must be an integer of at least 1. Got None."),
    ("yale", {"size": 32.0}, "size must be an integer of at least 1. Got 32.0."),
    ("yale", {"size": 48}, "size must be 32 or 64"),
    ("newsgroups", {"split": "dev"}, "split must be one of"),
    ("newsgroups", {"vocabulary_split": "dev"}, "vocabulary_split must be one of"),
    ("newsgroups", {"remove": 3}, "remove must be a list. Got 3."),
    ("newsgroups", {"remove": ["body"]}, "remove must be one of 'headers', 'footers', 'quotes'. Got 'body'."),
    ("newsgroups", {"stop_words": "french"}, "stop_words must be one of 'english', None. Got 'french'."),
    ("newsgroups", {"min_df": 5}, "min_df must be a fraction of the posts, between 0 and 1. Got 5."),
    ("newsgroups", {"max_df": -0.1}, "max_df must be a non-negative number. Got -0.1."),
    ("newsgroups", {"max_df": "most"}, "max_df must be a non-negative number. Got 'most'."),
    ("movies", {"unit_rows": 1}, "unit_rows must be True or False. Got 1."),
    ("cora", {"unit_rows": "no"}, "unit_rows must be True or False. Got 'no'."),
    ("cora", {"dense": 0}, "dense must be True or False. Got 0."),
    ("cora", {"views": 2}, "views must be a list. Got 2."),
    ("cora", {"views": ["content", "content"]}, "views must not contain duplicates."),
    ("mfeat", {"views": []}, "views must name at least one view"),
    ("mfeat", {"views": [["pix"]]}, "views must be one of"),
    ("cll", {"label_columns": None}, "label_columns must be True or False. Got None."),
    ("cll", {"label": "sex"}, "label must be one of 'ighv', 'trisomy12'. Got 'sex'."),
    ("citeseq-pbmc", {"n_genes": 0}, "n_genes must be an integer of at least 1. Got 0."),
    ("citeseq-pbmc", {"values": "raw"}, "values must be one of"),
    ("nutrimouse", {"label": 1}, "label must be one of"),
    ("channel", {"normalise": "rows"}, "normalise must be one of 'row', 'user', 'raw'. Got 'rows'."),
    ("channel-drift", {"n_snapshots": 0}, "n_snapshots must be an integer of at least 1. Got 0."),
    ("channel-sionna", {"spec_version": "20"}, "spec_version must be one of"),
    ("channel-sionna", {"normalise": "rows"}, "normalise must be one of"),
    ("s-curve", {"kernels": 3}, "kernels must be a list. Got 3."),
    ("s-curve", {"kernels": {1: "rbf"}}, "kernels must have strings as view names. Got 1."),
    ("s-curve", {"kernels": [["rbf"]]}, "kernels must be one of"),
    ("mnist", {"with_labels_as_view": 1}, "with_labels_as_view must be True or False. Got 1."),
    ("brendan", {"with_labels_as_view": True}, "'brendan' has no labels"),
    ("citeseq-pbmc", {"with_labels_as_view": True}, "'citeseq-pbmc' has no labels"),
    ("mnist", {"random_state": -1}, "random_state must be an integer from 0"),
    ("mnist", {"data_home": 3}, "data_home must be the path of a folder. Got 3."),
    ("mnist", {"data_home": b"home"}, "data_home must be the path of a folder. Got b'home'."),
    (["mnist"], {}, r"Unknown data set \['mnist'\]"),
    (None, {}, "Unknown data set None"),
]  # fmt: skip


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(("name", "options", "message"), INVALID, ids=lambda part: str(part)[:40])
def test_invalid_option_is_rejected_before_any_file_is_searched_for(monkeypatch, name, options, message):
    monkeypatch.setattr(FileCache, "find", lambda cache, file: pytest.fail(f"{file} was searched for"))
    with pytest.raises(ValueError, match=message) as caught:
        load(name, **options)
    assert "\n" not in str(caught.value)


@need("nutrimouse.npz", "yale.npz", "mfeat.npz")
def test_options_select_labels_sizes_and_views():
    assert load("nutrimouse", label="genotype").label_names == ("ppar", "wt")
    assert load("yale", size=64)["image"].shape == (165, 4096)
    assert list(load("mfeat", views=("pix", "mor"))) == ["pix", "mor"]
    with pytest.raises(ValueError, match="size must be 32 or 64"):
        load("yale", size=16)
    with pytest.raises(ValueError, match="views must be one of 'fou'.*Got 'pixel'"):
        load("mfeat", views=["pixel"])
    with pytest.raises(ValueError, match="label must be one of 'diet', 'genotype'"):
        load("nutrimouse", label="weight")
