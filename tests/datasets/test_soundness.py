"""A file that holds something else is refused by name, whatever it holds."""

import gzip
import json

import numpy as np
import pytest

from mvlvm.datasets import Dataset, load
from mvlvm.datasets.soundness import check_sound
from mvlvm.errors import DataFileError

IMAGES = np.zeros((4, 28, 28), np.uint8)
DIGITS = np.arange(4)
TABLE = np.ones((3, 2))
TUMOURS = {
    "mrna": TABLE, "mirna": TABLE, "protein": TABLE, "mrna_names": ["a", "b"], "mirna_names": ["c", "d"],
    "protein_names": ["e", "f"], "label": [0, 1, 1], "label_names": ["x", "y"], "sample": ["s", "t", "u"],
}  # fmt: skip


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": IMAGES, "y": DIGITS, "n_train": 5}, "n_train must be from 0 to 4, the number of rows, but is 5"),
        ({"X": IMAGES, "y": DIGITS, "n_train": -1}, "n_train must be from 0 to 4"),
        ({"X": IMAGES, "y": DIGITS, "n_train": [1, 2]}, ""),
        ({"X": IMAGES, "y": DIGITS, "n_train": "many"}, ""),
        ({"X": IMAGES, "y": DIGITS + 7, "n_train": 2}, "labels must be from -1 to 9, but go from 7 to 10"),
        ({"X": IMAGES, "y": DIGITS - 2, "n_train": 2}, "labels must be from -1 to 9, but go from -2 to 1"),
        ({"X": IMAGES, "y": DIGITS + 0.5, "n_train": 2}, "labels must be a list of whole numbers"),
        ({"X": IMAGES, "y": DIGITS.astype(str), "n_train": 2}, "labels must be a list of whole numbers"),
        ({"X": IMAGES, "y": DIGITS * np.nan, "n_train": 2}, "labels must be a list of whole numbers"),
        ({"X": IMAGES, "y": DIGITS[:, None], "n_train": 2}, "labels must be a list of whole numbers"),
        (
            {"X": IMAGES, "y": DIGITS[:3], "n_train": 2},
            r".* numbers of rows \(image: 4, labels: 3\)",
        ),
        (
            {"X": IMAGES[:, :3], "y": DIGITS, "n_train": 2},
            r".* numbers of columns \(image: 84, pixels: 784\)",
        ),
        ({"X": IMAGES.astype(str), "y": DIGITS, "n_train": 2}, "view 'image' is not made of numbers"),
        ({"X": IMAGES[:0], "y": DIGITS[:0], "n_train": 0}, ""),
        ({"X": 3, "y": DIGITS, "n_train": 2}, ""),
    ],
)
def test_foreign_content_is_refused_by_the_name_of_the_file(tmp_path, arrays, sentence):
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(DataFileError, match=f"mnist.npz is damaged or not what its name says: {sentence}") as caught:
        load("mnist", data_home=tmp_path)
    assert "delete it to have it fetched again" in str(caught.value)


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sample": ["s"]}, "row names: 1"),
        ({"mirna_names": ["c"]}, "mirna: 2, column names: 1"),
        ({"protein": TABLE[:2]}, "protein: 2"),
        ({"protein": TABLE[0]}, "view 'protein' must have rows and columns, but is 2"),
    ],
)
def test_parts_of_different_lengths_are_refused(tmp_path, change, sentence):
    np.savez(tmp_path / "breast_tcga.npz", **(TUMOURS | change))
    with pytest.raises(DataFileError, match=f"breast_tcga.npz is damaged.*{sentence}"):
        load("breast-tcga", data_home=tmp_path)


def test_deleting_is_advised_only_where_the_file_can_be_fetched_again(tmp_path):
    (tmp_path / "cll_partial.npz").write_bytes(b"not an archive")
    with pytest.raises(DataFileError, match="was left as it is; put a whole copy in its place.$") as caught:
        load("cll", data_home=tmp_path)
    np.savez(tmp_path / "citeseq_pbmc.npz", other=1)
    with pytest.raises(DataFileError, match="no array 'rna', only other. It was left as it is; put a whole copy"):
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
    ids=["empty", "no text", "number", "label", "split", "id", "no record"],
)
def test_foreign_posts_are_refused_by_the_name_of_the_file(tmp_path, posts):
    lines = "\n".join(map(json.dumps, posts))
    (tmp_path / "newsgroups3.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    with pytest.raises(DataFileError, match="newsgroups3.jsonl.gz is damaged"):
        load("newsgroups", data_home=tmp_path)


@pytest.mark.usefixtures("no_type_checks")
def test_a_foreign_channel_is_refused_by_the_name_of_the_file(tmp_path):
    from mvlvm.datasets.channel import ARCHIVE

    arrays = dict.fromkeys(ARCHIVE, np.zeros(3)) | {"real": np.zeros((4, 2)), "imag": np.zeros((4, 3))}
    np.savez(tmp_path / "channel.npz", **arrays)
    with pytest.raises(DataFileError, match="channel.npz is damaged.*real: 4 x 2, imag: 4 x 3.*put a whole copy"):
        load("channel", data_home=tmp_path)


def test_two_files_that_do_not_belong_together_are_both_named(tmp_path):
    np.savez(tmp_path / "mnist.npz", X=IMAGES, y=DIGITS, n_train=2)
    np.savez(tmp_path / "svhn_train16k.npz", X=np.zeros((3, 32, 32, 3), np.uint8), y=np.zeros(3, np.uint8))
    with pytest.raises(DataFileError, match="svhn_train16k.npz and .*mnist.npz belong together no longer"):
        load("mnist-svhn", data_home=tmp_path)


def test_what_is_sound_passes():
    check_sound(Dataset({"a": TABLE}, np.array([0, -1, 1]), ("x", "y"), rows=["1", "2", "3"], columns={"a": "bc"}))
